"""Makes the placeholders of a graph from its root's signature, and the call that traces the root."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

import torch

from fxcore.failures import CallBindingFailure
from fxcore.graph import _PyTreeCodeGen, _PyTreeInfo
from fxcore.node import base_types
from fxcore.torch_compat import is_placeholder_of_torch_fx, torch_pytree
from fxcore.wrap import wrap

if TYPE_CHECKING:
    from fxcore.proxy import Proxy
    from fxcore.tracer import Tracer


_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class PHBase:
    """Stands for an input among ``concrete_args``; its attributes are copied to the placeholder node."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()
"""An input among ``concrete_args``, without attributes for its node."""


class PHWithMeta(PHBase):
    """An input among ``concrete_args`` whose node is to be recognized by its ``ph_key``."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


def bind_root(
    tracer: Tracer,
    root_fn: Callable[..., Any],
    is_module: bool,
    concrete_args: Mapping[str, Any] | tuple[Any, ...] | None,
) -> tuple[Callable[..., Any], list[Any]]:
    """Make the placeholders for ``root_fn``'s parameters; return a function and its positional arguments.

    If a concrete argument is a container, its leaves become the placeholders, and the function flattens its result.
    Raises a `CallBindingFailure` if the root can't be bound to the concrete arguments.
    """
    function = inspect.unwrap(root_fn)
    code = function.__code__
    names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    if is_module and not names:
        tracer.fail(CallBindingFailure, "a forward method without an explicit `self` parameter can't be traced")
    own = [tracer.root] if is_module else []
    inputs = names[len(own) :]
    if isinstance(concrete_args, tuple):
        if concrete_args and code.co_flags & _VARIADIC and len(names) == 1:
            return root_fn, own + [_anonymous(tracer, index, value) for index, value in enumerate(concrete_args)]
        concrete_args = _by_name(tracer, inputs, concrete_args)
    signature = inspect.signature(function)

    def placeholder(name: str) -> Any:
        return tracer._proxy_placeholder(name, concrete_args, signature, function)

    args = own + [placeholder(name) for name in inputs]
    if code.co_kwonlyargcount or code.co_flags & _VARIADIC:
        if function is root_fn:
            args += [placeholder(name) for name in _variadic_names(code)]
            root_fn = taking_all_by_position(function, len(args))
        else:
            root_fn = _passing_keywords(root_fn, names[_first_keyword(root_fn, function) :])
    return _flattened(tracer, root_fn, args, names)


def _by_name(tracer: Tracer, names: list[str], values: tuple[Any, ...]) -> dict[str, Any]:
    if len(names) != len(values):
        message = f"concrete_args must have one value per parameter: got {len(values)}, expected {len(names)}"
        tracer.fail(CallBindingFailure, message)
    return dict(zip(names, values, strict=True))


def _variadic_names(code: Any) -> list[str]:
    """The names of the ``*args`` and ``**kwargs`` parameters, with their stars; empty if there are none."""
    stars = [star for star, flag in (("*", inspect.CO_VARARGS), ("**", inspect.CO_VARKEYWORDS)) if code.co_flags & flag]
    first = code.co_argcount + code.co_kwonlyargcount
    return [star + name for star, name in zip(stars, code.co_varnames[first:], strict=False)]


def taking_all_by_position(function: Any, count: int) -> FunctionType:
    """``function`` with all parameters made positional; ``*args`` and ``**kwargs`` then take one value each."""
    code = function.__code__.replace(
        co_argcount=count,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=function.__code__.co_flags & ~_VARIADIC,
    )
    return FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


def _first_keyword(decorated: Callable[..., Any], function: Callable[..., Any]) -> int:
    """The index of the first of ``function``'s parameters to pass by name when calling ``decorated``.

    Decorators that fill in missing arguments look for them among the keyword arguments. If the decorator takes
    ``**kwargs``, every parameter with a default is therefore passed by name.
    """
    code = function.__code__
    outer = inspect.signature(decorated, follow_wrapped=False).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in outer):
        return int(code.co_argcount - len(function.__defaults__ or ()))
    return int(code.co_argcount)


def _passing_keywords(function: Callable[..., Any], keywords: list[str]) -> Callable[..., Any]:
    """A function that takes all its arguments by position, and passes the last of them to ``function`` by name.

    ``function`` is decorated, and its decorator's own parameters are unknown, so it is called as a program would call
    it, without values for ``*args`` and ``**kwargs``.
    """

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        split = len(args) - len(keywords)
        return function(*args[:split], **dict(zip(keywords, args[split:], strict=True)))

    return call


def _flattened(
    tracer: Tracer, root_fn: Callable[..., Any], args: list[Any], names: list[str]
) -> tuple[Callable[..., Any], list[Any]]:
    flat_args, in_spec = torch_pytree.tree_flatten(tuple(args))
    if len(flat_args) == len(args) and all(flat is arg for flat, arg in zip(flat_args, args, strict=True)):
        return root_fn, args
    tracer.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names, in_spec, None))

    def call_flat(*leaves: Any) -> Any:
        result = root_fn(*torch_pytree.tree_unflatten(list(leaves), in_spec))
        flat_result, out_spec = torch_pytree.tree_flatten(result)
        codegen = tracer.graph._codegen
        if not isinstance(codegen, _PyTreeCodeGen):
            raise AssertionError(f"the graph's code generator was replaced by {codegen} during the trace")
        codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
        return flat_result

    call_flat.__annotations__ = {}  # would count as the program's own
    return call_flat, flat_args


def make_placeholder(
    tracer: Tracer,
    name: str,
    concrete_args: Mapping[str, Any] | None,
    signature: inspect.Signature,
    function: Callable[..., Any],
) -> Any:
    """The value of one parameter: a proxy, or its concrete argument with a proxy in place of every `PH`."""
    if concrete_args is None or name not in concrete_args:
        default = () if name.startswith("*") else _default(signature, name)
        return tracer.create_proxy("placeholder", name, default, {}, type_expr=function.__annotations__.get(name))
    leaves = 0

    def input_or_constant(value: Any) -> Any:
        nonlocal leaves
        leaves += 1
        proxy = tracer.create_proxy("placeholder", f"{name}_{leaves}", _default(signature, name), {})
        if _is_placeholder(value):
            _copy_attributes(value, proxy.node)
            return proxy
        _assert_constant(tracer, name, proxy, value)
        return value

    return torch_pytree.tree_map(input_or_constant, concrete_args[name])


def _anonymous(tracer: Tracer, index: int, value: Any) -> Proxy:
    proxy = tracer.create_proxy("placeholder", f"input_{index}", (), {})
    if _is_placeholder(value):
        _copy_attributes(value, proxy.node)
    return proxy


def _default(signature: inspect.Signature, name: str) -> tuple[Any, ...]:
    default = signature.parameters[name].default
    return () if default is inspect.Parameter.empty else (default,)


def _is_placeholder(value: object) -> bool:
    return isinstance(value, PHBase) or is_placeholder_of_torch_fx(value)


def _copy_attributes(source: object, target: object) -> None:
    for name in dir(source):
        value = getattr(source, name)
        if not name.startswith("__") and not callable(value) and not hasattr(target, name):
            setattr(target, name, value)


def _assert_constant(tracer: Tracer, name: str, proxy: Proxy, value: Any) -> None:
    """Have the graph check that it is called with the value it is specialized for, if that value can be compared."""
    message = f"{name} has been specialized to have value {value} but got another value"
    if value is None:
        tracer.create_proxy("call_function", _assert_is_none, (proxy, message), {})
    elif type(value) in base_types and type(value) is not torch.Tensor:
        torch._assert(proxy == value, message)  # type: ignore[no-untyped-call]
    else:
        warnings.warn(
            f"the graph is specialized for {name}={value!r}, but can't check that it is called with this value",
            stacklevel=2,
        )


@wrap
def _assert_is_none(value: object, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


_assert_is_none.__module__ = "fxcore._symbolic_trace"  # generated code refers to it there, as in torch.fx
