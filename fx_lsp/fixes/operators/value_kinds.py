"""Determines from the source which values are tensors, and which are numbers, for the signature of an operator."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal

from fx_lsp.documents.scopes import Function
from fx_lsp.fixes.editing.edited_source import Source
from fx_lsp.fixes.editing.expression_values import names_in, parameters_of
from fx_lsp.fixes.operators.integer_tensors import integer_part, is_named_like_integers, makes_integers

Kind = Literal["tensor", "int", "float", "number", "bool"]
"""``number`` is an integer or a float: other callers may pass the other one."""

_NUMBERS = frozenset({"int", "float", "number"})

_RESULTS: dict[str, Kind | None] = {
    **dict.fromkeys(("bool", "hasattr", "isinstance"), "bool"),
    **dict.fromkeys(("dim", "int", "len", "ndimension", "numel"), "int"),
    **dict.fromkeys(("float", "time"), "float"),
    **dict.fromkeys(("chunk", "get", "get_device", "item", "items", "keys", "numpy", "split", "tolist", "type"), None),
    **dict.fromkeys(("decode", "encode", "format", "join", "lower", "replace", "strip", "unbind", "upper"), None),
    **dict.fromkeys(("dict", "enumerate", "filter", "frozenset", "list", "map", "open", "range", "reversed"), None),
    **dict.fromkeys(("round", "set", "sorted", "str", "super", "tuple", "values", "zip"), None),
}
"""What functions and methods return that do not return tensors; None for what is no number or depends on arguments."""

_ATTRIBUTES: dict[str, Kind] = {
    "ndim": "int",
    **dict.fromkeys(("T", "data", "imag", "mT", "real", "running_mean", "running_var", "weight"), "tensor"),
}

_MOST_LOOKUPS = 3000
"""How many names are looked up for one failure; after that, nothing more is found out."""


@dataclass(frozen=True)
class _Bound:
    """What gives a name a value."""

    how: Literal["parameter", "value", "part", "item", "added"]
    """``part``: it is one of several targets of an assignment; ``item``: it is a target of a loop; ``added``: by ``+=``
    or the like."""
    node: ast.AST
    """The parameter, target or statement."""
    value: ast.expr | None
    """The default, or what is assigned, iterated over or added."""
    at: int = 0
    """The index among several targets."""


@dataclass
class _Lookups:
    """The lookups in all functions of a class."""

    left: int = _MOST_LOOKUPS
    known: dict[tuple[ast.AST, str], Kind | None] = field(default_factory=dict)
    open: list[tuple[ast.AST, str]] = field(default_factory=list)
    """Those that have begun."""
    cut: set[tuple[ast.AST, str]] = field(default_factory=set)
    """Those of these on which others depend that have ended."""


class ValueKinds:
    """The kinds of the values in one function; what no annotation or assignment shows to be something else is a tensor.

    The kind is None for what is neither a tensor nor a number, and for numbers of which it is not known what they are.
    """

    def __init__(
        self, source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef, lookups: _Lookups | None = None
    ) -> None:
        self._source = source
        self._function = function
        self._lookups = lookups or _Lookups()
        self._bound: dict[str, list[_Bound]] = {}
        for name, bound in _bindings(function):
            self._bound.setdefault(name, []).append(bound)

    @property
    def names(self) -> Set[str]:
        """The local names, without the one for the instance."""
        first = self._function.args.args[:1] if self._source.enclosing_class(self._function) else []
        return self._bound.keys() - {one.arg for one in first}

    def of(self, node: ast.expr) -> Kind | None:
        """The kind of an expression's value."""
        match node:
            case ast.Constant(value=value):
                return _of_constant(value)
            case ast.Name(id=name):
                return self.of_name(name)
            case ast.Attribute():
                return self._of_attribute(node)
            case ast.Call():
                return self._of_call(node)
            case ast.Subscript(value=value):
                return "int" if _is_shape(value) else "tensor" if self.of(value) == "tensor" else None
            case ast.UnaryOp(op=ast.Not()):
                return "bool"
            case ast.UnaryOp(operand=operand):
                return self.of(operand)
            case ast.Compare(ops=[ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]):
                return "bool"
            case ast.Compare(left=left, comparators=others):
                return "tensor" if any(self.of(one) == "tensor" for one in (left, *others)) else "bool"
            case ast.BinOp(left=left, op=op, right=right):
                kind = self.of(left)
                return kind if kind == "tensor" else _of_operation(kind, op, self.of(right))
            case ast.IfExp(body=body, orelse=orelse):
                return _common([self.of(body), self.of(orelse)])
        return None

    def of_name(self, name: str) -> Kind | None:
        """The kind of a local name's values: None if it has values of several kinds."""
        return self._looked_up(name, lambda: [self._of_bound(name, one) for one in self._bound.get(name, [])])

    def holds_integers(self, value: ast.expr) -> bool:
        """Whether ``value`` is known to be a tensor of integers or booleans."""
        match integer_part(value):
            case ast.Name(id=name):
                return self.is_integer_name(name)
            case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.Div):
                sides = (left, right)
                return any(map(self.holds_integers, sides)) and all(map(self._is_or_holds_integers, sides))
            case part:
                return makes_integers(part)

    def _is_or_holds_integers(self, value: ast.expr) -> bool:
        return self.holds_integers(value) or self.of(value) in ("int", "bool")

    def is_integer_name(self, name: str) -> bool:
        """Whether a local name is known to have tensors of integers or booleans: by its values, or else by its name."""
        key = (self._function, f"integers {name}")
        if key in self._lookups.open:  # `order = order[1:]` shows no more than the other assignments do
            return True
        bound = [one for one in self._bound.get(name, []) if one.how != "parameter"]
        if not bound:
            return is_named_like_integers(name)
        self._lookups.open.append(key)
        holds = all(map(self._binds_integers, bound))
        self._lookups.open.pop()
        return holds

    def _binds_integers(self, bound: _Bound) -> bool:
        match bound:
            case _Bound("value", _, ast.expr() as value):
                return self.holds_integers(value)
            case _Bound("part", _, ast.expr() as value):
                return makes_integers(value, bound.at)
            case _Bound("item", _, ast.expr() as value):
                return self.holds_integers(value)
        return bound.how == "added"

    def is_count(self, name: str) -> bool:
        """Whether a local name only has integers that are not negative, as far as the text shows it."""
        return all(_is_count(one.value) and one.how in ("value", "added") for one in self._bound.get(name, []))

    def values_of(self, name: str) -> Sequence[ast.expr | None]:
        """What a local name is assigned; None for what is not a plain assignment."""
        return [one.value if one.how == "value" else None for one in self._bound.get(name, [])]

    def _looked_up(self, name: str, find: Callable[[], Sequence[Kind | Literal["unknown"] | None]]) -> Kind | None:
        lookups, key = self._lookups, (self._function, name)
        if key in lookups.known:
            return lookups.known[key]
        if key in lookups.open:  # `n = n + 1` shows no more than the other assignments do
            lookups.cut.add(key)
            return None
        if not lookups.left:
            return None
        lookups.left -= 1
        lookups.open.append(key)
        kind = _common([one for one in find() if one != "unknown"])
        lookups.open.pop()
        lookups.cut.discard(key)
        if not lookups.cut:  # otherwise, it would be another one if the lookup had begun here
            lookups.known[key] = kind
        return kind

    def _of_bound(self, name: str, bound: _Bound) -> Kind | Literal["unknown"] | None:
        """The kind of a value; unknown if the new value is made of the old one and shows nothing by itself."""
        match bound:
            case _Bound("parameter", ast.arg() as parameter, default):
                return _of_parameter(parameter, default)
            case _Bound("value", _, ast.expr() as value):
                return self.of(value) or ("unknown" if name in names_in(value) else None)
            case _Bound("added", ast.AugAssign(op=op), ast.expr() as value):
                kind = "float" if isinstance(op, ast.Div) else self.of(value)
                return kind if kind in ("tensor", "float", "number") else "unknown"
            case _Bound("part", _, ast.expr() as value):
                is_call = isinstance(value, ast.Call) and self.of(value) == "tensor"
                return "int" if _is_shape(value) else "tensor" if is_call else None
            case _Bound("item", ast.expr() as target, ast.expr() as value):
                return self._of_item(name, target, value)
        return None

    def _of_item(self, name: str, target: ast.expr, iterated: ast.expr) -> Kind | None:
        """The kind of what a loop gives to ``name``."""
        match iterated, target:
            case ast.Call(func=ast.Name(id="range")), _:
                return "int"
            case ast.Call(func=ast.Name(id="enumerate"), args=[over, *_]), ast.Tuple(elts=[ast.Name(id=index), item]):
                return "int" if name == index else self._of_item(name, item, over)
            case ast.Call(func=ast.Name(id="zip"), args=values), ast.Tuple(elts=items) if len(items) == len(values):
                pairs = zip(items, values, strict=True)
                return next((self._of_item(name, item, value) for item, value in pairs if name in names_in(item)), None)
        return "tensor" if isinstance(target, ast.Name) and self.of(iterated) == "tensor" else None

    def _of_attribute(self, node: ast.Attribute) -> Kind | None:
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr="training"):
                return "bool"
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self._looked_up(f"self.{name}", lambda: [*self._of_self(name)])
        return _ATTRIBUTES.get(node.attr)

    def _of_self(self, name: str) -> Iterator[Kind | None]:
        """The kinds of what the class assigns to an attribute."""
        owner = self._source.enclosing_class(self._function)
        for method in (one for one in (owner.body if owner else ()) if isinstance(one, Function)):
            kinds = ValueKinds(self._source, method, self._lookups)
            for node in ast.walk(method):
                match node:
                    case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=stored)], value=value):
                        if stored == name:
                            yield kinds._of_setting(value)
                    case ast.Attribute(value=ast.Name(id="self"), attr=stored, ctx=ast.Store()) if stored == name:
                        if not isinstance(self._source.parent(node), ast.Assign):
                            yield None
                    case ast.Call(func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=stored), value]):
                        if stored == name:
                            yield None if isinstance(value, ast.Constant) else "tensor"

    def _of_setting(self, value: ast.expr) -> Kind | None:
        """The kind of what a constructor assigns to an attribute: a bare parameter of a constructor is no tensor."""
        match value:
            case ast.Name(id=name):
                given = [pair for pair in parameters_of(self._function.args) if pair[0].arg == name]
                return _of_parameter(*given[0], bare=None) if given else self.of(value)
            case ast.Call(func=function):
                qualified = self._source.names.qualified(function) or ""
                is_tensor = qualified.startswith("torch.") and qualified.rpartition(".")[2][:1].islower()
                is_parameter = qualified.endswith((".Parameter", ".Buffer"))
                is_number = isinstance(function, ast.Name) and function.id in _RESULTS
                return self.of(value) if is_number else "tensor" if is_tensor or is_parameter else None
            case ast.Constant(value=int() | float() as number) if type(number) is not bool:
                return "number"
        return self.of(value) if not isinstance(value, ast.Attribute | ast.Subscript) else None

    def _of_call(self, call: ast.Call) -> Kind | None:
        match call.func:
            case ast.Attribute(attr="size" | "stride"):
                return "int" if call.args else None
            case ast.Name(id="min" | "max" | "sum" | "abs"):
                return _common([self.of(argument) for argument in call.args])
            case ast.Name(id="all" | "any"):
                return "bool"
            case ast.Attribute(attr="round"):
                return "tensor"
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in _RESULTS:
                return _RESULTS[name]
        qualified = self._source.names.qualified(call.func) or ast.unparse(call.func)
        if qualified.rpartition(".")[2][:1].isupper() and not qualified.endswith(("Tensor", ".Parameter", ".Buffer")):
            return None  # an instance of a class
        if qualified.partition(".")[0] in ("math", "numpy", "random", "copy", "itertools"):
            return "float" if qualified.startswith("math.") else None
        return "tensor"


