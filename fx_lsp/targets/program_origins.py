"""What an expression is made of: the classes, functions and variables of the module level that its value may come from.

``wrap(net).eval()`` is made of ``wrap`` and ``net``; if ``net = Net(Block())``, then also of ``Net`` and ``Block``. The
result errs on the side of too much: a name may also be only an argument.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from fx_lsp.documents.name_resolution import Names, free_names
from fx_lsp.documents.scopes import Binding, CodePlace, Function, Scope


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function at the top level of a file."""

    function: str
    position: int
    name: str

    def argument(self, call: ast.Call) -> ast.expr | None:
        """What a call to the function passes for the parameter, if the call shows it."""
        given = call.args[: self.position + 1]
        if any(isinstance(argument, ast.Starred) for argument in given):
            return None
        if len(given) > self.position:
            return given[self.position]
        return next((keyword.value for keyword in call.keywords if keyword.arg == self.name), None)


class Origins:
    """The origins of expressions in one file."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._places = {id(call): place for call, place in names.calls}

    def of(self, expression: ast.AST, place: CodePlace) -> tuple[frozenset[str], frozenset[Parameter]]:
        """The dotted names that the value of ``expression`` at ``place`` may come from, and the parameters.

        A name that the file imports is the name that it is imported from; other names are the file's own.
        """
        found: set[str] = set()
        passed: set[Parameter] = set()
        todo, seen = [(expression, place)], set()
        while todo:
            node, at = todo.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            for chain in chains(node):
                head = chain.partition(".")[0]
                scope = self._names.scope_of(head, at)
                if head in at.hidden:
                    continue
                if scope is None:
                    found.add(chain)
                elif head in scope.parameters:
                    todo += self._of_parameter(chain, scope, found, passed)
                else:
                    todo += self._of_name(chain, scope, found)
        return frozenset(found), frozenset(passed)

    def _of_name(self, chain: str, scope: Scope, found: set[str]) -> Iterator[tuple[ast.AST, CodePlace]]:
        """What the statements that bind a name assign to it; a name of the module level is also ``found``."""
        head, _, rest = chain.partition(".")
        for binding in scope.bindings[head]:
            statement = binding.statement
            if isinstance(statement, ast.Import | ast.ImportFrom):
                origin = self._names.imported.get(head, head)
                found.add(f"{origin}.{rest}" if rest else origin)
            elif scope is self._names.module:
                found.add(head)
            if not binding.is_change and not (
                isinstance(statement, (ast.ClassDef, *Function)) and scope.parent is None
            ):
                yield from ((value, binding.place) for value in _values(binding))

    def _of_parameter(
        self, chain: str, scope: Scope, found: set[str], passed: set[Parameter]
    ) -> Iterator[tuple[ast.AST, CodePlace]]:
        """What the file passes for a parameter; ``self`` is the class, and ``self.net`` what is assigned to it."""
        head, _, rest = chain.partition(".")
        owner, _, method = scope.prefix.removesuffix(".<locals>.").rpartition(".")
        if head in ("self", "cls") and owner and scope.parent and scope.parent.is_class:
            if rest in ("", "forward"):
                found.add(owner)
            else:
                yield from self._assigned(owner, rest.partition(".")[0])
            return
        if owner:
            return  # a method, or a function within another one
        parameter = self._parameter(method, head)
        if parameter is None:
            return
        passed.add(parameter)
        for call, place in self._names.calls:
            if isinstance(call.func, ast.Name) and call.func.id == method and (argument := parameter.argument(call)):
                yield argument, place
        if default := scope.defaults.get(head):
            yield from ((value, default.place) for value in _values(default))

    def _parameter(self, function: str, name: str) -> Parameter | None:
        bindings = self._names.module.bindings.get(function)
        node = bindings[-1].statement if bindings else None
        if not isinstance(node, Function):
            return None
        ordered = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        return Parameter(function, ordered.index(name) if name in ordered else len(ordered), name)

    def _assigned(self, owner: str, attribute: str) -> Iterator[tuple[ast.AST, CodePlace]]:
        """The calls whose results the methods of a class assign to an attribute of ``self``."""
        node = next((node for node in self._names.classes if node.name == owner), None)
        for statement in ast.walk(node) if node else ():
            match statement:
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Call() as made
                ):
                    if name == attribute:
                        yield made, self._places[id(made)]


def chains(node: ast.AST) -> Iterator[str]:
    """The free names that ``node`` reads, each with the attributes that follow it, such as ``models.Net``.

    A decorator or a base is read, too; an attribute whose object is not a name is left out.
    """
    free = free_names(node)
    inner: set[int] = set()
    for child in ast.walk(node):
        if id(child) in inner or not isinstance(child, ast.Name | ast.Attribute):
            continue
        parts: list[str] = []
        value: ast.expr = child
        while isinstance(value, ast.Attribute):
            parts.insert(0, value.attr)
            value = value.value
            inner.add(id(value))
        if isinstance(value, ast.Name) and value.id in free:
            yield ".".join((value.id, *parts))


def _values(binding: Binding) -> list[ast.AST]:
    """The expressions whose values a statement binds, or parts of whose values it binds."""
    match binding.statement:
        case ast.Assign(value=value) | ast.For(iter=value) | ast.AsyncFor(iter=value):
            return [value]
        case ast.AnnAssign(value=ast.expr() as value):
            return [value]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return [item.context_expr for item in items]
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() as definition:
            return [definition]
    return []
