"""Annotates a graph's nodes with the types that signatures declare for their values.

Source: the interface and results are those of ``torch.fx.experimental.schema_type_annotation``.
"""

import inspect
from collections.abc import Callable
from inspect import Signature
from typing import TYPE_CHECKING, Any

import torch

from fxcore.interpreter import Transformer
from fxcore.node import Argument, Target
from fxcore.operator_schemas import _torchscript_type_to_python_type
from fxcore.proxy import Proxy
from fxcore.torch_compat import boolean_dispatched, script_type_of

if TYPE_CHECKING:
    from fxcore.graph_module import GraphModule

__all__ = ["AnnotateTypesWithSchema"]


class AnnotateTypesWithSchema(Transformer):
    """Copies a graph module and annotates each node with the type of its value, if that is known and not yet set.

    ``AnnotateTypesWithSchema(traced).transform()`` reads the return annotations of the modules of ``torch.nn``
    (``annotate_modules``) and of the functions of ``torch.nn.functional`` (``annotate_functionals``), and the types of
    the values that are fetched (``annotate_get_attrs``).
    """

    def __init__(
        self,
        module: "GraphModule",
        annotate_functionals: bool = True,
        annotate_modules: bool = True,
        annotate_get_attrs: bool = True,
    ) -> None:
        self.annotate_functionals = annotate_functionals
        self.annotate_get_attrs = annotate_get_attrs
        self.annotate_modules = annotate_modules
        super().__init__(module)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Copy the node; if it calls a function of ``torch.nn.functional``, its type is the return annotation."""
        value = super().call_function(target, args, kwargs)
        if self.annotate_functionals and getattr(target, "__module__", None) == "torch.nn.functional":
            _annotate(value, _return_type(target))
        return value

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Copy the node; if it calls a module of ``torch.nn``, its type is the forward's return annotation."""
        value = super().call_module(target, args, kwargs)
        submodule = self.fetch_attr(str(target))
        cls = type(submodule)
        if self.annotate_modules and getattr(torch.nn, cls.__name__, None) is cls:
            _annotate(value, _return_type(submodule.forward))
        return value

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Copy the node; its type is that of the attribute's value. Raises RuntimeError if the attribute is missing."""
        value = super().get_attr(target, args, kwargs)
        if self.annotate_get_attrs:
            script_type = script_type_of(self.fetch_attr(str(target)))
            if script_type is not None:
                _annotate(value, _torchscript_type_to_python_type(script_type))
        return value


def _annotate(value: Proxy, annotation: Any) -> None:
    value.node.type = value.node.type or annotation


def _return_type(target: Any) -> Any:
    """The return annotation of a function, or the one shared by both functions that it forwards to; or None."""
    if target not in boolean_dispatched:
        return _return_annotation(target)
    annotations = [_return_annotation(choice) for choice in _choices(target)]
    return annotations[0] if annotations[0] == annotations[1] else None


def _choices(target: Any) -> list[Callable[..., Any]]:
    return [boolean_dispatched[target]["if_true"], boolean_dispatched[target]["if_false"]]


def _return_annotation(function: Callable[..., Any]) -> Any:
    try:
        annotation = inspect.signature(function).return_annotation
    except (ValueError, TypeError):
        return None
    return None if annotation is Signature.empty else annotation
