"""Converts ("lowers") a value that user code passes to a call to an argument that a Node can hold.

`HANDLERS` is the table by exact type; for a value whose type isn't in it, `lower` falls back to rules. To support a new
type, override `Tracer.create_arg`, or define a method ``__fx_create_arg__(self, tracer)`` on the type itself.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from fxcore.failures import DictKeyFailure, TwoTracersFailure
from fxcore.node import Argument, Node, base_types, map_arg
from fxcore.torch_compat import HigherOrderOperator, OpOverload, is_opaque_value, is_proxy_of_torch_fx

if TYPE_CHECKING:
    from fxcore.proxy import TracerBase

Handler = Callable[["TracerBase", Any], Any]


def lower(tracer: TracerBase, value: Any) -> Argument:
    """Convert ``value`` to an argument that a node can hold; ``tracer.create_arg`` converts the items of containers.

    Raises an `ArgumentFailure` (a NotImplementedError) for a type that a graph can't hold, and a `DictKeyFailure` (a
    RuntimeError) for a dict with a traced value among its keys.
    """
    handler = HANDLERS.get(type(value)) or rule_for(value)
    return handler(tracer, value)


def rule_for(value: Any) -> Handler:
    """The handler for a value whose exact type isn't in `HANDLERS`."""
    if is_proxy_of_torch_fx(value):
        return _lower_foreign_proxy
    if hasattr(value, "__fx_create_arg__"):
        return _lower_by_itself
    for types, handler in _RULES:
        if isinstance(value, types):
            return handler
    if is_opaque_value(value):
        return _as_it_is
    if dataclasses.is_dataclass(value):
        return _lower_dataclass
    if isinstance(value, (*base_types, enum.Enum)):
        return _as_it_is
    return _refuse


def _as_it_is(tracer: TracerBase, value: Any) -> Any:
    return value


def _lower_foreign_proxy(tracer: TracerBase, value: Any) -> Any:
    """Return the node of a torch.fx proxy; fail unless ``tracer`` made it, because all others hold torch.fx's nodes."""
    if value.tracer is not tracer:
        tracer.fail(TwoTracersFailure, "a value from a torch.fx trace was used in an fxcore trace")
    return value.node


def _lower_by_itself(tracer: TracerBase, value: Any) -> Any:
    return value.__fx_create_arg__(tracer)


def _lower_tuple(tracer: TracerBase, value: tuple[Any, ...]) -> Any:
    return tuple(map(tracer.create_arg, value))


def _lower_tuple_subclass(tracer: TracerBase, value: tuple[Any, ...]) -> Any:
    items = [tracer.create_arg(item) for item in value]
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def _lower_list(tracer: TracerBase, value: list[Any]) -> Any:
    return list(map(tracer.create_arg, value))


def _lower_dict(tracer: TracerBase, value: dict[Any, Any]) -> Any:
    create_arg = tracer.create_arg
    return {
        key if type(key) is str else _lower_key(tracer, key): create_arg(item)  # nearly all keys are str
        for key, item in value.items()
    }


def _lower_key(tracer: TracerBase, key: Any) -> Any:
    lowered = key if isinstance(key, str) else tracer.create_arg(key)

    def refuse(node: Node) -> Any:
        return tracer.fail(DictKeyFailure, f"an argument can't be a dict that has the traced value `{node}` as a key")

    map_arg(lowered, refuse)
    return lowered


def _lower_slice(tracer: TracerBase, value: slice) -> Any:
    return slice(tracer.create_arg(value.start), tracer.create_arg(value.stop), tracer.create_arg(value.step))


def _lower_dataclass(tracer: TracerBase, value: Any) -> Any:
    fields = {field.name: tracer.create_arg(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return tracer.create_node("call_function", type(value), (), fields)


def _refuse(tracer: TracerBase, value: Any) -> Any:
    return tracer.refuse_argument(value)


HANDLERS: dict[type, Handler] = {
    **{base: _as_it_is for base in base_types if base is not torch.Tensor},
    type(None): _as_it_is,
    type(...): _as_it_is,
    tuple: _lower_tuple,
    list: _lower_list,
    dict: _lower_dict,
    slice: _lower_slice,
    range: _as_it_is,
}
"""The handlers by exact type, so that the most common arguments cost one look-up."""

# The handlers for subclasses and further types, in the order in which they are tried.
_RULES: tuple[tuple[type | tuple[type, ...], Handler], ...] = (
    (tuple, _lower_tuple_subclass),
    (list, _lower_list),
    (dict, _lower_dict),
    ((OpOverload, HigherOrderOperator), _as_it_is),
)
