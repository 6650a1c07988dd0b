"""Determines from the source which values are tensors, and which are numbers, for the signature of an operator."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

from fx_lsp.documents.scopes import Function
from fx_lsp.fixes.editing.edited_source import Source

Kind = Literal["tensor", "int", "float", "bool"]

_RESULTS: dict[str, Kind | None] = {
    **dict.fromkeys(("all", "any", "bool", "hasattr", "isinstance"), "bool"),
    **dict.fromkeys(("dim", "int", "len", "ndimension", "numel", "round"), "int"),
    **dict.fromkeys(("float", "time"), "float"),
    **dict.fromkeys(("chunk", "get", "get_device", "item", "items", "keys", "numpy", "split", "tolist", "type"), None),
    **dict.fromkeys(
        ("decode", "encode", "format", "join", "lower", "replace", "strip", "unbind", "upper", "values"), None
    ),
}
"""What functions and methods return that do not return tensors; None for what depends on their arguments."""

_WHOLE = frozenset(
    {
        "all",
        "any",
        "arange",
        "argmax",
        "argmin",
        "argsort",
        "bincount",
        "bool",
        "count_nonzero",
        "int",
        "isfinite",
        "isnan",
    }
    | {
        "logical_and",
        "logical_not",
        "logical_or",
        "long",
        "multinomial",
        "nonzero",
        "randint",
        "randperm",
        "searchsorted",
    }
)
"""Functions and methods that return tensors of integers or booleans."""

_OF_INTEGERS = re.compile(r"(^|_)(classes|id|ids|idx|index|indices|labels?|lengths?|lens|masks?|tokens?)$")
"""The names of tensors that usually contain integers or booleans."""

_NOT_TENSORS = frozenset(
    {"dict", "enumerate", "filter", "frozenset", "list", "map", "open", "range", "reversed", "set", "sorted", "str"}
    | {"super", "tuple", "zip"}
)
"""Functions of Python that return neither tensors nor numbers."""

_NUMBERS_OF_TENSORS: dict[str, Kind | None] = {"ndim": "int", "shape": None, "dtype": None, "device": None}
"""Attributes of tensors that are no tensors."""

_TENSORS = frozenset({"T", "bias", "data", "grad", "imag", "mT", "real", "running_mean", "running_var", "weight"})
"""Attributes that are tensors."""


class ValueKinds:
    """The kinds of the values in one function; what no annotation or assignment shows to be something else is a tensor.

    The kind is None for what is neither a tensor nor a number, and for numbers of which it is not known what they are.
    """

    def __init__(self, source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._source = source
        self._function = function
        self._asked: set[str] = set()

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
                return "int" if self._is_shape(value) else "tensor" if self.of(value) == "tensor" else None
            case ast.UnaryOp(op=ast.Not()):
                return "bool"
            case ast.UnaryOp(operand=operand):
                return self.of(operand)
            case ast.Compare(left=left, comparators=others):
                return "tensor" if "tensor" in map(self.of, (left, *others)) else "bool"
            case ast.BinOp(left=left, op=op, right=right):
                return _of_operation(self.of(left), op, self.of(right))
            case ast.IfExp(body=body, orelse=orelse):
                return _common([self.of(body), self.of(orelse)])
        return None

    def of_name(self, name: str) -> Kind | None:
        """The kind of a local name's values: None if it has values of several kinds."""
        if name in self._asked:  # `n = n + 1` shows no more than the other assignments do
            return None
        self._asked.add(name)
        found = [*self._values(name)]
        self._asked.discard(name)
        return _common(found)

    def is_whole(self, name: str) -> bool:
        """Whether a tensor is known to contain integers or booleans: by what it is assigned, or else by its name."""
        nodes = (node for node in ast.walk(self._function) if isinstance(node, ast.Assign))
        given = [
            node.value for node in nodes if any(isinstance(one, ast.Name) and one.id == name for one in node.targets)
        ]
        return all(map(self.holds_integers, given)) if given else bool(_OF_INTEGERS.search(name))

    def holds_integers(self, value: ast.expr) -> bool:
        """Whether ``value`` is known to be a tensor of integers or booleans."""
        match value:
            case ast.Compare() | ast.UnaryOp(op=ast.Not() | ast.Invert()):
                return True
            case ast.Subscript(value=ast.Name(id=name)) if name not in self._asked:
                self._asked.add(name)
                is_whole = self.is_whole(name)
                self._asked.discard(name)
                return is_whole
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return name in _WHOLE
        return False

    def _values(self, name: str) -> Iterator[Kind | None]:
        for node in ast.walk(self._function):
            match node:
                case ast.arguments():
                    yield from (_of_parameter(one, default) for one, default in _parameters(node) if one.arg == name)
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        yield from self._assigned(name, target, value)
                case ast.AnnAssign(target=ast.Name(id=stored), value=ast.expr() as value) if stored == name:
                    yield self.of(value)
                case ast.NamedExpr(target=ast.Name(id=stored), value=value) if stored == name:
                    yield self.of(value)
                case ast.For(target=target, iter=iterated) if name in _names(target):
                    yield self._of_item(name, target, iterated)

    def _assigned(self, name: str, target: ast.expr, value: ast.expr) -> Iterator[Kind | None]:
        """The kind of what ``name`` gets by an assignment to ``target``, unless the new value is made of the old."""
        match target, value:
            case ast.Name(id=stored), _ if stored == name:
                if name not in _names(value):
                    yield self.of(value)
            case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), ast.Tuple(elts=values)) if len(targets) == len(
                values
            ):
                for one, given in zip(targets, values, strict=True):
                    yield from self._assigned(name, one, given)
            case ((ast.Tuple() | ast.List()), _) if name in _names(target):
                is_call = isinstance(value, ast.Call) and self.of(value) == "tensor"
                yield "int" if self._is_shape(value) else "tensor" if is_call else None

    def _of_item(self, name: str, target: ast.expr, iterated: ast.expr) -> Kind | None:
        """The kind of what a loop gives to ``name``."""
        match iterated, target:
            case ast.Call(func=ast.Name(id="range")), _:
                return "int"
            case ast.Call(func=ast.Name(id="enumerate"), args=[over, *_]), ast.Tuple(elts=[ast.Name(id=index), item]):
                return "int" if name == index else self._of_item(name, item, over)
            case ast.Call(func=ast.Name(id="zip"), args=values), ast.Tuple(elts=items) if len(items) == len(values):
                pairs = zip(items, values, strict=True)
                return next((self._of_item(name, item, value) for item, value in pairs if name in _names(item)), None)
        return "tensor" if isinstance(target, ast.Name) and self.of(iterated) == "tensor" else None

    def _of_attribute(self, node: ast.Attribute) -> Kind | None:
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                found = [*self._of_self(name)]
                return _common(found) if found else "bool" if name == "training" else None
            case ast.Attribute(attr=name) if name in _NUMBERS_OF_TENSORS:
                return _NUMBERS_OF_TENSORS[name]
            case ast.Attribute(attr=name) if name in _TENSORS:
                return "tensor"
        return None

    def _of_self(self, name: str) -> Iterator[Kind | None]:
        """The kinds of what the class assigns to an attribute."""
        owner = self._source.enclosing_class(self._function)
        for method in (one for one in (owner.body if owner else ()) if isinstance(one, Function)):
            for node in ast.walk(method):
                match node:
                    case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=stored)], value=value):
                        if stored == name:
                            yield ValueKinds(self._source, method)._of_setting(value)
                    case ast.Call(func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=stored), *_]):
                        if stored == name:
                            yield "tensor"

    def _of_setting(self, value: ast.expr) -> Kind | None:
        """The kind of what a constructor assigns to an attribute: a bare parameter of a constructor is no tensor."""
        match value:
            case ast.Name(id=name):
                given = [pair for pair in _parameters(self._function.args) if pair[0].arg == name]
                return _of_parameter(*given[0], bare=None) if given else self.of(value)
            case ast.Call(func=function):
                qualified = self._source.names.qualified(function) or ""
                is_tensor = qualified.startswith("torch.") and qualified.rpartition(".")[2][:1].islower()
                is_parameter = qualified.endswith((".Parameter", ".Buffer"))
                is_number = isinstance(function, ast.Name) and function.id in _RESULTS
                return self.of(value) if is_number else "tensor" if is_tensor or is_parameter else None
        return self.of(value) if not isinstance(value, ast.Attribute | ast.Subscript) else None

    def _of_call(self, call: ast.Call) -> Kind | None:
        match call.func:
            case ast.Attribute(attr="size" | "stride"):
                return "int" if call.args else None
            case ast.Name(id="min" | "max" | "sum" | "abs"):
                return _common([self.of(argument) for argument in call.args])
            case ast.Name(id=name) if name in _NOT_TENSORS:
                return None
            case ast.Attribute(attr="all" | "any" | "round"):
                return "tensor"
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in _RESULTS:
                return _RESULTS[name]
        qualified = self._source.names.qualified(call.func) or ast.unparse(call.func)
        if qualified.rpartition(".")[2][:1].isupper() and not qualified.endswith(("Tensor", ".Parameter", ".Buffer")):
            return None  # an instance of a class
        if qualified.partition(".")[0] in ("math", "numpy", "random", "copy", "itertools"):
            return "float" if qualified.startswith("math.") else None
        return "tensor"

    def _is_shape(self, node: ast.expr) -> bool:
        match node:
            case ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size"), args=[]):
                return True
            case ast.Subscript(value=value, slice=ast.Slice()):
                return self._is_shape(value)
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
        return {"Tensor": "tensor", "int": "int", "float": "float", "bool": "bool"}.get(name)  # type: ignore[return-value]
    if isinstance(default, ast.UnaryOp):
        default = default.operand
    return bare if default is None else _of_constant(default.value) if isinstance(default, ast.Constant) else None


def _of_operation(left: Kind | None, op: ast.operator, right: Kind | None) -> Kind | None:
    if "tensor" in (left, right):
        return "tensor"
    if None in (left, right):
        return None
    return "float" if "float" in (left, right) or isinstance(op, ast.Div) else "int"


def _common(kinds: list[Kind | None]) -> Kind | None:
    """The kind if all are the same; an integer may be where a float may."""
    distinct = set(kinds)
    if distinct == {"int", "float"}:
        return "float"
    return distinct.pop() if len(distinct) == 1 else None


def _parameters(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Each parameter with its default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    without: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    yield from zip(positional, [*without, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def _names(node: ast.expr) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
