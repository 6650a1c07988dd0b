"""Graph modules on disk: stored is the generated code, and loading traces that, so no format has to stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.package.importer import sys_importer

from fxcore.generated import _forward_from_src
from fxcore.namespace import _custom_builtins
from fxcore.qualified_name import _is_from_torch

if TYPE_CHECKING:
    from torch.package.package_exporter import PackageExporter

    from fxcore.graph_module import GraphModule

_STACK_TRACES = "_graphmodule_graph_node_meta_stack_trace"


class _CodeOnlyModule(torch.nn.Module):
    """A module that has the attributes of a graph module and, in a subclass of its own, its forward."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _import_statement(name: str, value: object, importer: Any) -> str:
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    if _is_from_torch(name):
        return "import torch"
    if isinstance(value, str):  # an annotation that is one, as all are under `from __future__ import annotations`
        return f"{name} = {value!r}"
    module, attribute = importer.get_name(value)
    return f"from {module} import {attribute} as {name}"


def import_block(names: dict[str, Any], importer: Any = sys_importer) -> str:
    """The statements that bring in the globals of generated code, in an order that doesn't depend on the graph's."""
    return "\n".join(sorted({_import_statement(name, value, importer) for name, value in names.items()}))


def _body(module: GraphModule) -> dict[str, Any]:
    body = dict(module.__dict__)
    del body["_graph"]
    return body


def reduced(module: GraphModule) -> tuple[Any, ...]:
    """What pickle is to store of ``module``."""
    python_code = module.recompile()
    return reduce_graph_module, (_body(module), import_block(python_code.globals))


def reduced_for_package(module: GraphModule, exporter: PackageExporter) -> tuple[Any, ...]:
    """What `torch.package` is to store of ``module``; the code goes into a module of its own there."""
    name = f"fx-generated._{exporter.get_unique_id()}"
    python_code = module.recompile()
    body = _body(module)
    body["_graphmodule_cls_name"] = type(module).__name__
    body[_STACK_TRACES] = {n.name: n.meta["stack_trace"] for n in module.graph.nodes if "stack_trace" in n.meta}
    exporter.save_source_string(name, import_block(python_code.globals, exporter.importer) + python_code.src)
    return reduce_package_graph_module, (body, name)


def reduce_graph_module(body: dict[str, Any], import_block: str) -> torch.nn.Module:
    """A graph module from what pickle stored: its attributes and the imports of its code."""
    return _deserialize_graph_module(_forward_from_src(import_block + body["_code"], {}), body)


def reduce_package_graph_module(importer: Any, body: dict[str, Any], generated_module_name: str) -> torch.nn.Module:
    """A graph module from what `torch.package` stored: its attributes and the name of the module with its code."""
    return _deserialize_graph_module(importer.import_module(generated_module_name).forward, body)


def _deserialize_graph_module(
    forward: Callable[..., Any], body: dict[str, Any], graph_module_cls: type[GraphModule] | None = None
) -> torch.nn.Module:
    """Trace ``forward`` with the stored attributes and the tracer that the module had been traced with."""
    from fxcore._symbolic_trace import Tracer
    from fxcore.graph_module import GraphModule

    tracer_cls: Any = body.get("_tracer_cls") or Tracer

    class KeepModules(tracer_cls):  # type: ignore[misc]
        """Calls no module but records the call: they are in the graph as they had been."""

        def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
            return True

    root = type("_CodeOnlyModule", (_CodeOnlyModule,), {"forward": forward})(body)
    graph = KeepModules().trace(root, **body.get("_tracer_extras", {}))
    graph._tracer_cls = tracer_cls
    stack_traces = body.pop(_STACK_TRACES, {})
    for node in graph.nodes:
        if node.name in stack_traces:
            node.meta["stack_trace"] = stack_traces[node.name]
    module = (graph_module_cls or GraphModule)(root, graph, class_name=body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in body.items():
        if not hasattr(module, name):
            setattr(module, name, value)
    return module
