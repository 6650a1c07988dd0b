"""Evaluating parts of a program again in the frame that raised an error."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from typing import Any

import pytest
import torch

from fx_lsp.agent.frame_code import first_values, is_pure, names_in, tree_of, value_of

SIZES = [3, 4]


def doubled(sizes: list[int]) -> list[float]:
    start = 1
    try:
        return [start / (size - 3) for size in sizes]
    finally:
        start = 1


def shadowed(sizes: list[int]) -> object:
    size = 8
    return [-size for size in sizes], 1 // (size - 8)


def names_where_it_failed(function: Callable[[list[int]], object]) -> dict[str, Any]:
    """What the code sees that raised a ZeroDivisionError in ``function``."""
    with pytest.raises(ZeroDivisionError) as caught:
        function(SIZES)
    step = caught.value.__traceback__
    assert step is not None
    while step.tb_next is not None:
        step = step.tb_next
    return names_in(step.tb_frame, step.tb_lineno)


def value(text: str, names: dict[str, Any]) -> Any:
    return value_of(ast.parse(text, mode="eval").body, names)


@pytest.mark.parametrize(("expression", "expected"), [("size", 3), ("size - 3", 0), ("SIZES[1]", 4), ("start", 1)])
def test_what_a_comprehension_was_reading_is_known(expression: str, expected: int) -> None:
    assert value(expression, names_where_it_failed(doubled)) == expected


def test_a_local_variable_is_not_taken_for_that_of_a_comprehension() -> None:
    assert value("size", names_where_it_failed(shadowed)) == 8


class Misused(BaseException):
    pass


class Refusing(list[int]):
    def __iter__(self) -> Any:
        raise Misused


@pytest.mark.parametrize(
    ("loop", "values"),
    [
        ("for x in items", {"x": 5}),
        ("for i, (x, y) in enumerate(pairs)", {"i": 0, "x": 1, "y": 2}),
        ("for x, y in zip(items, items)", {"x": 5, "y": 5}),
        ("for x in []", {}),
        ("for x in missing", {}),
        ("for x in range(4)", {"x": 0}),
        ("for x in items.pop()", {}),
        ("for items[0] in pairs", {}),
        ("for x in live", {}),
        ("for x in zip(items, live)", {}),
        ("for x in refusing", {}),
    ],
)
def test_first_values(loop: str, values: dict[str, Any]) -> None:
    tree = ast.parse(f"[0 {loop}]", mode="eval").body
    assert isinstance(tree, ast.ListComp)
    live = iter([1, 2])
    names = {"items": [5, 6], "pairs": [(1, 2)], "live": live, "refusing": Refusing()}
    assert first_values(tree.generators[0], names) == values
    assert (names["items"], list(live)) == ([5, 6], [1, 2])


@pytest.mark.parametrize("text", ["f(x)", "(x := 1)", "2 ** 2 ** x", "1 << x"])
def test_what_is_not_evaluated_again(text: str) -> None:
    assert not is_pure(ast.parse(text, mode="eval").body)
    assert value(text, {}) is None


def test_the_size_of_a_tensor_is_evaluated_again() -> None:
    assert value("x.size(-1) * x.dim() + x.numel()", {"x": torch.ones(2, 3)}) == 12
    assert value("x.add_(1)", {"x": torch.ones(2, 3)}) is None


def test_a_function_is_read_again_once_its_file_has_changed() -> None:
    def written(text: str) -> ast.Module | None:
        linecache.cache["<changing>"] = len(text), None, text.splitlines(keepends=True), "<changing>"
        return tree_of(code)

    text = "def f():\n    return 1\n"
    (code,) = (const for const in compile(text, "<changing>", "exec").co_consts if hasattr(const, "co_code"))
    first = written(text)
    assert first is not None
    assert tree_of(code) is first
    second = written(text.replace("1", "2"))
    assert second is not None
    assert ast.unparse(second) == "def f():\n    return 2"


def test_a_comprehension_is_read_with_the_function_around_it() -> None:
    text = "@decorated\ndef f(items):\n    a = 1  # lambda.\n    return sum(\n        item + a for item in items)\n"
    linecache.cache["<inner>"] = len(text), None, text.splitlines(keepends=True), "<inner>"
    (outer,) = (const for const in compile(text, "<inner>", "exec").co_consts if hasattr(const, "co_code"))
    inner = next(const for const in outer.co_consts if hasattr(const, "co_code"))
    for code in (outer, inner):
        tree = tree_of(code)
        assert tree is not None
        (function,) = tree.body
        assert isinstance(function, ast.FunctionDef)
        assert (function.name, function.lineno) == ("f", 2)


def test_code_behind_the_end_of_its_file_has_no_tree() -> None:
    (code,) = (c for c in compile("\n\ndef f(): pass", "<shorter>", "exec").co_consts if hasattr(c, "co_code"))
    linecache.cache["<shorter>"] = 3, None, ["x = 1\n"], "<shorter>"
    assert tree_of(code) is None
