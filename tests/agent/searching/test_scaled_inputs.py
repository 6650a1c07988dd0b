"""Inputs of one model are made from those of the same model with other sizes."""

from __future__ import annotations

import torch

from fx_lsp.agent.building.constructor_sizes import Size, Sizes
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.searching.scaled_inputs import MOST_SCALED, scaled_inputs

WIDTH, PATCH, HEADS = Size("net.Net", ("width",), 384), Size("net.Net", ("patch",), 16), Size("net.Net", ("heads",), 6)


def shapes(given: Input, old: Sizes, new: Sizes) -> list[list[tuple[int, ...]]]:
    """The shapes of the tensors in each of the scaled inputs."""
    return [
        [tuple(value.shape) for value in (*scaled.args, *scaled.kwargs.values()) if isinstance(value, torch.Tensor)]
        for scaled in scaled_inputs(given, old, new)
    ]


def test_sizes_are_scaled_like_the_numbers_that_they_contain() -> None:
    given = Input((torch.rand(2, 3, 56, 56),), {"context": torch.rand(2, 5, 24)})
    old, new = {WIDTH: 24, PATCH: 4}, {WIDTH: 40, PATCH: 5}
    assert shapes(given, old, new)[0] == [(2, 3, 70, 70), (2, 5, 40)]


def test_numbers_that_were_not_replaced_are_those_of_the_model() -> None:
    assert shapes(Input((torch.rand(2, 384),)), {}, {WIDTH: 24})[0] == [(2, 24)]
    assert shapes(Input((torch.rand(2, 24),)), {WIDTH: 24}, {})[0] == [(2, 384)]


def test_a_size_that_is_no_multiple_is_kept_or_scaled_about_as_much() -> None:
    found = shapes(Input((torch.rand(2, 3, 16, 197),)), {PATCH: 4}, {PATCH: 5})
    assert [(2, 3, 20, 197)] in found
    assert [(2, 3, 20, 246)] in found


def test_a_batch_is_never_scaled() -> None:
    given = Input((torch.rand(6, 6),))
    assert {scaled[0][0] for scaled in shapes(given, {HEADS: 6}, {HEADS: 3})} == {6}


def test_inputs_of_the_same_model_are_kept_as_they_are() -> None:
    given = Input((torch.rand(2, 384), 3), {"flag": True})
    (same,) = scaled_inputs(given, {PATCH: 4}, {PATCH: 4})
    assert same.args[0] is given.args[0]
    assert same.args[1:] == (3,)
    assert same.kwargs == {"flag": True}


def test_the_number_of_inputs_and_their_size_are_limited() -> None:
    sizes = [Size("net.Net", ("sizes", at), 10 + at) for at in range(20)]
    given = Input((torch.rand(1, 12, 14, 15, 16, 18),))
    scaled = shapes(given, {size: 2 + at for at, size in enumerate(sizes)}, dict.fromkeys(sizes, 9))
    assert len(scaled) == MOST_SCALED
    assert shapes(Input((torch.rand(1, 4096),)), {PATCH: 4}, {PATCH: 400_000}) == [[(1, 4096)]]


def test_indices_stay_within_their_range() -> None:
    (first, *_) = scaled_inputs(Input((torch.arange(12).view(2, 6),)), {HEADS: 6}, {HEADS: 60})
    assert first.args[0].shape == (2, 60)
    assert 0 <= int(first.args[0].min()) <= int(first.args[0].max()) < 12


def test_the_side_of_an_image_is_scaled_with_the_number_of_its_patches() -> None:
    patches = Size("net.Net", ("patches",), 256)
    assert [(2, 3, 128, 128)] in shapes(Input((torch.rand(2, 3, 512, 512),)), {}, {patches: 16})
