"""Example inputs: the arguments of a text's calls to what it builds, if they consist of literals.

The text is a file with targets, or another one that shows how to build them (see ``shown_calls.py``).
``net(torch.randn(1, 3, 8, 8))`` is an example for ``symbolic_trace(net)``, and for ``Net(3)`` if ``net`` was created
that way. A call whose callee is uncertain, because of a branch or a parameter, is not used.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

from fx_lsp.agent.messages import Snippet, Target
from fx_lsp.documents.name_resolution import Names, free_names
from fx_lsp.documents.scopes import Binding, CodePlace
from fx_lsp.targets.explicit_targets import SYMBOLIC_TRACE, dotted

_FUNCTIONS = re.compile(
    r"torch\.(?:[a-z_]\w*|\w*Tensor|nn\.Parameter"
    r"|(?:fft|linalg|nested|special|nn\.functional|nn\.utils\.rnn)\.[a-z]\w*)"
)
"""The names of torch's functions and classes, most of which make tensors of their arguments."""

_NO_TENSOR = re.compile(
    r"torch\.(?:autocast|compile|device|enable_grad|from_file|get_\w+|inference_mode|initial_seed|is_\w+|load"
    r"|manual_seed|no_grad|numel|save|seed|set_\w+|typename|\w+_type|vmap)"
)
"""The names of those that do not."""

_PLAIN = re.compile(r"torch\.(?:Size|finfo|iinfo)|numpy\.(?!\w*(?:load|from|save|memmap))(?:random\.)?[a-z]\w*")
"""The names of those that make plain values, and of NumPy's functions, except for those that read files."""

_BUILTINS = frozenset({"bool", "complex", "dict", "float", "int", "list", "range", "set", "slice", "str", "tuple"})

_EXPORTS = frozenset(
    {"torch.export.draft_export", "torch.export.export", "torch.export.export_for_training"}
    | {"torch.jit.trace", "torch.onnx.export"}
)
"""Functions that call their first argument with the items of the second one, or with that itself if it has no items."""

_GIVEN = ("args", "example_inputs")
"""The names of that second parameter."""

_KEYWORDS = ("kwargs", "example_kwarg_inputs")
"""The names of the parameter for the keyword arguments, which is the third one of `torch.export`'s functions."""

_SAME = SYMBOLIC_TRACE | {"copy.deepcopy", "torch.compile", "torch.jit.script", "torch.nn.DataParallel"}
"""Functions and classes that return something that is called as their first argument is."""

_RETURNING_SELF = frozenset(
    {"bfloat16", "cpu", "cuda", "double", "eval", "float", "half", "requires_grad_", "to", "train"}
)
"""Methods of a module that return the module."""

_MOVING = frozenset({"cpu", "cuda", "to"})
"""Methods of a tensor that return it on another device."""

_LITERALS = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.List, ast.Dict, ast.Set)
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
            shown = self._call_of_exported(call, place) or call
            arguments = None if place.expects_error else _literal_arguments(shown, place, self._names)
            if arguments is not None and (thing := self._callee(shown.func, place)):
                yield thing, Snippet(arguments, call.lineno)

    def _call_of_exported(self, call: ast.Call, place: CodePlace) -> ast.Call | None:
        """For ``export(net, (x,), {"mask": m})``, the call ``net(x, mask=m)`` that it makes; None for another call."""
        function = self._names.qualified(call.func)
        if function not in _EXPORTS or not call.args:
            return None
        root, *rest = call.args
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        given = rest[0] if rest else next((named[name] for name in _GIVEN if name in named), None)
        keywords = next((named[name] for name in _KEYWORDS if name in named), None)
        if keywords is None and len(rest) > 1 and function.startswith("torch.export."):
            keywords = rest[1]
        try:
            args = _items(given and _Inlining(place, self._names).visit(given))
            kwargs = _entries(keywords and _Inlining(place, self._names).visit(keywords))
            if function == "torch.onnx.export" and args and isinstance(args[-1], ast.Dict):
                kwargs = [*_entries(args.pop()), *kwargs]
        except LookupError:
            return None
        return ast.Call(root, args, kwargs)

    def _callee(self, expression: ast.expr, place: CodePlace) -> _Callee | None:
        match expression:
            case ast.Name(id=name):
                return self._named(name, place)
            case ast.Attribute(value=inner, attr="forward"):
                return self._callee(inner, place)
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _RETURNING_SELF:
                return self._callee(inner, place)
            case ast.Call(func=function, args=[root, *_]) if dotted(function, self._names) in _SAME:
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


