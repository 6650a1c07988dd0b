"""Temporary replacements in what isn't ours: modules' globals, classes, and what functions do.

Nothing else in fxcore assigns to a foreign name, except `fxcore._symbolic_trace._Patcher`, by which programs do. A name
is replaced once, however many traces want it replaced at the same time, and gets its value back when the last of them
lets go: traces may nest, and run in several threads, and end in any order.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any

Namespace = dict[str, Any] | type | FunctionType
"""A module's globals; a class; a function, whose one name is ``__code__``."""

_lock = threading.Lock()


class _Replacement:
    """A name with its replaced value, and the scopes that want it so."""

    __slots__ = ("name", "namespace", "original", "scopes", "was_there")

    def __init__(self, namespace: Namespace, name: str) -> None:
        own = namespace if isinstance(namespace, dict) else _own(namespace)
        self.namespace = namespace
        self.name = name
        self.was_there = name in own
        """Otherwise the value comes from the builtins, or from a base class."""
        self.original = own[name] if self.was_there else _inherited(namespace, name)
        self.scopes: set[PatchScope] = set()

    def put(self, value: Any) -> None:
        if isinstance(self.namespace, dict):
            self.namespace[self.name] = value
        else:
            setattr(self.namespace, self.name, value)

    def put_back(self) -> None:
        if self.was_there:
            self.put(self.original)
        elif isinstance(self.namespace, dict):
            del self.namespace[self.name]
        else:
            delattr(self.namespace, self.name)


# What is replaced now, by the identity of the namespace and by name. Empty when no trace runs.
_replacements: dict[int, dict[str, _Replacement]] = {}


def originals(namespace: dict[str, Any]) -> dict[str, Any]:
    """A copy of a module's globals as they are when nothing is replaced: other threads' traces may replace some."""
    with _lock:
        replaced = _replacements.get(id(namespace), {})
        return {**namespace, **{name: was.original for name, was in replaced.items() if was.was_there}}


class PatchScope:
    """A context manager that keeps names replaced until its exit, whatever it is left by."""

    def __init__(self) -> None:
        self._names: list[tuple[int, str]] = []

    def replace(self, namespace: Namespace, name: str, make: Callable[[Any], Any]) -> None:
        """Put ``make(value)`` in place of a class's or a module's (its globals') value, or of a builtin.

        Where a scope has replaced it already, that stays. Raises KeyError where there is no such name.
        """
        with _lock:
            self._replace(namespace, name, make)

    def replace_all(self, namespace: Namespace, makers: Mapping[str, Callable[[Any], Any]]) -> None:
        """`replace` each name of ``makers``."""
        with _lock:
            for name, make in makers.items():
                self._replace(namespace, name, make)

    def replace_method(self, cls: type, name: str, make: Callable[[Any], Any]) -> None:
        """`replace` a special method (``__call__``) of a class that may have many subclasses.

        Assigned to a class, such a method is made known to all subclasses. `torch.nn.Module` has 1,400 of them once
        torchvision and timm are imported: that takes CPython as long as tracing a small model does, and empties the
        classes' caches of attributes. So the function keeps its place and gets another body, if it can have one.

        It does what ``make`` made wherever it is the class's method. While somebody else has put a function of his own
        there, as torch.fx does, it is the original, which that function takes it for.
        """
        function = vars(cls)[name]
        if not can_be_exchanged(function):
            self.replace(cls, name, make)
            return

        def exchanged(body: CodeType) -> CodeType:
            original = twin(function)
            made = make(original)
            return body_of_call(lambda: made if vars(cls).get(name) is function else original)

        self.replace(function, "__code__", exchanged)

    def _replace(self, namespace: Namespace, name: str, make: Callable[[Any], Any]) -> None:
        self._names.append((id(namespace), name))
        replaced = _replacements.setdefault(id(namespace), {})
        replacement = replaced.get(name)
        if replacement is not None:
            replacement.scopes.add(self)
            return
        replacement = _Replacement(namespace, name)
        value = make(replacement.original)
        replacement.scopes.add(self)
        replaced[name] = replacement
        replacement.put(value)

    def __enter__(self) -> PatchScope:
        return self

    def __exit__(self, *error: object) -> None:
        with _lock:
            while self._names:
                self._let_go(*self._names[-1])
                self._names.pop()

    def _let_go(self, namespace: int, name: str) -> None:
        replaced = _replacements.get(namespace, {})
        replacement = replaced.get(name)
        if replacement is not None:  # it could be replaced
            replacement.scopes.discard(self)
            if not replacement.scopes:
                replacement.put_back()
                del replaced[name]
        if not replaced:
            _replacements.pop(namespace, None)


def _own(holder: type | FunctionType) -> Mapping[str, Any]:
    """The names that a class or a function has itself, with their values."""
    return vars(holder) if isinstance(holder, type) else {"__code__": holder.__code__}


def _inherited(namespace: Namespace, name: str) -> Any:
    if isinstance(namespace, type):
        return getattr(namespace, name)
    if not hasattr(builtins, name):
        raise KeyError(name)
    return getattr(builtins, name)


def twin(function: Callable[..., Any]) -> Callable[..., Any]:
    """Another function that does what ``function`` does now; ``function`` itself where it isn't written in Python."""
    if not isinstance(function, FunctionType):
        return function
    same = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    same.__kwdefaults__ = function.__kwdefaults__
    return same


def can_be_exchanged(function: object) -> bool:
    """Whether a function may get another body: one that uses variables of a function around it must go on to do so."""
    return isinstance(function, FunctionType) and function.__closure__ is None


def body_of_call(choose: Callable[[], Callable[..., Any]]) -> CodeType:
    """A body with which a function passes its arguments on to ``choose()``."""
    code = _body.__code__
    return code.replace(co_consts=tuple(choose if constant == _CHOOSE else constant for constant in code.co_consts))


_CHOOSE = "choose"


def _body(*args: Any, **kwargs: Any) -> Any:
    # In a foreign function this has foreign globals, so what it calls is among its constants.
    choose: Any = "choose"
    return choose()(*args, **kwargs)
