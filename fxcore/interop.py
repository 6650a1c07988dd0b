"""Conversion of graphs and graph modules from and to torch.fx, and of tracers that were written for torch.fx.

No other module imports torch.fx.
"""

from __future__ import annotations

import functools
import types
from typing import Any, overload

import torch
import torch.fx
from torch.fx import graph as torch_graph
from torch.fx import node as torch_node

from fxcore import codegen, node
from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.tracer import Tracer

__all__ = ["from_torch", "to_torch", "tracer_from"]

_CODEGENS: dict[type, type] = {
    torch_graph.CodeGen: codegen.CodeGen,
    torch_graph._PyTreeCodeGen: codegen._PyTreeCodeGen,
}
if hasattr(torch_graph, "_BoxedCodeGen"):  # since torch 2.9
    _CODEGENS[torch_graph._BoxedCodeGen] = codegen._BoxedCodeGen


@overload
def from_torch(source: torch.fx.GraphModule) -> GraphModule: ...
@overload
def from_torch(source: torch.fx.Graph) -> Graph: ...
def from_torch(source: Any) -> Any:
    """Convert a torch.fx graph (or graph module) to the corresponding fxcore graph (or graph module).

    Names, annotations, ``meta``, pytree structures and each node's place in the source (if ``source`` has it) are kept.
    A graph module's parameters, buffers and submodules are shared. Raises TypeError for a custom code generator.
    """
    if not isinstance(source, torch.fx.GraphModule):
        return _converted(source, Graph(), torch_node.map_arg, _CODEGENS, codegen._PyTreeInfo)
    return _with_all_of(GraphModule(source, from_torch(source.graph), type(source).__name__), source)


@overload
def to_torch(source: GraphModule) -> torch.fx.GraphModule: ...
@overload
def to_torch(source: Graph) -> torch.fx.Graph: ...
def to_torch(source: Any) -> Any:
    """Convert an fxcore graph (or graph module) to the corresponding torch.fx object; the reverse of `from_torch`.

    torch.fx's graphs have no constants, so the result gets an extra attribute ``constants`` for them. Raises TypeError
    for a graph with a custom code generator.
    """
    if not isinstance(source, GraphModule):
        to_theirs = {ours: theirs for theirs, ours in _CODEGENS.items()}
        return _converted(source, torch.fx.Graph(), node.map_arg, to_theirs, torch_graph._PyTreeInfo)
    return _with_all_of(torch.fx.GraphModule(source, to_torch(source.graph), type(source).__name__), source)


def _converted(source: Any, target: Any, map_arg: Any, codegens: dict[type, type], pytree_info: Any) -> Any:
    """Copy everything in ``source`` to ``target``, an empty graph of the other kind, and return ``target``."""
    nodes: dict[Any, Any] = {}
    for each in source.nodes:
        args, kwargs = map_arg((each.args, each.kwargs), nodes.__getitem__)
        copied = target.create_node(each.op, each.target, args, kwargs, each.name, each.type)
        copied.name = each.name
        copied.meta = each.meta.copy()
        copied.where = getattr(each, "where", None)
        nodes[each] = copied
    target._codegen = _converted_codegen(source._codegen, codegens, pytree_info)
    target._tracer_cls, target._tracer_extras = source._tracer_cls, source._tracer_extras
    target._co_fields = dict(source._co_fields)
    target.constants = dict(getattr(source, "constants", ()))
    return target


def _converted_codegen(source: Any, codegens: dict[type, type], pytree_info: Any) -> Any:
    if type(source) not in codegens:
        raise TypeError(f"a custom code generator can't be converted: {source!r}")
    kind: Any = codegens[type(source)]
    target = kind.__new__(kind)
    target.__dict__.update(source.__dict__)
    if source.__dict__.get("pytree_info") is not None:
        target.pytree_info = pytree_info(*source.pytree_info)
    return target


def _with_all_of(target: Any, source: Any) -> Any:
    """Add the rest of ``source`` (submodules, parameters, buffers, ``meta``) to ``target``; return ``target``."""
    for register, values in (
        (target.add_module, source.named_children()),
        (target.register_parameter, source.named_parameters(recurse=False)),
        (target.register_buffer, source.named_buffers(recurse=False)),
    ):
        for name, value in values:
            if not hasattr(target, name):
                register(name, value)
    target.meta = dict(source.meta)
    return target


class _SteeredTracer(Tracer, torch.fx.Tracer):  # type: ignore[misc]
    """fxcore's tracer, in place of torch.fx's.

    It is the second base of a class whose first base is a tracer class written for torch.fx. In the resulting method
    resolution order, that class's own methods come first and fxcore's second: fxcore calls the methods that the class
    overrides, and ``super()`` in them refers to fxcore's tracer.
    """


@overload
def tracer_from(tracer: type[torch.fx.Tracer | Tracer]) -> type[Tracer]: ...
@overload
def tracer_from(tracer: torch.fx.Tracer | Tracer) -> Tracer: ...
def tracer_from(tracer: Any) -> Any:
    """Convert a tracer (or tracer class) written for torch.fx to one that traces as fxcore does.

    Every method that the given class overrides is called with the arguments that it expects, and its result has the
    same effect as in torch.fx. An instance keeps the values of its attributes. A tracer (or class) of fxcore is
    returned unchanged.
    """
    cls: Any = tracer if isinstance(tracer, type) else type(tracer)
    if issubclass(cls, Tracer):
        return tracer
    steered = _steered(cls)
    if cls is tracer:
        return steered
    made = steered.__new__(steered)
    Tracer.__init__(made)
    vars(made).update(vars(tracer))
    return made


@functools.lru_cache(maxsize=64)
def _steered(cls: Any) -> Any:
    if cls is torch.fx.Tracer:
        return _SteeredTracer
    return types.new_class(
        cls.__name__, (cls, _SteeredTracer), exec_body=lambda body: body.update(__module__=cls.__module__)
    )
