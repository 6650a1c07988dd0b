"""Guesses the shapes of an operator's results from the statements that compute them, for its fake implementation."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fx_lsp.fixes.editing.edited_source import Source, unused_name
from fx_lsp.fixes.operators.operator import CREATING, Operator, assignments, called
from fx_lsp.fixes.operators.value_kinds import Kind

_OF_ROWS = frozenset({"cat", "concat", "concatenate", "hstack", "pad_sequence", "stack", "vstack"})
"""Functions that put tensors together."""

_OF_NUMBERS = frozenset({"FloatTensor", "LongTensor", "as_tensor", "new_tensor", "tensor"})
"""Functions that make a tensor of numbers."""

_SCALARS = frozenset({"amax", "amin", "max", "mean", "median", "min", "prod", "std", "sum", "var"})
"""Methods that return one number if they have no arguments."""

_NEED_VALUES = frozenset({"cpu", "item", "nonzero", "numpy", "tolist", "unique"})
"""Methods that fake tensors lack or that return sizes which depend on data."""


@dataclass(frozen=True)
class FakeResults:
    """The body of a fake implementation."""

    body: str
    described: str
    """What the first uncertain result is expected to be, for the title of a fix: begins with a comma."""


@dataclass(frozen=True)
class _Guess:
    """What a result may be like."""

    text: str
    described: str
    before: str = ""
    """The statements that ``text`` needs."""


def fake_results(source: Source, operator: Operator, at: int, torch: str) -> Iterator[FakeResults]:
    """Up to two bodies of fake implementations, the more likely one first.

    ``at`` is the index of the statement that can't be captured, ``torch`` how the file refers to torch.
    """
    shapes = _Shapes(source, operator, at, torch)
    results = zip(operator.last_values(), operator.results, strict=True)
    guesses = [list(shapes.of(name, value, kind)) for (name, value), kind in results]
    for number in range(min(2, max(map(len, guesses)))):
        chosen = [guess[min(number, len(guess) - 1)] for guess in guesses]
        before = dict.fromkeys(one.before for one in chosen if one.before)
        result = f"return {', '.join(one.text for one in chosen)}"
        uncertain = [one for one, guess in zip(chosen, guesses, strict=True) if len(guess) > 1]
        shown = next((one.described for one in (*uncertain, *chosen) if one.described), "")
        yield FakeResults("\n".join([*before, result]), shown)


class _Shapes:
    """Guesses about the results of one operator."""

    def __init__(self, source: Source, operator: Operator, at: int, torch: str) -> None:
        self._source = source
        self._operator = operator
        self._torch = torch
        self._before = operator.statements[:at]
        self._tensors = [name for name, kind in operator.kinds.items() if kind == "tensor"]
        self._count = unused_name("count", operator.kinds.keys())

    def of(self, name: str | None, value: ast.expr | None, kind: Kind) -> Iterator[_Guess]:
        """What a result may be like, the most likely first."""
        if kind == "int":
            yield _Guess(f"{self._torch}.library.get_ctx().new_dynamic_size()", "")
        elif name in self._tensors:
            yield _Guess(f"{name}.new_empty({name}.shape)", f", whose result is like {name}")
        elif name is not None and (before := self._initial(name)) is not None:
            yield _Guess(f"{name}.contiguous()", f", whose result keeps the shape of {name}", before)
        elif value is not None and self._is_sized(value):
            text = self._source.slice(value)
            yield _Guess(f"{text}.contiguous()", f", whose result is like {text}")
        else:
            yield from self._of_value(value)

    def _initial(self, name: str) -> str | None:
        """The statements before the one that can't be captured, if they give ``name`` a value and need no values."""
        if name not in dict(assignments(self._before)):
            return None
        nodes = [*itertools.chain.from_iterable(map(ast.walk, self._before))]
        if any(isinstance(node, ast.Attribute) and node.attr in _NEED_VALUES for node in nodes):
            return None
        start, end = self._source.offsets(self._before[0])[0], self._source.offsets(self._before[-1])[1]
        indent = self._source.indent(self._before[0])
        lines = [line.removeprefix(indent) for line in self._source.text[start:end].split("\n")]
        is_same = self._operator.extraction.body.startswith("\n".join(lines))  # it takes nothing from ``self``
        return "\n".join(lines) if is_same else None

    def _is_sized(self, value: ast.expr) -> bool:
        """Whether ``value`` is a new tensor whose size depends on the parameters only."""
        names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        attributes = {node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute)}
        is_known = names <= {*self._operator.kinds, *self._source.names.imported}
        return called(value) in CREATING and is_known and not attributes & _NEED_VALUES

    def _of_value(self, value: ast.expr | None) -> Iterator[_Guess]:
        like = self._like(value)
        counted = f"{self._count} = {self._torch}.library.get_ctx().new_dynamic_size()"
        rows = f"{like}.new_empty(({self._count}, *{like}.shape[1:]))"
        same = _Guess(f"{like}.new_empty({like}.shape)", f", whose result is like {like}")
        varying = _Guess(rows, ", whose result has a varying number of rows", counted)
        match value:
            case ast.Call(func=ast.Attribute(attr=name), args=[]) if name in _SCALARS:
                yield _Guess(f"{like}.new_empty(())", ", whose result is one number")
                return
            case ast.Call(func=ast.Attribute(value=owner, attr="new_tensor")):
                same, varying = self._of_numbers(f"{self._source.operand(owner)}.new_empty", value, like, counted)
            case ast.Call() if called(value) in _OF_NUMBERS:
                same, varying = self._of_numbers(f"{self._torch}.empty", value, like, counted)
            case ast.Call() if called(value) == "from_numpy":
                same = replace(same, text=f"{self._torch}.empty({like}.shape, dtype={like}.dtype)")
        is_list = called(value) in _OF_ROWS or called(value) in _OF_NUMBERS if value is not None else False
        yield from (varying, same) if is_list and self._is_conditional else (same, varying)

    def _of_numbers(self, empty: str, call: ast.Call, like: str, counted: str) -> tuple[_Guess, _Guess]:
        """What a tensor that ``call`` makes of numbers is like: it has one for each row of ``like``, or any count."""
        options = self._options(call)
        same = _Guess(f"{empty}({like}.shape[0]{options})", f", with a number for each row of {like}")
        return same, _Guess(f"{empty}({self._count}{options})", ", whose result has a varying size", counted)

    @property
    def _is_conditional(self) -> bool:
        """Whether the statements add items to a list depending on a condition."""
        return any(isinstance(node, ast.If | ast.While) for one in self._operator.statements for node in ast.walk(one))

    def _options(self, call: ast.Call) -> str:
        """The arguments for the type and the device of a tensor that is made of numbers."""
        given = {one.arg: self._source.slice(one.value) for one in call.keywords if one.arg in ("device", "dtype")}
        has_own = called(call) in ("FloatTensor", "new_tensor")
        if "dtype" not in given and not has_own and all(map(self._is_integer, self._items(call))):
            given["dtype"] = f"{self._torch}.long"
        return "".join(f", {name}={text}" for name, text in given.items())

    def _items(self, call: ast.Call) -> list[ast.expr]:
        """The items of the list that ``call`` makes a tensor of, as far as the statements show them."""
        match call.args[:1]:
            case [ast.List(elts=items)]:
                return items
            case [ast.ListComp(elt=item)]:
                return [item]
            case [ast.Name(id=name)]:
                nodes = itertools.chain.from_iterable(map(ast.walk, self._operator.statements))
                return [item for node in nodes for item in _added(node, [name])]
        return []

    def _is_integer(self, item: ast.expr) -> bool:
        values = self._operator.values
        if isinstance(item, ast.Name) and values.of(item) is None:
            item = dict(assignments(self._operator.statements)).get(item.id, item)
        match item:
            case ast.Call(func=ast.Attribute(value=ast.expr() as tensor, attr="item")):
                root = tensor.value if isinstance(tensor, ast.Subscript) else tensor
                return values.holds_integers(root)
        return values.of(item) in ("int", None)

    def _like(self, value: ast.expr | None) -> str:
        """The tensor among the parameters that the result is made of, or else the first one."""
        used = [node.id for node in ast.walk(value) if isinstance(node, ast.Name)] if value is not None else []
        nodes = itertools.chain.from_iterable(map(ast.walk, self._operator.statements))
        items = [item for node in nodes for item in _added(node, used)]
        names = [node.id for item in (*items, value) if item for node in ast.walk(item) if isinstance(node, ast.Name)]
        return next((name for name in names if name in self._tensors), self._tensors[0])


def _added(node: ast.AST, names: Sequence[str]) -> list[ast.expr]:
    """What ``node`` adds to one of the lists ``names``."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=items) if name in names:
            return items
    return []


def is_cut_off(operator: Operator, name: str | None, value: ast.expr | None) -> bool:
    """Whether no gradient flows to a result, given as by `Operator.last_values`.

    It is a tensor that is made of numbers, or one of integers or booleans.
    """
    if value is None:
        return name is not None and operator.values.is_integer_name(name)
    return called(value) in _OF_NUMBERS or operator.values.holds_integers(value)
