"""Example inputs: the arguments of a text's calls to what it builds, if they consist of literals.

The text is a file with targets, or another one that shows how to build them (see ``shown_calls.py``).
``net(torch.randn(1, 3, 8, 8))`` is an example for ``symbolic_trace(net)``, and for ``Net(3)`` if ``net`` was created
that way. A call whose callee is uncertain, because of a branch or a parameter, is not used.
"""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fx_lsp.agent.messages import Snippet, Target
from fx_lsp.documents.name_resolution import Names, free_names
from fx_lsp.documents.scopes import Binding, CodePlace
from fx_lsp.targets.explicit_targets import SYMBOLIC_TRACE, dotted

_FACTORIES = frozenset(
    f"torch.{name}"
    for name in (
        *("arange", "empty", "full", "linspace", "ones", "rand", "randint", "randn", "randperm", "tensor", "zeros"),
        *("BoolTensor", "FloatTensor", "IntTensor", "LongTensor"),
    )
)
_EXPORTS = frozenset({"torch.export.export", "torch.onnx.export"})
"""Functions that call their first argument with the items of the second one."""

_RETURNING_SELF = frozenset(
    {"bfloat16", "cpu", "cuda", "double", "eval", "float", "half", "requires_grad_", "to", "train"}
)
"""Methods of a module that return the module."""

_MOVING = frozenset({"cpu", "cuda", "to"})
"""Methods of a tensor that return it on another device."""

_LITERALS = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.List, ast.Dict)
"""Expressions that are literals if their parts are."""


@dataclass(frozen=True)
class _Callee:
    """A function, or a module identified by the call that creates it; equal callees stand for the same object."""

    source: str
    statement: ast.stmt | None
    """The statement that contains or binds it; None if the same text means the same thing everywhere in the file."""


def with_examples(targets: Iterable[Target], names: Names) -> list[Target]:
    """The targets, each with the inputs of the first example call to its root; a target that has inputs keeps them."""
    examples = ExampleCalls(names)
    return [target if target.recipe.inputs else examples.given_to(target) for target in targets]


class ExampleCalls:
    """The calls in one text that have literal arguments."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._places = {(call.lineno, call.col_offset): place for call, place in names.calls}
        self._end = CodePlace(names.module, ast.Pass(lineno=sys.maxsize, col_offset=0))
        self._calls = list(self._literal_calls())

    def given_to(self, target: Target) -> Target:
        """``target`` with its root's inputs, if known. The root is resolved at its call, or at the end of the file."""
        place = self._places.get((target.span.line, target.span.col), self._end)
        inputs = self.inputs_of(ast.parse(target.recipe.root.source.strip(), mode="eval").body, place)
        return dataclasses.replace(target, recipe=dataclasses.replace(target.recipe, inputs=inputs))

    def inputs_of(self, root: ast.expr, place: CodePlace) -> Snippet | None:
        """The arguments of the first example call to what ``root`` stands for at ``place``; None if there is none."""
        callee = self._callee(root, place)
        return next((inputs for thing, inputs in self._calls if thing == callee), None)

    def _literal_calls(self) -> Iterator[tuple[_Callee, Snippet]]:
        for call, place in self._names.calls:
            shown = self._call_of_exported(call) or call
            arguments = None if place.expects_error else _literal_arguments(shown, place, self._names)
            if arguments is not None and (thing := self._callee(shown.func, place)):
                yield thing, Snippet(arguments, call.lineno)

    def _call_of_exported(self, call: ast.Call) -> ast.Call | None:
        """For ``export(net, (x,))``, the call ``net(x)`` that it makes; None for any other call."""
        match call:
            case ast.Call(func=function, args=[root, ast.Tuple(elts=given), *_]):
                return ast.Call(root, given, []) if self._names.qualified(function) in _EXPORTS else None
        return None

    def _callee(self, expression: ast.expr, place: CodePlace) -> _Callee | None:
        match expression:
            case ast.Name(id=name):
                return self._named(name, place)
            case ast.Attribute(value=inner, attr="forward"):
                return self._callee(inner, place)
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _RETURNING_SELF:
                return self._callee(inner, place)
            case ast.Call(func=function, args=[root, *_]) if dotted(function, self._names) in SYMBOLIC_TRACE:
                return self._callee(root, place)
            case ast.Call():
                is_clear = all(self._is_defined_once(name, place) for name in free_names(expression))
                return _Callee(ast.unparse(expression), None if is_clear else place.statement)
        return None

    def _named(self, name: str, place: CodePlace) -> _Callee | None:
        binding = _sure_binding(name, place, self._names)
        if binding is None or isinstance(binding.statement, ast.ClassDef):
            return None
        return self._callee(binding.value, binding.place) if binding.value else _Callee(name, binding.statement)

    def _is_defined_once(self, name: str, place: CodePlace) -> bool:
        """Whether ``name`` is a class, function or import of the module, so that it means the same everywhere."""
        binding = _sure_binding(name, place, self._names)
        return binding is not None and binding.value is None and binding.place.scope is self._names.module


