"""The inputs that a failing line is about are found in the program's text."""

from __future__ import annotations

import pytest
import torch

from fx_lsp.agent.searching.failing_inputs import failing_inputs


def joined(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    wide = torch.cat([x, x], -1)
    masked = (
        y.float() @ mask  # fails if they do not fit
    )
    return wide + masked


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (((), (2,), (2, 2)), {"x"}),
        (((3,), (2, 5), (4, 4)), {"y", "mask"}),
        (((3,), (2, 4), (4, 4)), {"x", "y", "mask"}),
    ],
)
def test_the_failing_line_is_about_what_its_values_are_made_from(
    shapes: tuple[tuple[int, ...], ...], expected: set[str]
) -> None:
    with pytest.raises(RuntimeError) as raised:
        joined(*map(torch.ones, shapes))
    assert failing_inputs(raised.value, joined) == expected


def test_a_program_without_text_names_no_inputs() -> None:
    with pytest.raises(TypeError) as raised:
        len(3)  # type: ignore[arg-type]
    assert failing_inputs(raised.value, len) == frozenset()
