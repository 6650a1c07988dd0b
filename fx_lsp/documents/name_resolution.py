"""Resolves a file's names: what they refer to at a given place, and which statements give them their values."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

from fx_lsp.documents.scopes import Binding, CodePlace, Comprehension, Function, Scope, ScopeVisitor, bound_names

_OWN_NAMES = (*Function, *Comprehension, ast.ClassDef, ast.Lambda)


class Names:
    """The names of one file."""

    def __init__(self, tree: ast.Module) -> None:
        walk = ScopeVisitor(tree)
        self.module = walk.module
        self.imported = walk.imported
        self.star_imports = walk.star_imports
        self.calls = walk.calls
        self.classes = walk.classes

    def qualified(self, expression: ast.expr) -> str | None:
        """The dotted name that ``expression`` refers to, e.g. ``torch.fx.Tracer``; None if it isn't a dotted name."""
        if isinstance(expression, ast.Name):
            return self.imported.get(expression.id, expression.id)
        if isinstance(expression, ast.Attribute):
            value = self.qualified(expression.value)
            return value and f"{value}.{expression.attr}"
        return None

    def binding(self, name: str, place: CodePlace) -> Binding | None:
        """The last binding of ``name`` before ``place``; None if no statement binds it, e.g. for a parameter."""
        scope = self.scope_of(name, place)
        if scope is None or name in place.hidden or name in scope.parameters:
            return None
        bindings = [binding for binding in scope.bindings[name] if not binding.is_change]
        if scope is place.scope:
            bindings = [binding for binding in bindings if binding.place.precedes(place)]
        return bindings[-1] if bindings else None

    def function_around(self, place: CodePlace) -> ast.FunctionDef | None:
        """The module-level function, if any, that ``place`` is in; not for a place in a function or class in it."""
        name = place.scope.prefix.partition(".<locals>.")[0]
        if place.scope.prefix != f"{name}.<locals>." or "." in name:
            return None
        found = [binding.statement for binding in self.module.bindings.get(name, ())]
        return found[-1] if found and isinstance(found[-1], ast.FunctionDef) else None

    def setup(
        self, expressions: Iterable[ast.expr], place: CodePlace, *, defaults: bool = False, alone: bool = False
    ) -> list[ast.stmt] | None:
        """The statements to run, in order, before ``expressions`` at ``place`` can be evaluated in the imported file.

        None if the text does not show a value: for a parameter, a loop's variable, a name that only one branch binds.
        ``defaults``: assume that each parameter has its default, and each loop is in its first turn. ``alone``: the
        file is not imported, so include every statement that is needed, except those that the definition of a class or
        a function needs in turn.
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

    def scope_of(self, name: str, place: CodePlace) -> Scope | None:
        """The scope that ``name`` belongs to at ``place``; None for a builtin or a name from ``import *``."""
        scope: Scope | None = place.scope
        while scope is not None:
            is_visible = not scope.is_class or scope is place.scope
            if is_visible and (name in scope.parameters or name in scope.bindings):
                return scope
            scope = scope.parent
        return None

    def _providers(self, name: str, place: CodePlace, *, alone: bool) -> list[Binding] | None:
        """The statements that give ``name`` its value at ``place``; None if the text does not show them.

        Unless ``alone``, statements are left out if importing the file leaves ``name`` with the same value.
        """
        if name in place.hidden:
            return None
        scope = self.scope_of(name, place)
        if scope is None:
            return [] if not alone or hasattr(builtins, name) else self.star_imports
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

    def _default(self, name: str, place: CodePlace) -> list[Binding] | None:
        """The default of the parameter ``name``, if nothing else is assigned to it, or a loop's first value."""
        scope = self.scope_of(name, place)
        if scope is None or name in place.hidden:
            return None
        if name in scope.defaults and not scope.bindings[name]:
            return [scope.defaults[name]]
        last = self.binding(name, place)
        turns = [turn for turn in scope.first_turns[name] if place.is_always_after(turn.place)]
        is_last = bool(turns) and (last is None or last.place.precedes(turns[-1].place))
        return turns[-1:] if is_last else None

    def _is_left_by_import(self, name: str, place: CodePlace) -> bool:
        """Whether the module-level ``name`` has the same value after importing the file as at ``place``."""
        bindings = [binding for binding in self.module.bindings[name] if not binding.is_change]
        if place.scope is not self.module:
            return any(not binding.place.in_main for binding in bindings)
        if place.in_main:
            last = self.binding(name, place)
            return last is not None and not last.place.in_main
        return all(binding.place.precedes(place) for binding in bindings)


def _fills(binding: Binding) -> bool:
    """Whether a binding's statement adds something to its object, e.g. ``layers.append(layer)``."""
    match binding.statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method))):
            return method not in ("eval", "train")
    return False


def free_names(node: ast.AST) -> set[str]:
    """The names that ``node`` reads, except those that a function, class or comprehension in it binds."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    names: set[str] = set()
    for child in ast.iter_child_nodes(node):
        names |= free_names(child)
    return names.difference(bound_names(node)) if isinstance(node, _OWN_NAMES) else names


def first_callee(expression: ast.expr) -> ast.expr | None:
    """The first callee in a chain of calls: ``Net`` in ``Net(3).eval().to(device)``; None if nothing is called."""
    callee = None
    while isinstance(expression, ast.Call):
        callee = expression.func
        expression = callee.value if isinstance(callee, ast.Attribute) else callee
    return callee
