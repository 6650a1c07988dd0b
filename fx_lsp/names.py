"""What the names of a file stand for at a place of it, and which statements make them so."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from fx_lsp.scopes import Binding, Comprehension, Function, Place, Scope, Walk, bound_names

_OWN_NAMES = (*Function, *Comprehension, ast.ClassDef, ast.Lambda)


class Names:
    """The names of one file."""

    def __init__(self, tree: ast.Module) -> None:
        walk = Walk(tree)
        self.module = walk.module
        self.imported = walk.imported
        self.star_imports = walk.star_imports
        self.calls = walk.calls
        self.classes = walk.classes

    def qualified(self, expression: ast.expr) -> str | None:
        """The dotted name that ``expression`` stands for, through the file's imports: ``torch.fx.Tracer``."""
        if isinstance(expression, ast.Name):
            return self.imported.get(expression.id, expression.id)
        if isinstance(expression, ast.Attribute):
            value = self.qualified(expression.value)
            return value and f"{value}.{expression.attr}"
        return None

    def binding(self, name: str, place: Place) -> Binding | None:
        """What ``name`` was last bound by at ``place``; None for a parameter, a builtin, or where it isn't clear."""
        scope = self.scope_of(name, place)
        if scope is None or name in place.hidden or name in scope.parameters:
            return None
        bindings = [binding for binding in scope.bindings[name] if not binding.is_change]
        if scope is place.scope:
            bindings = [binding for binding in bindings if binding.place.precedes(place)]
        return bindings[-1] if bindings else None

    def setup(
        self, expressions: Iterable[ast.expr], place: Place, *, defaults: bool = False, alone: bool = False
    ) -> list[ast.stmt] | None:
        """The statements to run, in order, before ``expressions`` of ``place`` can be evaluated in the imported file.

        None where that can't be told from the text: a parameter, a loop's variable, a name that one branch binds.
        ``defaults``: a parameter is taken to be its default. ``alone``: what is at hand is not the imported file but
        nothing; a class or a function is then named by its own definition alone.
        """
        needed: dict[ast.stmt, None] = {}
        todo = [(name, place) for expression in expressions for name in free_names(expression)]
        while todo:
            name, at = todo.pop()
            providers = self._default(name, at) if defaults else None
            if providers is None:
                providers = self._providers(name, at, alone=alone)
            if providers is None:
                return None
            for binding in providers:
                if binding.statement not in needed:
                    needed[binding.statement] = None
                    if alone and isinstance(binding.statement, (*Function, ast.ClassDef)):
                        continue
                    todo += [(free, binding.place) for free in free_names(binding.statement)]
        return sorted(needed, key=lambda statement: (statement.lineno, statement.col_offset))

    def scope_of(self, name: str, place: Place) -> Scope | None:
        """The scope that ``name`` belongs to at ``place``; None for a builtin, or what ``import *`` brought."""
        scope: Scope | None = place.scope
        while scope is not None:
            is_visible = not scope.is_class or scope is place.scope
            if is_visible and (name in scope.parameters or name in scope.bindings):
                return scope
            scope = scope.parent
        return None

    def _providers(self, name: str, place: Place, *, alone: bool) -> list[Binding] | None:
        """The statements that give ``name`` its value at ``place``, unless importing has run them; ``alone``: all."""
        if name in place.hidden:
            return None
        scope = self.scope_of(name, place)
        if scope is None:
            return []
        if scope.is_class or name in scope.parameters:
            return None
        bindings = scope.bindings[name]
        changes = [binding for binding in bindings if binding.is_change and place.is_always_after(binding.place)]
        if scope is self.module and not alone and self._is_left_by_import(name, place):
            return [change for change in changes if change.place.in_main]
        last = self.binding(name, place)
        is_definition = alone and last is not None and isinstance(last.statement, (*Function, ast.ClassDef))
        if last is None or not (last.is_simple or is_definition):
            return None
        if any(_fills(other) and other.place.precedes(place) for other in bindings if other not in changes):
            return None
        if scope is place.scope and not place.is_always_after(last.place):
            return None
        return [last, *(change for change in changes if last.place.precedes(change.place))]

    def _default(self, name: str, place: Place) -> list[Binding] | None:
        """The default of the parameter ``name``, where it is one that nothing else is assigned to."""
        scope = self.scope_of(name, place)
        if scope is None or name in place.hidden or name not in scope.defaults or scope.bindings[name]:
            return None
        return [scope.defaults[name]]

    def _is_left_by_import(self, name: str, place: Place) -> bool:
        """Whether importing the file leaves ``name`` with the value that it has at ``place``, a module-level name."""
        bindings = [binding for binding in self.module.bindings[name] if not binding.is_change]
        if place.scope is not self.module:
            return any(not binding.place.in_main for binding in bindings)
        if place.in_main:
            last = self.binding(name, place)
            return last is not None and not last.place.in_main
        return all(binding.place.precedes(place) for binding in bindings)


def _fills(binding: Binding) -> bool:
    """Whether it puts something into what the name stands for: ``layers.append(layer)``."""
    match binding.statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method))):
            return method not in ("eval", "train")
    return False


def free_names(node: ast.AST) -> set[str]:
    """The names that ``node`` reads and does not bind itself in a function, a class or a comprehension of its own."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    names: set[str] = set()
    for child in ast.iter_child_nodes(node):
        names |= free_names(child)
    return names.difference(bound_names(node)) if isinstance(node, _OWN_NAMES) else names


def first_callee(expression: ast.expr) -> ast.expr | None:
    """What is called first in a chain of calls: ``Net`` in ``Net(3).eval().to(device)``; None where nothing is."""
    callee = None
    while isinstance(expression, ast.Call):
        callee = expression.func
        expression = callee.value if isinstance(callee, ast.Attribute) else callee
    return callee
