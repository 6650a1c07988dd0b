"""What one text shows of how classes are built, so that it can be done elsewhere: all that a call needs comes along."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import PurePath

from fx_lsp.agent.messages import Recipe, Snippet
from fx_lsp.names import Names, free_names
from fx_lsp.scopes import Place
from fx_lsp.targets.text import Text

_TORCH = "torch."


class Shown:
    """The calls of classes in one text."""

    def __init__(self, path: str, source: str, module: Sequence[str] = ()) -> None:
        """``module`` names the module that ``source`` is, so that others may import from it; empty where it is none.

        Raises SyntaxError and whatever else `ast.parse` does.
        """
        is_package = PurePath(path).name == "__init__.py"
        self._package = tuple(module) if is_package else tuple(module[:-1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(source)
        self.names = Names(tree)
        self._path = path
        self._module = tuple(module)
        self._text = Text(path, source)
        self._calls: dict[str, list[tuple[ast.Call, Place]]] = {}
        for call, place in self.names.calls:
            name = class_of(call)
            if name and not place.expects_error and not (self.names.qualified(call.func) or "").startswith(_TORCH):
                self._calls.setdefault(name, []).append((call, place))

    def recipes(self, name: str) -> Iterator[Recipe]:
        """How it builds the class that it calls ``name``, what it says without a parameter's default first."""
        calls = [(call, place) for call, place in self._calls.get(name, ()) if "super" not in free_names(call)]
        for defaults in (False, True):
            for call, place in calls:
                setup = self.names.setup([call], place, defaults=defaults, alone=True)
                snippets = None if setup is None else self._snippets(setup)
                if snippets is not None:
                    yield Recipe(self._text.snippet(call), snippets, file=self._path)

    def hosts(self, name: str) -> list[str]:
        """The classes of the text, at its top level, in whose bodies ``name`` is called or handed on."""
        return [user for user, used in self._used.items() if name in used and user != name]

    @cached_property
    def _used(self) -> dict[str, set[str]]:
        """By the name of each class at the top level, the names that its body reads."""
        return {
            node.name: free_names(ast.Module(node.body, []))
            for node in self.names.classes
            if node.name in self.names.module.bindings
        }

    def defines(self, name: str) -> bool:
        """Whether it defines the class ``name`` itself, and imports no other of that name."""
        return name in self.names.module.bindings and name not in self.names.imported

    def made_up(self, name: str) -> Recipe | None:
        """The class ``name`` of this text, with arguments to be made up; None where it can't be imported."""
        node = next((node for node in self.names.classes if node.name == name), None)
        if node is None or not self._module:
            return None
        line = self._text.name_span(node).line
        return Recipe(Snippet(name, line), (self._import(name, line),), made_up=True, file=self._path)

    def _snippets(self, statements: Iterable[ast.stmt]) -> tuple[Snippet, ...] | None:
        """The statements as they can be run anywhere; None where one needs the text's own module, and it has none."""
        found = []
        for statement in statements:
            match statement:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    if not self._module:
                        return None
                    found.append(self._import(name, statement.lineno))
                case ast.ImportFrom(level=level) if level:
                    parents = self._package[: len(self._package) - level + 1]
                    if not parents:
                        return None
                    module = ".".join((*parents, *filter(None, [statement.module])))
                    absolute = ast.ImportFrom(module, statement.names, 0)
                    found.append(Snippet(ast.unparse(absolute), statement.lineno))
                case _:
                    found.append(self._text.snippet(statement))
        return tuple(found)

    def _import(self, name: str, line: int) -> Snippet:
        return Snippet(f"from {'.'.join(self._module)} import {name}", line)


def class_of(call: ast.Call) -> str:
    """The class that is called, by its last name, or whose method makes an instance: ``Net.from_name('b0')``."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name.lstrip("_")[:1].isupper():
            return name
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=method):
            if method.startswith("from_") and name.lstrip("_")[:1].isupper():
                return name
    return ""
