"""Which inputs a proof uses."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import partial

import pytest
import torch

from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.searching.input_candidates import candidates
from fx_lsp.agent.searching.input_search import LEAST, MOST, NoInputs, find_inputs
from fx_lsp.agent.searching.input_variations import around
from fx_lsp.agent.searching.solved_inputs import with_optional_inputs

NET = torch.nn.Linear(4, 4)


def shapes_found(
    first: tuple[int, ...], accepts: int = 1, costly: int = 10**9, large: int = 10**9
) -> list[tuple[int, ...]]:
    """The shapes of the inputs that are found from one of shape ``first``.

    The program accepts tensors whose sizes are multiples of ``accepts``; those of ``costly`` elements are costly, and
    those of ``large`` elements large.
    """

    def shape(given: Input) -> tuple[int, ...]:
        return tuple(given.args[0].shape)

    found = find_inputs(
        iter([Input((torch.rand(first),))]),
        partial(around, root=NET),
        lambda given, parts: frozenset() if all(size % accepts == 0 for size in shape(given)) else None,
        frozenset(),
        lambda given: given.args[0].numel() >= costly,
        is_large=lambda given: given.args[0].numel() >= min(costly, large),
    )
    return [shape(given) for given in found]


def test_sizes_are_varied() -> None:
    shapes = shapes_found((2, 8))
    assert len(shapes) == MOST
    assert {(2, 8), (1, 8), (3, 8), (2, 9)} <= set(shapes)


def test_of_costly_inputs_there_are_few() -> None:
    assert len(shapes_found((2, 8), costly=1)) == LEAST


@pytest.mark.parametrize(
    ("first", "accepts", "expected"),
    [
        ((32, 64, 2500), 1, (2, 16, 2500)),
        ((32, 64, 2500), 2, (2, 16, 2500)),
        ((32, 64, 2560), 32, (32, 32, 2560)),
        ((2, 3, 64), 1, (2, 3, 16)),
        ((1,), 1, (1,)),
    ],
)
def test_a_costly_input_is_made_smaller_as_far_as_the_program_runs(
    first: tuple[int, ...], accepts: int, expected: tuple[int, ...]
) -> None:
    assert shapes_found(first, accepts, math.prod(expected) + 1)[0] == expected


def test_a_large_input_is_made_smaller_and_varied_as_usual() -> None:
    first, *others = shapes_found((32, 64), large=2 * 16 + 1)
    assert (first, len(others)) == ((2, 16), MOST - 1)


@pytest.mark.parametrize("shape", [(4, 5), (3, 5), (1, 3, 4, 5), (3, 1, 4, 5)])
def test_other_ranks_are_tried_only_if_the_program_asks_for_them(shape: tuple[int, ...]) -> None:
    def runs(given: Input, parts: AbstractSet[str]) -> set[str]:
        return {"branch"} & parts if given.args[1].shape == shape else set()

    def found(wanted: set[str]) -> list[Input]:
        first = Input((torch.rand(3, 8), torch.rand(3, 4, 5)))
        vary = partial(around, root=lambda x, mask: x)
        return list(find_inputs(iter([first]), vary, runs, wanted, lambda given: False))

    *ordinary, last = found({"branch"})
    assert last.args[1].shape == shape
    assert len(ordinary) == MOST + 2, "an input of another rank replaces no other, nor do those with one longer tensor"
    assert all(given.args[1].dim() == 3 for given in [*ordinary, *found(set())])


def test_a_vector_for_each_item_is_tried() -> None:
    def reaches(given: Input, parts: AbstractSet[str]) -> AbstractSet[str]:
        image, embedded = given.args
        return parts if (image.dim(), embedded.shape) == (4, (2, 8)) else frozenset()

    first = Input((torch.rand(2, 3, 4, 8), torch.rand(2, 3, 4, 8)))
    vary = partial(around, root=lambda image, embedded: image)
    found = find_inputs(iter([first]), vary, reaches, {"part"}, lambda given: False)
    assert any(given.args[1].shape == (2, 8) for given in found)


def test_another_rank_does_not_tell_two_equal_sizes_apart() -> None:
    def runs(given: Input, parts: AbstractSet[str]) -> set[str] | None:
        shape = given.args[0].shape
        return ({"branch"} if shape == (4,) else set()) & parts if shape in ((4, 4), (4,)) else None

    first = Input((torch.rand(4, 4),))
    with pytest.raises(NoInputs):
        find_inputs(iter([first]), partial(around, root=NET), runs, {"branch"}, lambda given: False)


def test_a_few_inputs_also_tell_equal_sizes_apart() -> None:
    tried = [Input((torch.rand(shape),)) for shape in ((4, 4), (4, 4), (4, 4), (4, 8), (4, 16))]
    found = find_inputs(
        iter(tried[:1]), lambda given: iter(tried[1:]), lambda *_: set(), set(), lambda given: False, few=True
    )
    assert [tuple(given.args[0].shape) for given in found] == [(4, 4), (4, 4), (4, 4), (4, 8)]


@pytest.mark.parametrize("is_what", [torch.isnan, torch.isinf])
def test_numbers_that_are_not_finite_are_tried_only_if_the_program_asks_for_them(
    is_what: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    def runs(given: Input, parts: AbstractSet[str]) -> set[str]:
        return {"repair"} & parts if is_what(given.args[0]).any() else set()

    def found(wanted: set[str]) -> list[Input]:
        first = Input((torch.rand(3, 4),))
        return list(find_inputs(iter([first]), partial(around, root=NET), runs, wanted, lambda given: False))

    *others, last = found({"repair"})
    assert is_what(last.args[0]).any()
    assert all(given.args[0].isfinite().all() for given in [*others, *found(set())])


@pytest.mark.parametrize(
    "is_what",
    [
        lambda x: x.is_contiguous(memory_format=torch.channels_last),
        torch.is_complex,
        lambda x: x.dtype is torch.float16,
    ],
    ids=["memory format", "complex", "half"],
)
def test_unusual_inputs_are_tried_only_if_the_program_asks_for_them(is_what: Callable[[torch.Tensor], bool]) -> None:
    def runs(given: Input, parts: AbstractSet[str]) -> set[str]:
        return {"branch"} & parts if is_what(given.args[0]) else set()

    def found(wanted: set[str]) -> list[Input]:
        first = Input((torch.rand(3, 4, 5, 5),))
        return list(find_inputs(iter([first]), partial(around, root=NET), runs, wanted, lambda given: False))

    *others, last = found({"branch"})
    assert is_what(last.args[0])
    assert not any(is_what(given.args[0]) for given in [*others, *found(set())])


def test_the_sizes_of_one_of_several_inputs_are_varied_alone() -> None:
    """Attention to a longer sequence takes another branch than attention to a shorter one."""

    def runs(given: Input, parts: AbstractSet[str]) -> set[str] | None:
        query, keys = given.args
        if query.dim() != 3 or keys.dim() != 3 or query.shape[0] != keys.shape[0] or query.shape[2] != keys.shape[2]:
            return None
        return {"longer" if query.shape[1] > keys.shape[1] else "not longer"} & parts

    first = Input((torch.rand(2, 8, 16), torch.rand(2, 8, 16)))
    wanted = {"longer", "not longer"}
    vary = partial(around, root=lambda query, keys: query @ keys)
    found = find_inputs(iter([first]), vary, runs, wanted, lambda given: False)
    assert any(given.args[0].shape[1] > given.args[1].shape[1] for given in found)


def test_the_sizes_of_all_but_one_of_several_inputs_are_varied_together() -> None:
    """Keys and values have to be of equal length."""

    def runs(given: Input, parts: AbstractSet[str]) -> set[str] | None:
        query, keys, values = given.args
        if query.dim() != 3 or keys.dim() != 3:
            return None
        if keys.shape != values.shape or query.shape[0] != keys.shape[0] or query.shape[2] != keys.shape[2]:
            return None
        return {"shorter" if query.shape[1] < keys.shape[1] else "not shorter"} & parts

    first = Input((torch.rand(2, 8, 16), torch.rand(2, 8, 16), torch.rand(2, 8, 16)))
    wanted = {"shorter", "not shorter"}
    vary = partial(around, root=lambda query, keys, values: query @ keys + values)
    found = find_inputs(iter([first]), vary, runs, wanted, lambda given: False)
    assert any(given.args[0].shape[1] < given.args[1].shape[1] for given in found)


def test_items_of_a_list_differ_in_size() -> None:
    first = Input(([torch.rand(3, 8, 8), torch.rand(3, 8, 8)],))
    vary = partial(around, root=lambda images: images)
    found = find_inputs(iter([first]), vary, lambda given, parts: parts & set(), set(), lambda given: False)
    assert any(len({item.shape for item in given.args[0]}) == 2 for given in found)


def test_a_smaller_input_that_reaches_less_is_not_used() -> None:
    def runs(given: Input, parts: AbstractSet[str]) -> set[str] | None:
        return {"wide"} & parts if given.args[0].shape[1] > 100 else set()

    first = Input((torch.rand(2, 128, 8),))
    found = find_inputs(iter([first]), partial(around, root=NET), runs, {"wide"}, lambda given: True)
    assert found[0].args[0].shape[1] == 128


def test_a_costly_candidate_leaves_runs_for_its_variations() -> None:
    may_run = iter([True])
    first = Input((torch.rand(2, 8),))
    given = find_inputs(
        iter([first]),
        partial(around, root=NET),
        lambda given, parts: set(),
        set(),
        lambda given: True,
        lambda: next(may_run, False),
    )
    assert len(given) == LEAST


def test_inputs_that_do_not_tell_equal_sizes_apart_are_not_enough() -> None:
    def found(*shape: int) -> int:
        def runs(given: Input, parts: AbstractSet[str]) -> set[str] | None:
            return set() if given.args[0].shape == shape else None

        first = Input((torch.rand(shape),))
        return len(find_inputs(iter([first]), partial(around, root=NET), runs, set(), lambda given: False))

    assert found(2, 12, 16) >= LEAST
    with pytest.raises(NoInputs):
        found(2, 16, 16)


def test_variations_of_numbers_from_0_to_1_stay_there() -> None:
    first = Input((torch.rand(2, 6),))
    larger = [given.args[0] for given in around(first, NET) if given.args[0].shape != (2, 6)]
    assert all(tensor.min() >= 0 and tensor.max() <= 1 for tensor in larger)


def test_no_guess_takes_gigabytes() -> None:
    found = list(candidates(torch.nn.Conv3d(64, 8, 3), {}, None, "", {}))
    assert found
    assert max(tensor.numel() for given in found for tensor in given.kwargs.values()) < 1 << 27


class Prompts(torch.nn.Module):
    """Takes what the graph of it requires: each of several inputs that any caller may leave out."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Linear(2, 16)
        self.shrink = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 2, stride=2), torch.nn.Conv2d(4, 16, 2, stride=2))

    def forward(
        self, points: torch.Tensor | None, boxes: torch.Tensor | None, masks: torch.Tensor | None
    ) -> tuple[torch.Tensor, ...]:
        prompts = [self.embed(points)] if points is not None else []
        prompts += [self.embed(boxes.reshape(-1, 2, 2))] if boxes is not None else []
        return (*prompts, self.shrink(masks)) if masks is not None else (*prompts,)


