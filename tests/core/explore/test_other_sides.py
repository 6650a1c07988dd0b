"""What lies on the other side of the conditions that an exploring trace assumed an answer for."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from fxcore.explore import explore
from fxcore.explore.decisions import Decisions
from fxcore.explore.explorer import MOST_NODES_WITHOUT_NEWS
from fxcore.explore.other_sides import explore_other_sides


def beyond(program: Callable[..., Any], examples: dict[str, Any] | None = None) -> dict[str, str]:
    """Of each place that only another answer leads to: the condition, and that answer."""
    first = explore(program, examples=examples)
    found = explore_other_sides(lambda: program, None, first, examples=examples)
    return {
        _text(other.site): f"{_text(other.decided)} {other.decided.assumption.removeprefix('it ')}" for other in found
    }


def _text(site: Any) -> str:
    span = site.failure.span
    return linecache.getline(span.file, span.line)[span.col : span.end_col]


def test_the_rest_of_an_and_and_what_it_guards() -> None:
    def program(x: Tensor, y: Tensor) -> Tensor:
        if y.mean() > 0.5 and x.shape[0] > 1:
            x = x + len(y)
        return x

    assert beyond(program) == {
        "x.shape[0] > 1": "y.mean() > 0.5 is true",
        "len(y)": "x.shape[0] > 1 is true",
    }


def test_the_other_branch() -> None:
    def program(x: Tensor) -> Tensor:
        return x + int(x[0]) if x.sum() > 0 else x - float(x[0])

    assert beyond(program) == {"int(x[0])": "x.sum() > 0 is true"}


def test_one_more_turn_of_a_loop() -> None:
    def program(x: Tensor) -> Tensor:
        while x.sum() > 3:
            x = x - int(x.max())
        return x

    assert beyond(program) == {"int(x.max())": "x.sum() > 3 is true"}


def test_a_branch_that_only_raises_is_left_alone() -> None:
    def program(x: Tensor) -> Tensor:
        if x.sum() > 0:
            raise ValueError(len(x))
        assert x.max() > 3, len(x)
        return x

    assert beyond(program) == {}


def test_the_same_question_is_not_answered_in_two_ways() -> None:
    def program(x: Tensor) -> Tensor:
        if x.dim() == 3:
            x = x[None]
        if x.sum() > 0:
            x = x + 1
        if x.dim() == 3:
            x = x + len(x)
        return x

    def contradicting(x: Tensor) -> Tensor:
        y = x
        if x.dim() == 3:
            y = y + 1
            if x.dim() == 4:
                y = y + 2
        return y + 3 if x.dim() == 3 else y

    assert "len(x)" in beyond(program)
    assert beyond(contradicting) == {"x.dim() == 4": "x.dim() == 3 is true"}


def test_a_way_that_ends_early_does_not_hide_the_others() -> None:
    def program(x: Tensor, y: Tensor) -> Tensor:
        if y.sum() > 0:
            x = x + int(y[0])
        if x.sum() > 0:
            raise_later(x)
        if y.max() > 3:
            x = x + float(y[1])
        return x

    def raise_later(x: Tensor) -> None:
        for _ in range(3):
            pass
        raise ValueError("too large")

    assert set(beyond(program)) == {"int(y[0])", "float(y[1])"}


def test_what_examples_decide_has_another_side_too() -> None:
    def program(x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x + len(x)
        return x - int(x[0])

    assert beyond(program, {"x": torch.ones(3)}) == {"int(x[0])": "x.sum() > 0 is false"}
    assert beyond(program, {"x": -torch.ones(3)}) == {"len(x)": "x.sum() > 0 is true"}


def test_the_same_question_at_the_same_place_gets_the_same_answer() -> None:
    def holds(x: Tensor) -> bool:
        return True if x.any() else False  # noqa: SIM210 (bool() is no decision)

    def program(x: Tensor) -> Tensor:
        if not holds(x):
            return x
        if not holds(x):
            return x + len(x)
        return x - int(x[0])

    assert set(beyond(program)) == {"int(x[0])"}


def test_a_program_without_conditions_has_none() -> None:
    assert beyond(lambda x: x + len(x)) == {}


def test_modules_are_left_as_they_were() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last: Any = None

        def forward(self, x: Tensor) -> Tensor:
            if x.sum() > 0:
                self.last = x
                return x + len(x)
            return x

    net = Net()
    assert set(beyond(net)) == {"len(x)"}
    assert net.last is None


def of_length(steps: int) -> Callable[[Tensor], Tensor]:
    """A program that comes back from both sides of its conditions to a long path, whose end depends on the first."""

    def program(x: Tensor) -> Tensor:
        is_large = False
        if x.sum() > 0:
            is_large = True
            x = x + float(x[0])
        for _ in range(steps):
            x = x.relu()
        return x * len(x) if is_large else x

    return program


def test_a_run_that_has_returned_to_the_path_of_the_first_ends() -> None:
    assert "len(x)" in beyond(of_length(MOST_NODES_WITHOUT_NEWS // 2))
    long = of_length(2 * MOST_NODES_WITHOUT_NEWS)
    assert beyond(long) == {"float(x[0])": "x.sum() > 0 is true"}
    first = explore(long)
    path = {node.where for node in first.recorded.nodes}
    run = explore(long, decisions=Decisions(first.decisions.turnable(), path))
    assert (run.complete, run.saw_enough) == (False, True)
    assert len(run.recorded.nodes) < 1.5 * MOST_NODES_WITHOUT_NEWS


def test_a_handler_that_catches_the_end_of_a_run_finds_nothing() -> None:
    def program(x: Tensor) -> Tensor:
        if x.sum() > 0:
            x = x + float(x[0])
        for _ in range(4 * MOST_NODES_WITHOUT_NEWS):
            try:
                x = x.relu()
            except:  # noqa: E722
                x = x * len(x) if x.mean() > 0 else x
        return x

    assert beyond(program) == {"float(x[0])": "x.sum() > 0 is true"}


def test_a_long_branch_of_its_own_is_no_path_of_the_first_run() -> None:
    def program(x: Tensor) -> Tensor:
        if x.sum() > 0:
            for _ in range(4 * MOST_NODES_WITHOUT_NEWS):
                x = x.relu()
            return x * len(x)
        return x

    assert beyond(program) == {"len(x)": "x.sum() > 0 is true"}


def test_a_condition_behind_a_long_branch_is_reversed_as_well() -> None:
    def program(x: Tensor) -> Tensor:
        if x.sum() > 0:
            for _ in range(4 * MOST_NODES_WITHOUT_NEWS):
                x = x.sin()
        for _ in range(2 * MOST_NODES_WITHOUT_NEWS):
            x = x.relu()
        return x * len(x) if x.mean() > 0 else x

    assert beyond(program) == {"len(x)": "x.mean() > 0 is true"}


def test_the_second_operand_of_an_or_need_not_be_met() -> None:
    def program(x: Tensor) -> Tensor:
        if x.sum() > 0 or x.mean() > 1:
            x = x + float(x[0])
        for _ in range(8 * MOST_NODES_WITHOUT_NEWS):
            x = x.relu()
        return x

    first = explore(program)
    path = {node.where for node in first.recorded.nodes}
    run = explore(program, decisions=Decisions(first.decisions.turnable(), path))
    assert run.saw_enough
    assert len(run.recorded.nodes) < 2 * MOST_NODES_WITHOUT_NEWS


def test_a_run_that_has_not_met_all_conditions_goes_on() -> None:
    def program(x: Tensor) -> Tensor:
        for _ in range(2 * MOST_NODES_WITHOUT_NEWS):
            x = x.relu()
        return x + len(x) if x.sum() > 0 else x

    assert beyond(program) == {"len(x)": "x.sum() > 0 is true"}
