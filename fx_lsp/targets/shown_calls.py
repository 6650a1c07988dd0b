"""How one text builds classes, as recipes for other files: each recipe includes everything that its call needs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import PurePath

from fx_lsp.agent.messages import Recipe, Snippet
from fx_lsp.documents.name_resolution import Names, free_names
from fx_lsp.documents.parse import syntax_tree
from fx_lsp.documents.scopes import CodePlace
from fx_lsp.targets.example_calls import ExampleCalls
from fx_lsp.targets.text_spans import SourceText


class ShownCalls:
    """The calls to classes in one text."""

    def __init__(self, path: str, source: str, module: Sequence[str] = ()) -> None:
        """``module``: the parts of the dotted name by which ``source`` is imported; empty if it cannot be imported.

        Raises SyntaxError and any other error that `ast.parse` raises.
        """
        is_package = PurePath(path).name == "__init__.py"
        self._package = tuple(module) if is_package else tuple(module[:-1])
        self._tree = syntax_tree(source)
        self.names = Names(self._tree)
        self._path = path
        self._module = tuple(module)
        self._text = SourceText(path, source)
        self._calls: dict[str, list[tuple[ast.Call, CodePlace]]] = {}
        for call, place in self.names.calls:
            name = self._class_of(call)
            if name and not place.expects_error and not (self.names.qualified(call.func) or "").startswith("torch."):
                self._calls.setdefault(name, []).append((call, place))

    def recipes(self, name: str) -> Iterator[Recipe]:
        """How the text builds the class ``name``; calls that do not depend on the default of a parameter come first."""
        calls = [(call, place) for call, place in self._calls.get(name, ()) if "super" not in free_names(call)]
        for defaults in (False, True):
            for call, place in calls:
                setup = self.names.setup([call], place, defaults=defaults, alone=True)
                snippets = None if setup is None else self._snippets(setup)
                if snippets is not None:
                    inputs = self._examples.inputs_of(call, place)
                    yield Recipe(self._text.snippet(call), snippets, inputs=inputs, file=self._path)

    def factories(self, name: str, *, own: bool) -> Iterator[Recipe]:
        """The module-level functions that call the class ``name`` and return something, with invented arguments.

        ``own``: whether the class is in this text.
        """
        found: dict[str, int] = {}
        for _, place in self._calls.get(name, ()):
            function = self.names.function_around(place)
            if function is not None and any(isinstance(node, ast.Return) for node in ast.walk(function)):
                found.setdefault(function.name, function.lineno)
        for function_name, line in found.items():
            if own:
                yield Recipe(Snippet(function_name, line), made_up=True)
            elif self._module:
                setup = (self._import(function_name, line),)
                yield Recipe(Snippet(function_name, line), setup, made_up=True, file=self._path)

    def functions_returning(self, name: str) -> list[str]:
        """The module-level functions that return what they call the class ``name`` for."""
        found: dict[str, None] = {}
        for call, place in self._calls.get(name, ()):
            function = self.names.function_around(place)
            if function is not None and function.name != name and _returns(function, call, place):
                found[function.name] = None
        return list(found)

    def hosts(self, name: str) -> list[str]:
        """The other top-level classes of the text whose bodies read ``name``, to call it or to pass it on."""
        return [user for user, used in self._used.items() if name in used and user != name]

    def imported_as(self, name: str) -> str | None:
        """The qualified name of the class ``name`` that the text imports, or reads from a module."""
        return self.names.imported.get(name) or self._from_modules.get(name)

    @cached_property
    def _examples(self) -> ExampleCalls:
        return ExampleCalls(self.names)

    @cached_property
    def _from_modules(self) -> dict[str, str]:
        """The names of classes that the text reads from modules -> the qualified names."""
        return dict(self._read_from_modules(self._tree))

    def _read_from_modules(self, tree: ast.AST) -> Iterator[tuple[str, str]]:
        """What looks like a class and is an attribute of something imported, e.g. ``blocks.Block``: both names."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and _looks_like_class(node.attr):
                name = self.names.qualified(node)
                if name and _first(node) in self.names.imported:
                    yield node.attr, name

    @cached_property
    def _used(self) -> dict[str, set[str]]:
        """The name of each top-level class -> the names that its body reads, also from modules."""
        return {
            node.name: free_names(ast.Module(node.body, [])).union(dict(self._read_from_modules(node)))
            for node in self.names.classes
            if node.name in self.names.module.bindings
        }

    def defines(self, name: str) -> bool:
        """Whether the text defines ``name`` itself and does not import anything by that name."""
        return name in self.names.module.bindings and name not in self.names.imported

    def made_up(self, name: str) -> Recipe | None:
        """A recipe for the class ``name`` of this text with invented arguments; None if it cannot be imported."""
        node = next((node for node in self.names.classes if node.name == name), None)
        if node is None or not self._module:
            return None
        line = self._text.name_span(node).line
        return Recipe(Snippet(name, line), (self._import(name, line),), made_up=True, file=self._path)

    def _class_of(self, call: ast.Call) -> str:
        """The unqualified name in a call of what may be a class, such as ``models.Net(3)`` or ``Net.from_name('b0')``.

        Empty if it can't be one: ``x.view(3)``. The name of a class may begin with a small letter: ``moving_avg(25)``.
        """
        match call.func:
            case ast.Name(id=name) | ast.Attribute(attr=name) if _looks_like_class(name):
                return name
            case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=method):
                if method.startswith("from_") and _looks_like_class(name):
                    return name
                return method if name in self.names.imported else ""
            case ast.Name(id=name):
                return name
        return ""

    def _snippets(self, statements: Iterable[ast.stmt]) -> tuple[Snippet, ...] | None:
        """The statements, adapted to run in any file; None if one needs a module that cannot be imported by name."""
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


def _returns(function: ast.FunctionDef, call: ast.Call, place: CodePlace) -> bool:
    """Whether a function returns the result of ``call``, which is in the statement at ``place``."""
    match place.statement:
        case ast.Return(value=value):
            return value is call
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
            returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
            return any(isinstance(value, ast.Name) and value.id == name for value in returned)
    return False


def _first(node: ast.expr) -> str:
    """The first name of a dotted name; empty if ``node`` is none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _looks_like_class(name: str) -> bool:
    return name.lstrip("_")[:1].isupper()
