"""Temporary replacements in code that isn't part of fxcore: in modules' globals, classes, and functions' bodies.

Nothing else in fxcore assigns to foreign names, except `fxcore._symbolic_trace._Patcher` on behalf of programs. A name
is replaced once, however many traces need the replacement at the same time, and is restored when the last of them ends:
traces may nest, run in several threads, and end in any order.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any

Namespace = dict[str, Any] | type | FunctionType
"""A module's globals; a class; or a function, in which only ``__code__`` can be replaced."""

_lock = threading.Lock()


class _Replacement:
    """A replaced name with its original value, and the scopes that hold the replacement."""

    __slots__ = ("name", "namespace", "original", "scopes", "was_there")

    def __init__(self, namespace: Namespace, name: str) -> None:
        own = namespace if isinstance(namespace, dict) else _own(namespace)
        self.namespace = namespace
        self.name = name
        self.was_there = name in own
        """Whether the namespace itself had the name; if not, its value comes from the builtins or a base class."""
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


# The replacements in force, by the identity of the namespace and by name. Empty when no trace runs.
_replacements: dict[int, dict[str, _Replacement]] = {}


def originals(namespace: dict[str, Any]) -> dict[str, Any]:
    """A copy of a module's globals with their original values, even if other threads' traces have replaced some."""
    with _lock:
        replaced = _replacements.get(id(namespace), {})
        return {**namespace, **{name: was.original for name, was in replaced.items() if was.was_there}}


class PatchScope:
    """A context manager that keeps names replaced until its exit, even if an exception ends the block."""

    def __init__(self) -> None:
        self._names: list[tuple[int, str]] = []

    def replace(self, namespace: Namespace, name: str, make: Callable[[Any], Any]) -> None:
        """Replace the value of a name in a class, or in a module's globals or builtins, with ``make(value)``.

        If another scope has already replaced the name, that replacement is kept. Raises KeyError, or AttributeError for
        a class, if the name doesn't exist.
        """
        with _lock:
            self._replace(namespace, name, make)

    def replace_all(self, namespace: Namespace, makers: Mapping[str, Callable[[Any], Any]]) -> None:
        """Call `replace` for each name in ``makers`` and its function."""
        with _lock:
            for name, make in makers.items():
                self._replace(namespace, name, make)

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
        if replacement is not None:  # None if replacing the name failed
            replacement.scopes.discard(self)
            if not replacement.scopes:
                replacement.put_back()
                del replaced[name]
        if not replaced:
            _replacements.pop(namespace, None)


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


def body_of_call(choose: Callable[[], Callable[..., Any]]) -> CodeType:
    """The code of a function body that passes the arguments on to the function that ``choose()`` returns."""
    code = _body.__code__
    return code.replace(co_consts=tuple(choose if constant == _CHOOSE else constant for constant in code.co_consts))


_CHOOSE = "choose"


def _body(*args: Any, **kwargs: Any) -> Any:
    # As the body of a foreign function, this code has foreign globals, so what it calls is among its constants.
    choose: Any = "choose"
    return choose()(*args, **kwargs)
