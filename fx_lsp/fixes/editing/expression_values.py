"""Determines from the source whether an expression is a shape, a number computed from sizes, or possibly a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing.edited_source import Source

_NUMBER_METHODS = frozenset({"size", "dim", "numel", "ndimension", "item"})
_NUMBER_FUNCTIONS = frozenset({"len", "int", "float", "round", "abs", "min", "max", "sum"})
_NUMBER_MODULES = ("math.", "torch.sym_")
_REDUCTIONS = frozenset(
    {"all", "allclose", "any", "count_nonzero", "equal", "isfinite", "isinf", "isnan", "max", "mean", "min", "norm"}
    | {"prod", "std", "sum", "var"}
)
"""Functions and methods that reduce a tensor to a few elements; conditions on a tensor's elements call them."""


class Values:
    """The values of one file's expressions."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def is_shape(self, node: ast.expr) -> bool:
        """Whether ``node`` is the shape of a tensor, or a part of one: a tuple of sizes."""
        match node:
            case ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size"), args=[], keywords=[]):
                return True
            case ast.Subscript(value=value, slice=ast.Slice()):
                return self.is_shape(value)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return all(self.is_shape(side) or isinstance(side, ast.Tuple) for side in (left, right))
            case ast.Name():
                values = list(self._values(node))
                return bool(values) and all(value is not None and self.is_shape(value) for value in values)
        return False

    def is_number(self, node: ast.expr) -> bool:
        """Whether ``node`` is an integer or a float rather than a tensor."""
        match node:
            case ast.Constant(value=value):
                return type(value) in (int, float)
            case ast.Attribute(attr="ndim"):
                return True
            case ast.Subscript(value=value, slice=index):
                return not isinstance(index, ast.Slice) and self.is_shape(value)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return self.is_number(operand)
            case ast.BinOp(left=left, right=right):
                sides = (left, right)
                return any(map(self.is_number, sides)) and all(self.is_number(s) or _is_setting(s) for s in sides)
            case ast.Call():
                return self._is_number_call(node)
            case ast.Name():
                stores = list(self._stores(node))
                return bool(stores) and all(isinstance(one, ast.Name) and self._is_given_number(one) for one in stores)
        return False

    def is_flag(self, node: ast.expr) -> bool:
        """Whether ``node`` is an attribute of ``self`` that is known to be true or false, not a tensor."""
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                assigned = self.assigned_to_self(node)
                return (name == "training" and not assigned) or (bool(assigned) and all(map(self._is_truth, assigned)))
        return False

    def assigned_to_self(self, node: ast.expr) -> list[ast.expr | None]:
        """What the class around ``node`` assigns to it, an attribute of ``self``; None for what is not known."""
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return list(self._assigned_to_self(node, name))
        return []

    def _assigned_to_self(self, node: ast.expr, name: str) -> Iterator[ast.expr | None]:
        for statement in ast.walk(self._source.enclosing_class(node) or ast.Pass()):
            match statement:
                case ast.Attribute(value=ast.Name(id="self"), attr=attribute, ctx=ast.Store()) if attribute == name:
                    outer = self._source.statement(statement)
                    is_plain = isinstance(outer, ast.Assign) and outer.targets == [statement]
                    yield outer.value if is_plain and isinstance(outer, ast.Assign) else None
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="register_buffer" | "__setattr__")):
                    if any(isinstance(part, ast.Constant) and part.value == name for part in statement.args):
                        yield None

    def _is_truth(self, value: ast.expr | None) -> bool:
        """Whether ``value`` is True or False, or a parameter that is annotated as such or has such a default."""
        match value:
            case ast.Constant(value=bool()):
                return True
            case ast.Name(id=name):
                function = self._source.function(value)
                return function is not None and name in _truths(function.args)
        return False

    def can_be_tensor(self, node: ast.expr) -> bool:
        """Whether ``node`` may be a tensor: it is not a shape, a loop variable, or known to be a list or the like."""
        match node:
            case ast.List() | ast.Tuple() | ast.Dict() | ast.ListComp() | ast.DictComp():
                return False
            case ast.Call(func=ast.Name(id="dict" | "enumerate" | "list" | "map" | "sorted" | "tuple" | "zip")):
                return False
            case ast.Name():
                stores = list(self._stores(node))
                given = [self._value(store) if isinstance(store, ast.Name) else None for store in stores]
                is_item = any(isinstance(store, ast.Name) and self._is_of_loop(store) for store in stores)
                is_annotated = any(isinstance(store, ast.arg) and _is_collection(store.annotation) for store in stores)
                return (
                    not is_item
                    and not is_annotated
                    and all(value is None or self.can_be_tensor(value) for value in given)
                )
        return not self.is_shape(node)

    def reads_elements(self, condition: ast.expr) -> bool:
        """Whether ``condition`` is a tensor that is computed from the elements of other tensors."""
        named = [self.only_value(node) for node in ast.walk(condition) if isinstance(node, ast.Name)]
        parts = [node for part in (condition, *named) if part is not None for node in ast.walk(part)]
        calls = [node for node in parts if isinstance(node, ast.Call)]
        names = {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)}
        return not names.isdisjoint(_REDUCTIONS) and "item" not in names

    def items(self, node: ast.expr) -> list[str] | None:
        """The sizes in a part of a shape, one by one: ``x.shape[-2]`` and ``x.shape[-1]`` for ``x.shape[-2:]``.

        None if the source does not show how many sizes there are.
        """
        match node:
            case ast.Subscript(value=shape, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                bounds = _bounds(lower, upper)
                if bounds and self.is_shape(shape):
                    return [f"{self._source.operand(shape)}[{index}]" for index in range(*bounds)]
            case ast.Name():
                value = self.only_value(node)
                items = self.items(value) if value is not None else None
                return items and [f"{node.id}[{index}]" for index in range(len(items))]
        return None

    def only_value(self, node: ast.expr) -> ast.expr | None:
        """What the enclosing function assigns to ``node``, if ``node`` is a name that it assigns exactly once."""
        values = list(self._values(node)) if isinstance(node, ast.Name) else []
        return values[0] if len(values) == 1 else None

    def _is_number_call(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Attribute(attr="size") if not call.args and not call.keywords:
                return False
            case ast.Attribute(attr=name) if name in _NUMBER_METHODS:
                return True
            case ast.Name(id="min" | "max" | "abs" | "sum"):
                return all(self.is_number(argument) for argument in call.args)
            case ast.Name(id=name) if name in _NUMBER_FUNCTIONS:
                return True
        return (self._source.names.qualified(call.func) or "").startswith(_NUMBER_MODULES)

    def _values(self, name: ast.Name) -> Iterator[ast.expr | None]:
        """What the enclosing function assigns to ``name``; None for anything except a plain assignment."""
        for store in self._stores(name):
            yield self._value(store) if isinstance(store, ast.Name) else None

    def _stores(self, name: ast.Name) -> Iterator[ast.arg | ast.Name]:
        """The nodes at which the enclosing function gives ``name`` a value."""
        for node in ast.walk(self._source.function(name) or ast.Pass()):
            match node:
                case ast.arg(arg=name.id) | ast.Name(id=name.id, ctx=ast.Store()):
                    yield node

    def _is_given_number(self, store: ast.Name) -> bool:
        """Whether the name, which is given a value here, gets a number."""
        match self._source.parent(store):
            case ast.For(iter=iterated) | ast.comprehension(iter=iterated):
                return isinstance(iterated, ast.Call) and self._source.names.qualified(iterated.func) == "range"
        value = self._value(store)
        return value is not None and self.is_number(value)

    def _is_of_loop(self, name: ast.Name) -> bool:
        """Whether ``name`` is the variable of a loop."""
        loops = (outer for outer in self._source.around(name) if isinstance(outer, (ast.For, ast.comprehension)))
        return any(self._source.contains(loop.target, name) for loop in loops)

    def _value(self, target: ast.Name) -> ast.expr | None:
        """The value that ``target`` is assigned."""
        statement = self._source.statement(target)
        # `n = n + 1` shows no more about n than the other assignments do.
        if isinstance(statement, ast.Assign) and target.id in names_in(statement.value):
            return None
        match statement:
            case ast.Assign(targets=targets, value=value) if target in targets:
                return value
            case ast.AnnAssign(value=value):
                return value
            case ast.Assign(targets=[ast.Tuple(elts=elements)], value=value) if target in elements:
                return _element(elements, elements.index(target), value)
        return None


def _truths(arguments: ast.arguments) -> set[str]:
    """The parameters that are True or False."""
    return {
        parameter.arg
        for parameter, default in parameters_of(arguments)
        if (isinstance(parameter.annotation, ast.Name) and parameter.annotation.id == "bool")
        or (isinstance(default, ast.Constant) and isinstance(default.value, bool))
    }


def parameters_of(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Each parameter with its default, except those that are starred."""
    positional = [*arguments.posonlyargs, *arguments.args]
    without: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    yield from zip(positional, [*without, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def _element(elements: list[ast.expr], index: int, value: ast.expr) -> ast.expr | None:
    """The value that ``elements[index]`` is assigned in ``a, b = value``; None if an element is starred."""
    if any(isinstance(element, ast.Starred) for element in elements):
        return None
    if isinstance(value, ast.Tuple) and len(value.elts) == len(elements):
        return value.elts[index]
    return ast.Subscript(value=value, slice=ast.Constant(index), ctx=ast.Load())


def _bounds(lower: ast.expr | None, upper: ast.expr | None) -> tuple[int, int] | None:
    """The start and the end of ``[lower:upper]`` in a tuple that is long enough; None if the source does not say."""
    start = 0 if lower is None else _integer(lower)
    if upper is None:
        return (start, 0) if start is not None and start < 0 else None
    end = _integer(upper)
    if start is None or end is None or (start < 0) != (end < 0):
        return None
    return (start, end) if start < end else None


def _integer(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def _is_collection(annotation: ast.expr | None) -> bool:
    """Whether ``annotation`` names a type of collection, such as a list or a dict."""
    named = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    name = named.attr if isinstance(named, ast.Attribute) else named.id if isinstance(named, ast.Name) else ""
    return name.lower() in ("dict", "iterable", "list", "mapping", "sequence", "size", "tuple")


def _is_setting(node: ast.expr) -> bool:
    """Whether ``node`` is an attribute such as ``self.heads``, which beside a number is usually a number."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)


def names_in(node: ast.expr) -> set[str]:
    """The names in an expression."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
