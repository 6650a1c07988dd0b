"""Evaluating parts of a program again in the frame that raised an error."""

from __future__ import annotations

import ast
import sys
from types import FrameType
from typing import Any

import pytest

from fx_lsp.agent.inventing.frame_code import first_values, is_pure, value_of

SIZES = [3, 4]


def doubled(sizes: list[int]) -> list[float]:
    start = 1
    return [start / (size - 3) for size in sizes]


def failing_frame(error: BaseException) -> FrameType:
    """The innermost frame of a traceback."""
    step = error.__traceback__
    assert step is not None
    while step.tb_next is not None:
        step = step.tb_next
    return step.tb_frame


@pytest.mark.parametrize(("expression", "value"), [("size", 3), ("size - 3", 0), ("SIZES[1]", 4), ("start", 1)])
def test_what_a_comprehension_was_reading_is_known(expression: str, value: int) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        doubled(SIZES)
    assert value_of(ast.parse(expression, mode="eval").body, failing_frame(caught.value)) == value


@pytest.mark.parametrize(
    ("loop", "values"),
    [
        ("for x in items", {"x": 5}),
        ("for i, (x, y) in enumerate(pairs)", {"i": 0, "x": 1, "y": 2}),
        ("for x, y in zip(items, items)", {"x": 5, "y": 5}),
        ("for x in []", {}),
        ("for x in missing", {}),
        ("for x in items.pop()", {}),
    ],
)
def test_first_values(loop: str, values: dict[str, Any]) -> None:
    tree = ast.parse(f"[0 {loop}]", mode="eval").body
    assert isinstance(tree, ast.ListComp)
    names = {"items": [5, 6], "pairs": [(1, 2)]}
    assert first_values(tree.generators[0], names) == values
    assert names == {"items": [5, 6], "pairs": [(1, 2)]}


@pytest.mark.parametrize("text", ["f(x)", "(x := 1)", "2 ** 2 ** x", "1 << x"])
def test_what_is_not_evaluated_again(text: str) -> None:
    assert not is_pure(ast.parse(text, mode="eval").body)
    assert value_of(ast.parse(text, mode="eval").body, sys._getframe()) is None