def test_an_image_among_inputs_of_another_kind_is_found() -> None:
    first = Input((torch.rand(2, 3, 2), torch.rand(2, 4), None))
    [full, *_] = with_optional_inputs(Prompts(), first, {}, lambda: True)
    assert full.by_parameter(Prompts())["masks"].dim() >= 3


def test_candidates_of_another_kind_are_tried_for_what_the_first_ones_miss() -> None:
    """A program that accepts vectors, and has a branch for images."""
    vector, image = Input((torch.rand(2, 8),)), Input((torch.rand(2, 3, 8, 8),))
    asked: list[None] = []

    def runs(given: Input, parts: AbstractSet[str]) -> AbstractSet[str]:
        return parts & {"image"} if given.args[0].dim() == 4 else frozenset()

    def may_run_more() -> bool:
        asked.append(None)
        return True

    def images(wanted: set[str], more: Callable[[], bool]) -> int:
        varied = partial(around, root=NET)
        inputs = find_inputs(iter([vector, image]), varied, runs, wanted, lambda given: False, lambda: True, more)
        return sum(given.args[0].dim() == 4 for given in inputs)

    assert images({"image"}, may_run_more) == LEAST
    assert images({"image"}, lambda: False) == 0
    asked.clear()
    assert images(set(), may_run_more) == 0
    assert not asked


class _Graph(torch.nn.Module):
    """The features of nodes, and which of them are neighbours."""

    def forward(self, x: torch.Tensor, adjacent: torch.Tensor) -> torch.Tensor:
        return adjacent @ x


class _Step(torch.nn.Module):
    """A token of each sequence of a batch, and the state of a recurrent layer, whose second dimension is the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(20, 8)
        self.layer = torch.nn.GRU(8, 12, 2)

    def forward(self, token: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.layer(self.tokens(token)[None], state)[0]
        return found


@pytest.mark.parametrize(
    ("root", "first"),
    [
        (_Graph(), Input((torch.rand(4, 8), torch.rand(4, 4)))),
        (_Step(), Input((torch.zeros(2, dtype=torch.long), torch.rand(2, 2, 12)))),
    ],
    ids=["graph", "step"],
)
def test_a_size_is_varied_where_other_inputs_have_it_in_other_dimensions(root: torch.nn.Module, first: Input) -> None:
    def accepts(given: Input) -> bool:
        try:
            root(*given.args)
        except Exception:
            return False
        return True

    sizes = {len(given.args[0]) for given in around(first, root) if accepts(given)}
    assert {len(first.args[0]) + 1, 2 * len(first.args[0])} <= sizes
