"""What counts as a side effect of a function that is run alone."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch

from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.running.side_effects import Effects, UnknownEffects, effects_of, weights_after


class Settings:
    def __init__(self) -> None:
        self.sizes = {"rows": [1]}


class Net(torch.nn.Module):
    """Keeps a number in a list in a dict in an object in a tuple."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = (Settings(),)
        self.counts = numpy.zeros(1)
        self.norm = torch.nn.BatchNorm1d(2)

    def changing(self, x: torch.Tensor) -> torch.Tensor:
        self.kept[0].sizes["rows"][0] = len(x)
        return x

    def counting(self, x: torch.Tensor) -> torch.Tensor:
        self.counts += 1
        return x

    def returning_array(self, x: torch.Tensor) -> object:
        return [x.numpy()]

    def copying_array(self, x: torch.Tensor) -> object:
        return [x.numpy().copy()]

    def keeping(self, x: torch.Tensor) -> torch.Tensor:
        self.last = x[1:].numpy()
        return x

    def keeping_copy(self, x: torch.Tensor) -> torch.Tensor:
        self.last = x[1:].numpy().copy()
        return x

    def keeping_object(self, x: torch.Tensor) -> torch.Tensor:
        self.last = iter(x)
        return x

    def setting(self, x: torch.Tensor) -> torch.Tensor:
        torch.set_grad_enabled(False)
        return x

    def shifting(self, x: torch.Tensor) -> torch.Tensor:
        self.norm.weight.data[1] += 1
        return x

    def sharing(self, x: torch.Tensor) -> object:
        return self.norm(x), self.kept[0].sizes["rows"]

    def copying(self, x: torch.Tensor) -> object:
        return self.norm(x), [*self.kept[0].sizes["rows"]]


GIVEN = Input((torch.rand(3, 2),))


def effects(function: Any) -> Effects:
    """The side effects of a call with `GIVEN`."""
    (found,) = effects_of(function, GIVEN)
    return found


def test_a_call_is_compared_with_what_the_one_before_has_left() -> None:
    net = Net()
    assert [*effects_of(net.keeping, GIVEN, GIVEN)] == [effects(Net().keeping), effects(net.keeping)]
    calls = effects_of(net.sharing, GIVEN, GIVEN)
    next(calls)
    net.counts[0] = 1
    with pytest.raises(UnknownEffects, match="keeps"):
        next(calls)


@pytest.mark.parametrize("method", [Net.changing, Net.counting])
def test_what_is_kept_may_change_at_any_depth(method: Any) -> None:
    with pytest.raises(UnknownEffects, match="keeps"):
        effects(method.__get__(Net()))


@pytest.mark.parametrize(
    ("method", "other"), [(Net.returning_array, Net.copying_array), (Net.keeping, Net.keeping_copy)]
)
def test_arrays_may_share_memory(method: Any, other: Any) -> None:
    assert effects(method.__get__(Net())) == effects(method.__get__(Net()))
    assert effects(method.__get__(Net())) != effects(other.__get__(Net()))


def test_an_object_that_can_not_be_compared_is_not_set_unnoticed() -> None:
    with pytest.raises(UnknownEffects, match="object of type"):
        effects(Net().keeping_object)


def test_a_setting_of_torch_is_kept() -> None:
    with torch.enable_grad(), pytest.raises(UnknownEffects):
        effects(Net().setting)


def test_what_is_shared_may_be_at_any_depth() -> None:
    net = Net()
    assert effects(net.sharing) != effects(net.copying)


def test_weights_may_be_changed_unnoticed_by_torch() -> None:
    net = Net()
    before = weights_after(net.shifting)
    effects(net.sharing)
    net.norm.weight.data.clone().add_(1)
    assert weights_after(net.shifting)[:2] == before[:2]  # batch norm has counted in its buffers
    effects(net.shifting)
    assert [one == other for one, other in zip(weights_after(net.shifting)[:2], before, strict=False)] == [False, True]


def test_what_has_no_plain_memory_has_no_checksum() -> None:
    net = torch.nn.Module()
    net.a = torch.nn.Parameter(torch.empty(2, device="meta"))
    net.b = torch.nn.Parameter(torch.empty(0))
    net.forward = lambda: None
    assert weights_after(net) == ("", "(0,) 0")
