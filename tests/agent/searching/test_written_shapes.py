"""The shapes of a function's inputs are read from its text."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

from fx_lsp.agent.searching.written_shapes import BATCH, SIDE, described_keys, sizes_of, written_numbers, written_shapes

rearrange: Any = None
torch: Any = None


def unpacked(self: Any, x: Any, y: Any, mask: Any) -> Any:
    batch, length, _ = x.shape
    _, other, width = y.size()
    y = y + 1
    one, two = y.shape
    return batch, length, other, width, one, two, mask


def with_heads(self: Any, x: Any) -> Any:
    b: Any
    n: Any
    h: Any
    b, n, _, h = *x.shape, self.heads  # type: ignore[misc]
    return b, n, h


def of_images(x: Any) -> Any:
    b, c, *rest = x.shape
    return b, c, rest


def patterns(x: Any, q: Any, k: Any) -> Any:
    x = rearrange(x, "b c (h p) w -> b (c p) h w")
    return x, torch.einsum("bhid,bhjd->bhij", q, k)


def described(scores: Any, anchors: Any, index: Any = None) -> Any:
    """Match them.

    Args:
        scores (Tensor, optional): shape(bs, total anchors, 20), e.g. (a, b)
        anchors (Tensor): total anchors x 4 or so
        index: a list (may be empty)
    """
    # anchors: [total anchors, 4]
    return scores, anchors, index


def commented(
    src: Any,  # (S, B, E)
    tgt: Any,
) -> Any:
    # tgt is B x T x E
    src = src + 1  # src: (wrong, B)
    return src, tgt


def conditional(x: Any, t: Any, y: Any) -> Any:
    """Of images.

    x: an [N x C x H x W] tensor
    t: a 1-D batch of time steps
    y: an [N] tensor of labels
    """
    return x, t, y


def silent(x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (unpacked, {"x": ("batch", "length", "_"), "y": ("_", "other", "width")}),
        (with_heads, {"x": ("b", "n", "_")}),
        (of_images, {"x": ("b", "c", "height", "width")}),
        (patterns, {"x": ("b", "c", "h p", "w"), "q": ("b", "h", "i", "d"), "k": ("b", "h", "j", "d")}),
        (described, {"scores": ("bs", "total anchors", "20"), "anchors": ("total anchors", "4")}),
        (conditional, {"x": ("N", "C", "H", "W"), "t": ("N",), "y": ("N",)}),
        (commented, {"src": ("S", "B", "E"), "tgt": ("B", "T", "E")}),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_shapes_are_read_from_code_and_comments(
    function: Callable[..., Any], found: dict[str, tuple[str, ...]]
) -> None:
    assert written_shapes(function) == [found]


def test_code_and_comments_that_differ_are_two_guesses() -> None:
    def forward(x: Any) -> Any:
        """Of x: (tokens, dim)."""
        batch, length, width = x.shape
        return batch, length, width

    assert written_shapes(forward) == [{"x": ("batch", "length", "width")}, {"x": ("tokens", "dim")}]


@pytest.mark.parametrize("function", [silent, len, eval("lambda x: x.shape")], ids=["silent", "builtin", "no source"])
def test_where_nothing_is_written_nothing_is_found(function: Callable[..., Any]) -> None:
    assert written_shapes(function) == []
    assert written_numbers(function) == frozenset()


def test_docstrings_describe_the_tensors_in_dicts() -> None:
    def forward(outputs: Any, sizes: Any) -> Any:
        """Compute the loss.

        Args:
            outputs: a dict with these entries:
                 "logits": Tensor of dim [batch_size, queries, classes + 1] with the scores
                 'labels': the classes, of shape [objects]
            sizes: "large" or "small", a tensor of dimension [batch_size x 2]
        """
        return outputs, sizes

    assert described_keys(forward) == {"logits": ("batch_size", "queries", "classes + 1"), "labels": ("objects",)}
    assert described_keys(silent) == {}


def test_parameters_that_are_passed_on_as_sizes_are_numbers() -> None:
    def forward(x: Any, h: Any, w: Any, other: Any) -> Any:
        return x.view(-1, h, w) + other

    assert written_numbers(forward) == {"h", "w"}


def test_the_same_name_is_the_same_size_and_different_names_differ() -> None:
    sizes = sizes_of({"x": ("batch", "length", "_"), "y": ("_", "other", "_"), "z": ("b", "c", "h", "w", "7")}, 64)
    (batch, length, last), (other_batch, other, other_last) = sizes["x"], sizes["y"]
    assert (batch, last) == (other_batch, other_last)
    assert batch == BATCH
    assert len({batch, length, other, last}) == 4
    assert sizes["z"][1:] == (64, SIDE, SIDE, 7)


@pytest.mark.parametrize("text", ["(" + "," * 50_000, "[" + "1," * 50_000, "(a, b" * 20_000, "N x " * 30_000])
def test_long_comments_and_odd_functions_are_no_problem(text: str) -> None:
    namespace: dict[str, Any] = {}
    source = f"def forward(x):\n    # x: {text}\n    return x\n"
    linecache.cache["<long>"] = len(source), None, source.splitlines(keepends=True), "<long>"
    exec(compile(source, "<long>", "exec"), namespace)
    written_shapes(namespace["forward"])
    namespace["forward"].__wrapped__ = namespace["forward"]
    assert written_shapes(namespace["forward"]) == []
