"""Stores graph modules on disk, as pickles or as a package of Python source.

A pickle contains the generated code. Loading the pickle traces this code, so no serialization format of graphs has to
stay compatible.
"""

from __future__ import annotations

import os
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.package.importer import sys_importer

from fxcore.code.generated_function import take_wraps
from fxcore.nodes.namespace import _custom_builtins
from fxcore.nodes.qualified_name import _is_from_torch
from fxcore.tracer import Tracer

if TYPE_CHECKING:
    from torch.package.package_exporter import PackageExporter

    from fxcore.graph_module import GraphModule


_STACK_TRACES = "_graphmodule_graph_node_meta_stack_trace"


class _CodeOnlyModule(torch.nn.Module):
    """A module with the attributes of a stored graph module; `load` makes a subclass with its forward."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _import_statement(name: str, value: object, importer: Any) -> str:
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    if _is_from_torch(name):
        return "import torch"
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    if isinstance(value, str):  # an annotation, with `from __future__ import annotations`
        return f"{name} = {value!r}"
    module, attribute = importer.get_name(value)
    return f"from {module} import {attribute} as {name}"


def import_block(names: dict[str, Any], importer: Any = sys_importer) -> str:
    """The statements that import the globals of generated code, sorted so as not to depend on the nodes' order."""
    return "\n".join(sorted({_import_statement(name, value, importer) for name, value in names.items()}))


def _body(module: GraphModule) -> dict[str, Any]:
    body = dict(module.__dict__)
    del body["_graph"]
    return body


def stored(module: GraphModule) -> tuple[dict[str, Any], str]:
    """Return the arguments from which `fxcore.graph_module.reduce_graph_module` rebuilds ``module``."""
    python_code = module.recompile()
    return _body(module), import_block(python_code.globals)


def stored_in_package(module: GraphModule, exporter: PackageExporter) -> tuple[dict[str, Any], str]:
    """Like `stored`, but for `torch.package`, whose ``exporter`` stores the code as a separate module."""
    name = f"fx-generated._{exporter.get_unique_id()}"
    python_code = module.recompile()
    body = _body(module)
    body["_graphmodule_cls_name"] = type(module).__name__
    body[_STACK_TRACES] = {n.name: n.meta["stack_trace"] for n in module.graph.nodes if "stack_trace" in n.meta}
    exporter.save_source_string(name, import_block(python_code.globals, exporter.importer) + python_code.src)
    return body, name


def load(forward: Callable[..., Any], body: dict[str, Any], graph_module_cls: type[GraphModule]) -> GraphModule:
    """Rebuild a graph module: trace ``forward`` with the stored attributes and the class of the original tracer."""
    tracer_cls: Any = body.get("_tracer_cls") or Tracer

    class KeepModules(tracer_cls):  # type: ignore[misc]
        """Records every module's call as one node, so that the graph has the same calls as the stored graph."""

        def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
            return True

    root = type("_CodeOnlyModule", (_CodeOnlyModule,), {"forward": forward})(body)
    graph = KeepModules().trace(root, **body.get("_tracer_extras", {}))
    graph._tracer_cls = tracer_cls
    stack_traces = body.pop(_STACK_TRACES, {})
    for node in graph.nodes:
        if node.name in stack_traces:
            node.meta["stack_trace"] = stack_traces[node.name]
    module = graph_module_cls(root, graph, class_name=body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in body.items():
        if not hasattr(module, name):
            setattr(module, name, value)
    return module


# The repr of these modules is an expression that builds an equal module.
_MADE_BY_REPR = frozenset(
    {
        torch.nn.Linear,
        torch.nn.Conv1d,
        torch.nn.Conv2d,
        torch.nn.Conv3d,
        torch.nn.BatchNorm1d,
        torch.nn.BatchNorm2d,
        torch.nn.BatchNorm3d,
    }
)


def to_folder(module: GraphModule, folder: str | os.PathLike[str], module_name: str) -> None:
    """Write a module to a folder; see `GraphModule.to_folder`."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    torch.save(module.state_dict(), folder / "state_dict.pt")
    pickled = [name for name, child in module.named_children() if type(child) not in _MADE_BY_REPR]
    for name in pickled:
        torch.save(getattr(module, name), folder / f"{name}.pt")
    (folder / "module.py").write_text(_source(module, module_name), encoding="utf-8")
    (folder / "__init__.py").write_text("from .module import *", encoding="utf-8")
    if pickled:
        warnings.warn(
            f"saved as pickles, because they can't be rebuilt from their repr: {', '.join(pickled)}", stacklevel=3
        )


def _source(module: GraphModule, module_name: str) -> str:
    python_code = cast(Any, type(module))._generated.python_code
    forward, wrapped = take_wraps(python_code.src)
    lines = ["import pathlib", import_block(python_code.globals), "from torch.nn import *"]
    if wrapped:
        lines += ["import fxcore", *(f'fxcore.wrap("{name}")' for name in wrapped)]
    statements = [
        "super().__init__()",
        *(_child_statement(name, child) for name, child in module.named_children()),
        *(_buffer_statement(name, buffer) for name, buffer in module.named_buffers(recurse=False)),
        *(_parameter_statement(name, parameter) for name, parameter in module.named_parameters(recurse=False)),
        "self.load_state_dict(torch.load(_HERE / 'state_dict.pt'))",
    ]
    init = "\n".join(["def __init__(self):", *(f"    {statement}" for statement in statements)])
    body = textwrap.indent(f"{init}\n{forward}\n", "    ")
    return "\n".join(
        [*lines, "", "_HERE = pathlib.Path(__file__).parent", "", f"class {module_name}(torch.nn.Module):", body]
    )


def _child_statement(name: str, child: torch.nn.Module) -> str:
    if type(child) in _MADE_BY_REPR:
        return f"setattr(self, '{name}', {child!r})"
    loaded = f"torch.load(_HERE / '{name}.pt', weights_only=False)"
    return f"setattr(self, '{name}', {loaded}) # {' '.join(repr(child).split())}"


def _buffer_statement(name: str, buffer: torch.Tensor) -> str:
    return f"self.register_buffer('{name}', torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))"


def _parameter_statement(name: str, parameter: torch.Tensor) -> str:
    made = f"torch.empty({list(parameter.shape)}, dtype={parameter.dtype})"
    return f"setattr(self, '{name}', torch.nn.Parameter({made}))"
