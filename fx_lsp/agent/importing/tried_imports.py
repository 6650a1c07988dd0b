"""Names that a program has only if an import succeeds that it tries: ``try: import apex``, ``except: apex = None``.

If the import fails, the handler gives the name a value that nothing can be done with, or none at all. An error about
that value says nothing about the program, only that something is missing.
"""

from __future__ import annotations

import ast
import importlib.util
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from traceback import walk_tb
from types import FrameType, ModuleType
from typing import Any

from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fx_lsp.agent.inventing.checks.failed_checks import names_in_check
from fx_lsp.agent.inventing.failing_statement import names_acted_on
from fx_lsp.agent.messages import Span
from fx_lsp.agent.traceback_steps import causes

_OF_NONE = re.compile(r"'NoneType' object (is not callable|has no attribute|is not subscriptable)")
"""Python's messages about None where a function, a class or a module is meant."""

_OF_OBJECT = re.compile(r"(\w+)(?:\.__init__)?\(\) takes (no arguments|exactly one argument)")
"""Python's messages about a class that accepts no arguments, since `object` is its only base."""

_CATCHING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


import_own: Callable[[str], ModuleType | None] | None = None
"""Imports a module of the workspace, with stand-ins for what it lacks; returns None for any other module."""


@dataclass(frozen=True)
class _Import:
    """What an import statement would have got."""

    module: str
    name: str = ""
    """The name in the module; empty for the module itself."""
    is_used: bool = False
    """Whether the name is not imported itself, but computed from what is: ``version = float(apex.__version__)``."""
    place: tuple[int, int, int, int] = (1, 0, 1, 0)
    """The line and column of the statement's beginning, and those of its end, as in `ast`."""

    def __str__(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module

    def again(self) -> Any:
        """What it gets with stand-ins for what a module of the workspace lacks, or else a stand-in."""
        module = (import_own and import_own(self.module)) or StandInModule(self.module)
        found = getattr(module, self.name, None) if self.name else module
        is_module = found is None and hasattr(module, "__path__")  # a package of the workspace lacks this module
        return StandInModule(str(self)) if is_module else found


@dataclass(frozen=True)
class TriedImport:
    """A name that stands for nothing, since the import failed that the program tried."""

    name: str
    namespace: dict[str, Any]
    """That of the module that tries the import."""
    wanted: _Import

    @property
    def span(self) -> Span | None:
        """The import statement; None if its file is not known."""
        file = self.namespace.get("__file__")
        return Span(file, *self.wanted.place) if isinstance(file, str) else None

    @property
    def source(self) -> str:
        """What the name would have stood for, e.g. ``apex.normalization.FusedLayerNorm``."""
        return str(self.wanted)

    def provide(self) -> bool:
        """Whether the name now stands for what the import would have got, or for a stand-in.

        It does not if it is a base of a class, which is defined already, or a flag or another value.
        """
        if self.namespace.get(self.name) is not None or self.wanted.is_used:
            return False
        self.namespace[self.name] = self.wanted.again()
        return self.namespace[self.name] is not None


def tried_import(error: BaseException | None) -> TriedImport | None:
    """The name that ``error`` is about, if the program has not got it for lack of an import that it tries."""
    return next((found for cause in causes(error) for found in _behind(cause)), None)


def _behind(error: BaseException) -> Iterator[TriedImport]:
    for frame, line in [*walk_tb(error.__traceback__)][-1:]:
        for name in dict.fromkeys(_names_behind(error, frame, line)):
            if name not in frame.f_locals or frame.f_locals is frame.f_globals:
                yield from _lacking(name, frame.f_globals)
        if isinstance(error, TypeError) and (refused := _OF_OBJECT.match(str(error))):
            first = frame.f_locals.get(next(iter(frame.f_code.co_varnames), ""))  # of a method: the instance
            cls = type(first) if refused[1] == object.__name__ else frame.f_globals.get(refused[1])
            yield from filter(None, [lacking_base(cls)])


def _names_behind(error: BaseException, frame: FrameType, line: int) -> list[str]:
    """The names in the statement that raised ``error`` or in its check, if the error may be for lack of one of them."""
    match error:
        case NameError(name=str(name)):
            return [name]
        case TypeError() | AttributeError() if _OF_NONE.search(str(error)):
            return names_acted_on(frame, line)
        case AssertionError() | ImportError() | RuntimeError() | ValueError():
            return names_in_check(frame, line)
    return []


def lacking_base(cls: Any) -> TriedImport | None:
    """The name of a base in the statement of a class that, for lack of it, has no other base than `object`."""
    if not isinstance(cls, type) or cls.__mro__[1:] != (object,) or cls.__module__ not in sys.modules:
        return None
    namespace = vars(sys.modules[cls.__module__])
    own = [one for one in _tree_of(namespace).body if isinstance(one, ast.ClassDef) and one.name == cls.__name__]
    return next((found for one in own for base in one.bases for found in _lacking(ast.unparse(base), namespace)), None)


def _lacking(name: str, namespace: dict[str, Any]) -> Iterator[TriedImport]:
    """The name, if what the module has for it is nothing, and the module tries to import it."""
    if _is_nothing(namespace.get(name)) and (wanted := _wanted(name, namespace)):
        yield TriedImport(name, namespace, wanted)


def _is_nothing(value: object) -> bool:
    """Whether nothing can be done with a value; a stand-in, which takes note of comparisons, is not compared."""
    return value is None or value is False or value is object


MOST_MODULES = 5
"""Through how many modules a name is followed that one imports from the other."""


def _wanted(name: str, namespace: Mapping[str, Any], most: int = MOST_MODULES) -> _Import | None:
    """What the module tries to import as ``name``, or together with it; None if it tries nothing of the kind.

    If it imports the name from another module of the program, that one may try, or the next, up to ``most`` modules.
    """
    tree = _tree_of(namespace)
    for tries in (node for node in ast.walk(tree) if isinstance(node, ast.Try) and _catches(node)):
        bound = [one for statement in tries.body for one in _imported(statement, namespace)]
        for known, wanted in bound:
            if known == name:
                return wanted
        if bound and any(_assigns(statement, name) for statement in tries.body):
            return replace(bound[0][1], is_used=True)
    for statement in tree.body:
        for known, wanted in _imported(statement, namespace):
            other = vars(sys.modules[wanted.module]) if wanted.module in sys.modules else namespace
            if known == name and wanted.name and other is not namespace and most > 1:
                return _wanted(wanted.name, other, most - 1)
    return None


def _catches(node: ast.Try) -> bool:
    """Whether one of the handlers catches the error of an import."""
    kinds = [ast.Name("Exception") if handler.type is None else handler.type for handler in node.handlers]
    return any(isinstance(part, ast.Name) and part.id in _CATCHING for kind in kinds for part in ast.walk(kind))


def _imported(statement: ast.stmt, namespace: Mapping[str, Any]) -> Iterator[tuple[str, _Import]]:
    """The names that a statement imports, each with what it stands for."""
    line, column = statement.lineno, statement.col_offset
    place = line, column, statement.end_lineno or line, statement.end_col_offset or column
    match statement:
        case ast.Import(names=aliases):
            for alias in aliases:
                top = alias.name.partition(".")[0]
                yield alias.asname or top, _Import(alias.name if alias.asname else top, place=place)
        case ast.ImportFrom(module=module, names=aliases, level=level):
            package = str(namespace.get("__package__") or "")
            above = importlib.util.resolve_name("." * level + (module or ""), package) if package else module or ""
            yield from ((alias.asname or alias.name, _Import(above, alias.name, place=place)) for alias in aliases)


def _assigns(statement: ast.stmt, name: str) -> bool:
    """Whether a statement assigns something to the variable ``name``."""
    return isinstance(statement, ast.Assign) and any(
        isinstance(part, ast.Name) and part.id == name for target in statement.targets for part in ast.walk(target)
    )


def _tree_of(namespace: Mapping[str, Any]) -> ast.Module:
    """The syntax of a module; empty if its source is not known."""
    try:
        return ast.parse("".join(linecache.getlines(str(namespace.get("__file__")))))
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])
