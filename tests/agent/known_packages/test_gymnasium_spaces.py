"""The spaces of gymnasium say how large observations and actions are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fx_lsp.agent.importing.stand_ins import StandIn

spaces: Any = StandInModule("gymnasium.spaces")


@pytest.mark.parametrize(
    ("make", "shape", "dtype"),
    [
        (lambda: spaces.Box(-1, 1, (3, 4)), (3, 4), np.float32),
        (lambda: spaces.Box(low=0, high=255, shape=[2, 2], dtype=np.uint8), (2, 2), np.uint8),
        (lambda: spaces.Box(np.zeros(5), np.ones(5)), (5,), np.float32),
        (lambda: spaces.Box(0.0, 1.0), (1,), np.float32),
        (lambda: spaces.Discrete(4), (), np.int64),
        (lambda: spaces.MultiDiscrete([2, 3]), (2,), np.int64),
        (lambda: spaces.MultiBinary(3), (3,), np.int8),
        (lambda: spaces.MultiBinary([3, 2]), (3, 2), np.int8),
        (lambda: spaces.Tuple([spaces.Discrete(2)]), None, None),
    ],
)
def test_a_space_has_a_shape_and_a_type(make: Any, shape: Any, dtype: Any) -> None:
    space = make()
    assert (space.shape, space.dtype) == (shape, dtype)
    assert isinstance(space, spaces.Space)
    assert isinstance(space, spaces.Tuple | spaces.Space | None)
    assert not isinstance(space, str | spaces.Dict)


def test_what_spaces_are_made_of() -> None:
    box = spaces.Box(-1, 1, (2,))
    assert (box.low.tolist(), box.high.tolist()) == ([-1, -1], [1, 1])
    assert (box.sample().shape, box.sample().dtype) == ((2,), np.float32)
    assert spaces.Box(1, 2, (2,)).sample().tolist() == [1, 1]
    assert (spaces.Discrete(4).n, spaces.MultiDiscrete([2, 3]).nvec.tolist()) == (4, [2, 3])
    both = spaces.Dict({"position": box, "action": spaces.Discrete(2)}, more=box)
    assert ([*both], both["position"], len(both), both.spaces["more"]) == (["action", "position", "more"], box, 3, box)
    assert spaces.Tuple((box, box))[1] is box
    assert StandInModule("gymnasium.spaces.utils").flatdim(both) == 6
    assert StandInModule("gym.spaces").Discrete(4).n == 4


def test_spaces_are_compared_by_what_they_are() -> None:
    assert spaces.Box(0, 1, (2,)) == spaces.Box(np.zeros(2), np.ones(2))
    assert spaces.Dict({"a": spaces.Discrete(4)}) == spaces.Dict(a=spaces.Discrete(4))
    assert spaces.Discrete(4) != spaces.Discrete(5)
    assert spaces.Box(0, 1, (2,)) != spaces.Box(0, 1, (3,))
    assert spaces.Discrete == type(spaces.Discrete(4)) != spaces.MultiBinary  # noqa: E721 (programs write it)
    assert {spaces.Discrete: "logits"}[type(spaces.Discrete(4))] == "logits"


def test_several_numbers_are_spaces_of_one_each() -> None:
    several = spaces.MultiDiscrete([[2, 3], [4, 5]])
    assert (len(several), several[1], several[1][0]) == (2, spaces.MultiDiscrete([4, 5]), spaces.Discrete(4))


def test_what_differs_between_versions_is_not_known() -> None:
    assert isinstance(spaces.Box(-np.inf, np.inf, (2,), np.int64).high, StandIn)
    assert 3 in spaces.Discrete(4)
    assert "a" in spaces.Dict(a=spaces.Discrete(4)).keys()  # noqa: SIM118 (gymnasium's `in` asks for a whole value)


def test_what_is_drawn_from_a_space_is_not_known() -> None:
    assert isinstance(spaces.Discrete(4).sample(), StandIn)
    with pytest.raises(AttributeError):
        _ = spaces.Box(0, 1, (2,)).n
