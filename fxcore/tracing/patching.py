"""Temporary replacements in code that isn't part of fxcore: in modules' globals, classes, and functions' bodies.

Nothing else in fxcore assigns to foreign names, except `fxcore._symbolic_trace._Patcher` on behalf of programs. A name
is replaced once, however many traces need the replacement at the same time, and is restored when the last of them ends:
traces may nest, run in several threads, and end in any order.
"""

from __future__ import annotations

import builtins
import functools
import threading
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any

Namespace = dict[str, Any] | type | FunctionType
"""A module's globals; a class; or a function, in which only ``__code__`` can be replaced."""

_lock = threading.Lock()


_ABSENT = object()


class _Replacements:
    """The replaced names of one namespace."""

    __slots__ = ("namespace", "originals", "scopes")

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self.originals: dict[str, Any] = {}
        """Each name's original value; `_ABSENT` if that comes from the builtins or a base class."""
        self.scopes: dict[str, set[PatchScope]] = {}
        """The scopes that hold each name's replacement."""

    def replace(self, name: str, make: Callable[[Any], Any], scope: PatchScope) -> None:
        if name in self.scopes:
            self.scopes[name].add(scope)
            return
        own = self.namespace if isinstance(self.namespace, dict) else _own(self.namespace)
        original = own.get(name, _ABSENT)
        value = make(_inherited(self.namespace, name) if original is _ABSENT else original)
        self.originals[name] = original
        self.scopes[name] = {scope}
        self._put(name, value)

    def let_go(self, name: str, scope: PatchScope) -> None:
        scopes = self.scopes.get(name)
        if scopes is None:  # replacing the name failed
            return
        scopes.discard(scope)
        if not scopes:
            self._put(name, self.originals[name])
            del self.scopes[name], self.originals[name]

    def _put(self, name: str, value: Any) -> None:
        if isinstance(self.namespace, dict):
            if value is _ABSENT:
                del self.namespace[name]
            else:
                self.namespace[name] = value
        elif value is _ABSENT:
            delattr(self.namespace, name)
        else:
            setattr(self.namespace, name, value)


# The replacements in force, by the identity of the namespace. Empty when no trace runs.
_replacements: dict[int, _Replacements] = {}


def originals(namespace: dict[str, Any]) -> dict[str, Any]:
    """A copy of a module's globals with their original values, even if other threads' traces have replaced some."""
    with _lock:
        names = namespace.copy()
        replaced = _replacements.get(id(namespace))
        if replaced is not None:
            names.update((name, was) for name, was in replaced.originals.items() if was is not _ABSENT)
        return names


class PatchScope:
    """A context manager that keeps names replaced until its exit, even if an exception ends the block."""

    def __init__(self) -> None:
        self._names: list[tuple[_Replacements, str]] = []

    def replace(self, namespace: Namespace, name: str, make: Callable[[Any], Any]) -> None:
        """Replace the value of a name in a class, or in a module's globals or builtins, with ``make(value)``.

        If another scope has already replaced the name, that replacement is kept. Raises KeyError, or AttributeError for
        a class, if the name doesn't exist.
        """
        self.replace_all(namespace, {name: make})

    def replace_all(self, namespace: Namespace, makers: Mapping[str, Callable[[Any], Any]]) -> None:
        """Call `replace` for each name in ``makers`` and its function."""
        if not makers:
            return
        with _lock:
            replacements = _replacements.get(id(namespace))
            if replacements is None:
                replacements = _replacements[id(namespace)] = _Replacements(namespace)
            for name, make in makers.items():
                self._names.append((replacements, name))
                replacements.replace(name, make, self)

    def replace_method(self, cls: type, name: str, make: Callable[[Any], Any]) -> None:
        """Replace a special method such as ``__call__`` of a class that may have many subclasses.

        When such a method is assigned to a class, CPython updates all its subclasses. `torch.nn.Module` has 1,400 of
        them once torchvision and timm are imported: the update takes as long as tracing a small model, and clears the
        classes' attribute caches. If possible, the function therefore stays in place and gets another body.

        While the function is the class's method, it behaves like the result of ``make``. While another function is
        assigned in its place, as torch.fx does, it behaves like the original, because the other function calls it as
        the original.
        """
        function = vars(cls)[name]
        if not can_be_exchanged(function):
            self.replace(cls, name, make)
            return

        def exchanged(body: CodeType) -> CodeType:
            original = twin(function)
            return _body_of_choice(make(original), function, functools.partial(vars(cls).get, name), original)

        self.replace(function, "__code__", exchanged)

    def __enter__(self) -> PatchScope:
        return self

    def __exit__(self, *error: object) -> None:
        with _lock:
            while self._names:
                replacements, name = self._names[-1]
                replacements.let_go(name, self)
                key = id(replacements.namespace)
                if not replacements.scopes and _replacements.get(key) is replacements:
                    del _replacements[key]
                self._names.pop()


def _own(holder: type | FunctionType) -> Mapping[str, Any]:
    """The names that a class or a function defines itself, with their values."""
    return vars(holder) if isinstance(holder, type) else {"__code__": holder.__code__}


def _inherited(namespace: Namespace, name: str) -> Any:
    if isinstance(namespace, type):
        return getattr(namespace, name)
    if not hasattr(builtins, name):
        raise KeyError(name)
    return getattr(builtins, name)


def twin(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of ``function`` with its present body; ``function`` itself if it isn't written in Python."""
    if not isinstance(function, FunctionType):
        return function
    same = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    same.__kwdefaults__ = function.__kwdefaults__
    return same


def can_be_exchanged(function: object) -> bool:
    """Whether the body of ``function`` can be exchanged: it must be a Python function without a closure."""
    return isinstance(function, FunctionType) and function.__closure__ is None


def _body_of_choice(
    first: Callable[..., Any], function: Callable[..., Any], present: Callable[[], object], second: Callable[..., Any]
) -> CodeType:
    """The code of a function body that passes its arguments on: to ``first`` if ``present()`` is ``function``.

    Otherwise it passes them on to ``second``.
    """
    values = {"first": first, "function": function, "present": present, "second": second}
    code = _choosing.__code__
    return code.replace(co_consts=tuple(values.get(constant, constant) for constant in code.co_consts))


def _choosing(*args: Any, **kwargs: Any) -> Any:
    # As the body of a foreign function, this code has foreign globals, so what it calls is among its constants.
    present: Any = "present"
    function: Any = "function"
    first: Any = "first"
    second: Any = "second"
    return (first if present() is function else second)(*args, **kwargs)