def _named(name: str) -> ast.expr:
    """The expression that is a dotted name."""
    return ast.parse(name, mode="eval").body


def _items(given: ast.expr | None) -> list[ast.expr]:
    """The arguments that an export is given: those in a tuple or list, or one. Raises LookupError if unclear."""
    match given:
        case None | ast.Constant(value=None):
            return []
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return list(items)
        case ast.Call(func=ast.Name()):  # such as `tuple(…)`
            raise LookupError
    return [given]


def _entries(given: ast.expr | None) -> list[ast.keyword]:
    """The keyword arguments in a dict. Raises LookupError if it is none, or if its keys are no parameters' names."""
    match given:
        case None | ast.Constant(value=None):
            return []
        case ast.Dict(keys=keys, values=values):
            texts = [key.value for key in keys if isinstance(key, ast.Constant)]
            names = [text for text in texts if isinstance(text, str) and text.isidentifier() and not iskeyword(text)]
            if len(names) == len(keys):
                return [ast.keyword(name, value) for name, value in dict(zip(names, values, strict=True)).items()]
    raise LookupError


def _literal_arguments(call: ast.Call, place: CodePlace, names: Names) -> str | None:
    """The arguments of ``call`` in parentheses, if they consist of literals and create a tensor; None otherwise."""
    bare = ast.Call(ast.Name("forward"), call.args, call.keywords)
    inlining = _Inlining(place, names)
    try:
        inlining.inline_arguments(bare)
    except LookupError:
        return None
    if len({keyword.arg for keyword in bare.keywords}) < len(bare.keywords):
        return None
    return ast.unparse(bare).removeprefix("forward") if inlining.makes_tensor else None


class _Inlining(ast.NodeTransformer):
    """Replaces names with what they were assigned, in a copy. Raises LookupError if something is not a literal."""

    def __init__(self, place: CodePlace, names: Names) -> None:
        self._place = place
        self._names = names
        self.makes_tensor = False
        """Whether the visited code makes a tensor."""

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
        if isinstance(value, ast.List | ast.Dict | ast.Set) and self._is_changed(binding):
            raise LookupError
        self.makes_tensor |= there.makes_tensor
        return value

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Keep attributes of torch and NumPy, such as ``torch.long``."""
        name = self._names.qualified(node) or ""
        if not name.startswith(("torch.", "numpy.")):
            raise LookupError
        return _named(name)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Keep calls that make tensors, arrays and plain values of literals, and calls to their methods."""
        function = self._names.qualified(node.func) or ""
        if _PLAIN.fullmatch(function) or (_FUNCTIONS.fullmatch(function) and not _NO_TENSOR.fullmatch(function)):
            self.makes_tensor |= _PLAIN.fullmatch(function) is None
            node.func = _named(function)  # the names of the file that imports it mean nothing elsewhere
        elif self._is_builtin(node.func):
            pass
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _MOVING:
            return self._unmoved(node, node.func.value, node.func.attr)
        elif isinstance(node.func, ast.Attribute):
            node.func = ast.Attribute(self.visit(node.func.value), node.func.attr)
        else:
            raise LookupError
        self.inline_arguments(node)
        return node

    def _is_builtin(self, function: ast.expr) -> bool:
        """Whether ``function`` is Python's own function that makes a value of literals."""
        name = function.id if isinstance(function, ast.Name) else ""
        is_free = name not in self._place.hidden and self._names.scope_of(name, self._place) is None
        return name in _BUILTINS and is_free

    def _is_changed(self, binding: Binding) -> bool:
        """Whether a statement changes the list, dict or set that a name was bound to, wherever that is."""
        return any(other.is_change for other in binding.place.scope.bindings[binding.name])

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
        """Replace names in the arguments of ``call``, but not in its callee, and unpack what has a star."""
        args, keywords = call.args, call.keywords
        call.args = [one for argument in args for one in self._unpacked(argument)]
        # A device counts for nothing: all example inputs are on the CPU.
        kept = [keyword for keyword in keywords if keyword.arg != "device"]
        call.keywords = [one for keyword in kept for one in self._keywords(keyword)]

    def _unpacked(self, argument: ast.expr) -> list[ast.expr]:
        if not isinstance(argument, ast.Starred):
            return [self.visit(argument)]
        match self.visit(argument.value):
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return items
        raise LookupError

    def _keywords(self, keyword: ast.keyword) -> list[ast.keyword]:
        value = self.visit(keyword.value)
        return [ast.keyword(keyword.arg, value)] if keyword.arg is not None else _entries(value)
