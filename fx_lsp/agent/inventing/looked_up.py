"""Finds the tables in which a program looks something up, and the keys that they have.

Examples are ``mode in MODES``, ``BLOCKS[name]``, ``REGISTRY.get(name)``, ``"target" in config``,
``getattr(models, name)``, ``globals()[name]`` and ``eval(name)``.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType
from typing import Any

from fx_lsp.agent.frame_code import tree_of
from fx_lsp.agent.inventing.invented_values import InventedSettings, Misused

SHORTEST = 3
"""The fewest characters of a string in the program that may be part of a name that it looks up."""

_NAMESPACES = frozenset({"globals", "vars"})
"""Functions that return a namespace and have no effect."""

_GLOBALS = ast.parse("globals()", mode="eval").body
"""Where ``eval`` looks a name up."""


@dataclass(frozen=True)
class Lookup:
    """A key and the table in which a function looks it up, or asks whether it is there."""

    key: Any
    table: Any
    """A mapping, a sequence or a set; of a module, its namespace."""
    is_test: bool
    """Whether it is ``key in table``, not ``table[key]``."""
    code: CodeType
    """The function."""
    call: ast.Call | None = None
    """The call of what was looked up, if it is called at once."""

    def options(self) -> list[Any]:
        """The table's other keys that are strings, numbers or lists; of a namespace, the functions and classes to call.

        Small numbers come first, those in strings too, since they make small models: ``resnet18`` before ``resnet101``.

        Of those to call, the first are those whose names have a string in them that the function mentions, as in
        ``if "resnet" in name``; then those that the namespace's own module defines.
        """
        plain = [option for option in self.table if type(option) in (str, int, float, list, tuple)]
        others = sorted((option for option in plain if repr(option) != repr(self.key)), key=_in_order)
        if not isinstance(self.table, Mapping) or "__name__" not in self.table:
            return others
        texts = [text for text in self.code.co_consts if isinstance(text, str) and len(text) >= SHORTEST]
        called: list[Any] = [name for name in others if isinstance(name, str) and self._can_call(name)]
        called.sort(
            key=lambda name: not str(getattr(self.table[name], "__module__", "")).startswith(self.table["__name__"])
        )
        return sorted(called, key=lambda name: not any(text in str(name) for text in texts))

    def _can_call(self, name: str) -> bool:
        """Whether ``name`` is that of a function or class that takes the arguments of the call."""
        value = self.table[name]
        if name.startswith("_") or not callable(value):
            return False
        if self.call is None or any(isinstance(value, ast.Starred) for value in self.call.args):
            return True
        try:
            keywords = {one.arg: None for one in self.call.keywords if one.arg is not None}
            inspect.signature(value).bind(*self.call.args, **keywords)
        except (TypeError, ValueError):
            return False
        return True


def _in_order(option: object) -> list[str | int]:
    """What sorts options: their text, in which numbers count as numbers."""
    parts = _DIGITS.split(repr(option))
    return [int(part) if at % 2 else part for at, part in enumerate(parts)]


_DIGITS = re.compile(r"([0-9]+)")


def lookups(frame: FrameType) -> Iterator[Lookup]:
    """What the function of ``frame`` looks up, as far as that can be evaluated again."""
    nodes = list(ast.walk(tree_of(frame.f_code) or ast.Pass()))
    calls = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        match node:
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[table]):
                pass
            case ast.Subscript(value=table, slice=key, ctx=ast.Load()):
                pass
            case ast.Call(func=ast.Name(id="getattr"), args=[table, key, *_]):
                pass
            case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_]):
                pass
            case ast.Call(func=ast.Name(id="eval"), args=[ast.Name() | ast.Attribute() | ast.Subscript() as key]):
                table = _GLOBALS
            case _:
                continue
        match table:
            case ast.Call(func=ast.Attribute(value=inner, attr="keys"), args=[]):
                table = inner
        if _does_something(key) or _does_something(table):
            continue
        try:
            value, among = (eval(ast.unparse(part), frame.f_globals, frame.f_locals) for part in (key, table))
            if isinstance(node, ast.Call) and table is not _GLOBALS:
                among = _namespace(among) if isinstance(node.func, ast.Name) else _table_of(among)
        except (Exception, Misused):  # it uses a value that is gone
            continue
        if among is None:
            continue
        yield Lookup(value, among, isinstance(node, ast.Compare), frame.f_code, calls.get(id(node)))


def _namespace(owner: Any) -> Mapping[str, Any] | None:
    """Where ``getattr(module, name)`` looks a name up; None for what is no module."""
    return vars(owner) if isinstance(owner, ModuleType) else None


def _table_of(owner: Any) -> Mapping[str, Any] | None:
    """The table in which ``owner.get(key)`` looks the key up: a mapping, or the one that a registry consists of."""
    if isinstance(owner, ModuleType | InventedSettings):
        return None
    if isinstance(owner, Mapping):
        return owner
    tables = (value for value in vars(owner).values() if type(value) is dict and value)
    return next((table for table in tables if all(type(key) is str for key in table)), None)


def _does_something(node: ast.AST) -> bool:
    """Whether evaluating ``node`` again could have an effect or block, as ``queue.get()`` could."""
    calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    if any(not isinstance(call.func, ast.Name) or call.func.id not in _NAMESPACES for call in calls):
        return True
    return any(isinstance(inner, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for inner in ast.walk(node))