def _bindings(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, _Bound]]:
    """The names that get a value in a function, each with what gives it the value."""
    for node in ast.walk(function):
        match node:
            case ast.arguments():
                yield from ((one.arg, _Bound("parameter", one, default)) for one, default in parameters_of(node))
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _assigned(target, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, _Bound("value", node, value)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                yield name, _Bound("value", node, value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                yield name, _Bound("added", node, value)
            case ast.For(target=target, iter=iterated):
                yield from ((name, _Bound("item", target, iterated)) for name in names_in(target))


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, _Bound]]:
    if isinstance(target, ast.Name):
        yield target.id, _Bound("value", target, value)
    if not isinstance(target, ast.Tuple | ast.List):
        return
    if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
        for one, given in zip(target.elts, value.elts, strict=True):
            yield from _assigned(one, given)
        return
    for at, one in enumerate(target.elts):
        if isinstance(one, ast.Name):
            yield one.id, _Bound("part", one, value, at)


def _is_count(value: ast.expr | None) -> bool:
    match value:
        case ast.Constant(value=int(number)):
            return number >= 0
        case ast.Call(func=ast.Name(id="len") | ast.Attribute(attr="size" | "numel")):
            return True
    return False


def _is_shape(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size"), args=[]):
            return True
        case ast.Subscript(value=value, slice=ast.Slice()):
            return _is_shape(value)
    return False


def _of_constant(value: object) -> Kind | None:
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
    return None


def _of_parameter(parameter: ast.arg, default: ast.expr | None, bare: Kind | None = "tensor") -> Kind | None:
    """The kind of a parameter, by its annotation or default; ``bare`` if it has neither."""
    if parameter.annotation is not None:
        name = ast.unparse(parameter.annotation).rpartition(".")[2]
        kinds: dict[str, Kind] = {"Tensor": "tensor", "int": "int", "float": "float", "bool": "bool"}
        return None if isinstance(default, ast.Constant) and default.value is None else kinds.get(name)
    if default is None:
        return bare
    number = default.operand if isinstance(default, ast.UnaryOp) else default
    kind = _of_constant(number.value) if isinstance(number, ast.Constant) else None
    return "number" if kind in _NUMBERS else kind


def _of_operation(left: Kind | None, op: ast.operator, right: Kind | None) -> Kind | None:
    if right == "tensor":
        return "tensor"
    if left is None or right is None:
        return None
    if "float" in (left, right) or isinstance(op, ast.Div):
        return "float"
    return "number" if "number" in (left, right) else "int"


def _common(kinds: Sequence[Kind | None]) -> Kind | None:
    """The kind if all are the same, or if all are numbers."""
    distinct = set(kinds)
    if len(distinct) > 1 and distinct <= _NUMBERS:
        return "number"
    return distinct.pop() if len(distinct) == 1 else None
