"""Temporary replacements in namespaces that aren't ours: modules' globals, and classes.

Nothing else in fxcore assigns to a foreign name. A name is replaced once, however many traces want it replaced at the
same time, and gets its value back when the last of them lets go: traces may nest, and run in several threads, and end
in any order.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Mapping
from typing import Any

Namespace = dict[str, Any] | type
Key = tuple[int, str]

_lock = threading.Lock()


class _Replacement:
    """A name with its replaced value, and the scopes that want it so."""

    __slots__ = ("name", "namespace", "original", "scopes", "was_there")

    def __init__(self, namespace: Namespace, name: str) -> None:
        own = vars(namespace) if isinstance(namespace, type) else namespace
        self.namespace = namespace
        self.name = name
        self.was_there = name in own
        """Otherwise the value comes from the builtins, or from a base class."""
        self.original = own[name] if self.was_there else _inherited(namespace, name)
        self.scopes: set[PatchScope] = set()

    def put(self, value: Any) -> None:
        if isinstance(self.namespace, type):
            setattr(self.namespace, self.name, value)
        else:
            self.namespace[self.name] = value

    def put_back(self) -> None:
        if self.was_there:
            self.put(self.original)
        elif isinstance(self.namespace, type):
            delattr(self.namespace, self.name)
        else:
            del self.namespace[self.name]


_replacements: dict[Key, _Replacement] = {}
"""What is replaced now. Empty when no trace runs."""


class PatchScope:
    """A context manager that keeps names replaced until its exit, whatever it is left by."""

    def __init__(self) -> None:
        self._keys: list[Key] = []

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

    def _replace(self, namespace: Namespace, name: str, make: Callable[[Any], Any]) -> None:
        key = id(namespace), name
        self._keys.append(key)
        replacement = _replacements.get(key)
        if replacement is not None:
            replacement.scopes.add(self)
            return
        replacement = _Replacement(namespace, name)
        value = make(replacement.original)
        replacement.scopes.add(self)
        _replacements[key] = replacement
        replacement.put(value)

    def __enter__(self) -> PatchScope:
        return self

    def __exit__(self, *error: object) -> None:
        with _lock:
            while self._keys:
                self._let_go(self._keys[-1])
                self._keys.pop()

    def _let_go(self, key: Key) -> None:
        replacement = _replacements.get(key)
        if replacement is None:  # it couldn't be replaced
            return
        replacement.scopes.discard(self)
        if not replacement.scopes:
            replacement.put_back()
            del _replacements[key]


def _inherited(namespace: Namespace, name: str) -> Any:
    if isinstance(namespace, type):
        return getattr(namespace, name)
    if not hasattr(builtins, name):
        raise KeyError(name)
    return getattr(builtins, name)
