"""How fx-lsp finds which sizes follow those of the input: `fx_lsp.agent.running.symbolic_sizes`."""

from collections.abc import Callable

import pytest
import torch

from fx_lsp.agent.running.symbolic_sizes import UNKNOWN, Symbols, merged, value_of

SYMBOLS = Symbols({"b": 2, "h": 224, "w": 96}, factor=2, check=3)


def told(size: Callable[[int, int, int], int]) -> str:
    """How a size that is ``size`` of b, h and w is shown."""
    b, h, w = SYMBOLS.sizes.values()
    alone = {"b": size(2 * b, h, w), "h": size(b, 2 * h, w), "w": size(b, h, 2 * w)}
    return SYMBOLS.size(size(b, h, w), alone, size(3 * b, 3 * h, 3 * w))


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (lambda b, h, w: 64, "64"),
        (lambda b, h, w: b, "b"),
        (lambda b, h, w: 8 * b, "8*b"),
        (lambda b, h, w: h // 4, "h/4"),
        (lambda b, h, w: 3 * h // 2, "3*h/2"),
        (lambda b, h, w: h - 6, "h - 6"),
        (lambda b, h, w: (h - 3) // 2 + 1, "h/2 - 1"),
        (lambda b, h, w: h * w // 256 + 1, "h*w/256 + 1"),
        (lambda b, h, w: b * h * w, "b*h*w"),
        (lambda b, h, w: 10 - b, "-b + 10"),
        (lambda b, h, w: h + w, UNKNOWN),
        (lambda b, h, w: h * h, UNKNOWN),
        (lambda b, h, w: min(h, 300), UNKNOWN),
        (lambda b, h, w: 7 if h < 500 else 8, UNKNOWN),
    ],
)
def test_a_size_is_a_formula_only_where_that_holds_in_every_run(
    size: Callable[[int, int, int], int], text: str
) -> None:
    assert told(size) == text


def test_a_strange_fraction_is_not_taken_for_a_formula() -> None:
    assert Symbols({"h": 299}, 2, 3).size(8, {"h": 17}, 26) == UNKNOWN


def test_containers_are_shown_with_the_sizes_of_their_items() -> None:
    value = value_of((torch.zeros(2, 3), [4, None], {"k": torch.zeros(1, dtype=torch.long)}, torch.float16, "a\0"))
    assert value.sizes == (2, 3, 4, 1)
    assert value.dtype is None
    assert value.text(["b", "3", "n", "1"]) == (
        "([b, 3] float32, [n, None], {'k': [1] int64}, torch.float16, 'a\\x00')"
    )
    assert value_of(torch.zeros(())).text([]) == "[] float32"
    assert value_of((1,)).text(["1"]) == "(1,)"
    assert value_of(object()).text([]) == "object"


def test_another_value_in_another_run_has_no_sizes_that_are_known() -> None:
    base, other = value_of(torch.zeros(2)), value_of(torch.zeros(4, 1))
    assert merged(base, {"b": other}, other, Symbols({"b": 2}, 2, 3)) == (base, (UNKNOWN,))