def _sure_binding(name: str, place: CodePlace, names: Names) -> Binding | None:
    """The binding of ``name`` at ``place``, if no other binding can apply there."""
    binding = names.binding(name, place)
    if binding is None:
        return None
    if binding.place.scope is place.scope:
        return binding if place.is_always_after(binding.place) else None
    others = [other for other in binding.place.scope.bindings[name] if not other.is_change]
    return binding if others == [binding] else None


def _assigned(binding: Binding) -> ast.expr | None:
    """The value that a binding gives to its name, also as one of several: ``batch, width = 2, 8``; None if unclear."""
    match binding.statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            pairs = zip(targets, values, strict=True)
            found = [value for one, value in pairs if isinstance(one, ast.Name) and one.id == binding.name]
            return found[0] if len(found) == 1 else None
    return binding.value


def _literal_arguments(call: ast.Call, place: CodePlace, names: Names) -> str | None:
    """The arguments of ``call`` in parentheses, if they consist of literals and create a tensor; None otherwise."""
    bare = ast.Call(ast.Name("forward"), call.args, call.keywords)
    inlining = _Inlining(place, names)
    try:
        inlining.inline_arguments(bare)
    except LookupError:
        return None
    return ast.unparse(bare).removeprefix("forward") if inlining.makes_tensor else None


class _Inlining(ast.NodeTransformer):
    """Replaces names with what they were assigned, in a copy. Raises LookupError if something is not a literal."""

    def __init__(self, place: CodePlace, names: Names) -> None:
        self._place = place
        self._names = names
        self.makes_tensor = False
        """Whether the visited code calls one of torch's factories."""

    def visit(self, node: ast.AST) -> Any:
        """Visit a copy of ``node``. Raises LookupError, before copying it, if it cannot be a literal."""
        if isinstance(node, ast.expr):
            if not isinstance(node, (*_LITERALS, ast.Name, ast.Attribute, ast.Call)):
                raise LookupError
            kind: Any = type(node)
            node = kind(*([*value] if isinstance(value, list) else value for _, value in ast.iter_fields(node)))
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        """Replace a name with the literal that it was assigned."""
        binding = _sure_binding(node.id, self._place, self._names)
        assigned = None if binding is None else _assigned(binding)
        if binding is None or assigned is None:
            raise LookupError
        there = _Inlining(binding.place, self._names)
        value = there.visit(assigned)
        self.makes_tensor |= there.makes_tensor
        return value

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Keep attributes of torch, such as ``torch.long``."""
        if not (self._names.qualified(node) or "").startswith("torch."):
            raise LookupError
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Keep calls to torch's factories, and to methods of their results."""
        if self._names.qualified(node.func) in _FACTORIES:
            self.makes_tensor = True
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _MOVING:
            return self._unmoved(node, node.func.value, node.func.attr)
        elif isinstance(node.func, ast.Attribute):
            node.func = ast.Attribute(self.visit(node.func.value), node.func.attr)
        else:
            raise LookupError
        self.inline_arguments(node)
        return node

    def _unmoved(self, call: ast.Call, tensor: ast.expr, method: str) -> ast.expr:
        """A call of ``method``, which may move ``tensor`` to a device; only ``tensor`` if the device is no literal."""
        unmoved: ast.expr = self.visit(tensor)
        moved = ast.Call(ast.Attribute(unmoved, method), call.args, call.keywords)
        try:
            self.inline_arguments(moved)
        except LookupError:
            return unmoved
        return moved

    def inline_arguments(self, call: ast.Call) -> None:
        """Replace names in the arguments of ``call``, but not in its callee."""
        if any(keyword.arg is None for keyword in call.keywords):
            raise LookupError
        call.args = [self.visit(argument) for argument in call.args]
        # A device counts for nothing: all example inputs are on the CPU.
        keywords = [keyword for keyword in call.keywords if keyword.arg != "device"]
        call.keywords = [ast.keyword(keyword.arg, self.visit(keyword.value)) for keyword in keywords]
