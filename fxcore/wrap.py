"""Functions that are recorded as one call rather than traced through."""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any, TypeVar, overload

from fxcore.proxy import Proxy
from fxcore.torch_compat import (
    functions_wrapped_by_torch_fx,
    is_proxy_of_torch_fx,
    methods_wrapped_by_torch_fx,
    registry_of_torch_fx,
)
from fxcore.tracing.patching import PatchScope, originals

_F = TypeVar("_F", bound=Callable[..., Any])

# Maps the id of a module's globals and a name in them to the globals themselves.
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}

_wrapped_methods_to_patch: list[tuple[type, str]] = []


@overload
def wrap(fn_or_name: _F) -> _F: ...
@overload
def wrap(fn_or_name: str) -> str: ...
def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Make traces record calls to a function instead of tracing through it.

    Call ``wrap`` at the top level of the module that calls the function: as a decorator, or with the function or its
    name, which may be the name of a builtin (``fxcore.wrap("len")``). Within the module, every call by that name is
    recorded if a traced value is among its arguments. Returns its argument.

    Raises NotImplementedError if it isn't called at the top level of a module, and RuntimeError if the argument is
    neither a function nor a name.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(f"wrap() takes a function or a function's name, not {fn_or_name!r}")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    caller = sys._getframe(1)
    if caller.f_code.co_name != "<module>":
        raise NotImplementedError(f"wrap({name!r}) must be called at the top level of a module")
    _wrapped_fns_to_patch[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


def forget_unfinished_wraps() -> None:
    """Forget the wrapped names that nothing defined, because the import of their module failed before it did.

    A trace of any program would raise KeyError for them.
    """
    for wrapped in (_wrapped_fns_to_patch, registry_of_torch_fx()):
        for key, namespace in list(wrapped.items()):
            if key[1] not in namespace and not hasattr(builtins, key[1]):
                del wrapped[key]


def replace_wrapped(patches: PatchScope) -> None:
    """Replace every wrapped function and method, including those wrapped for torch.fx, with one that records its calls.

    Raises KeyError if a wrapped name is missing from its module's globals.
    """
    # A copy: meanwhile generated functions may be garbage-collected, which removes their entries.
    own = _wrapped_fns_to_patch.copy()
    for (_, name), namespace in [*functions_wrapped_by_torch_fx().items(), *own.items()]:
        patches.replace(namespace, name, recorded)
    for cls, name in [*methods_wrapped_by_torch_fx(), *_wrapped_methods_to_patch]:
        patches.replace(cls, name, functools.partial(_recorded_method, name))


def replace_functions(patches: PatchScope, namespace: dict[str, Any], ids: set[int]) -> None:
    """Replace the public functions in a module's globals whose ids are in ``ids`` with ones that record their calls."""
    names = originals(namespace)
    if ids.isdisjoint(map(id, names.values())):  # true of nearly all
        return
    patches.replace_all(
        namespace,
        {
            name: _recorded_builtin if isinstance(value, BuiltinFunctionType) else recorded
            for name, value in names.items()
            if id(value) in ids and not name.startswith("_")
        },
    )


def recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that records a call to ``function`` if an argument is a traced value, and otherwise makes the call."""

    @functools.wraps(function)
    def record(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return record


# All functions of `math` are replaced in every trace, so their replacements are cached.
_recorded_builtin = functools.lru_cache(maxsize=256)(recorded)


def _recorded_method(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def record(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return method(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return record


def find_proxy(*values: Any) -> Proxy | None:
    """The first traced value in ``values`` or in tuples, lists, dicts and slices among them; None if there is none."""
    for value in values:
        if isinstance(value, Proxy) or is_proxy_of_torch_fx(value):  # a tracer made for torch.fx makes the latter
            return value  # type: ignore[no-any-return]
        contained = _contained(value)
        if contained and (proxy := find_proxy(*contained)) is not None:
            return proxy
    return None


def _contained(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return value
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, slice):
        return value.start, value.stop, value.step
    return ()
