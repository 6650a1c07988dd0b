"""Large weights are filled with random numbers that are repeated."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from fx_lsp.agent.missing.device_redirection import Devices
from fx_lsp.agent.missing.random_weights import LARGE, PERIOD, add_noise

CHANNELS = torch.channels_last
SHAPE = (8, LARGE // 8 + 3)


def filled(fill: Callable[[torch.Tensor], object], shape: tuple[int, ...] = SHAPE) -> torch.Tensor:
    """A weight that was filled while a module is built."""
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.empty(shape))
    with Devices():
        assert fill(weight) is weight
    return weight.detach()


def truncated(weight: torch.Tensor) -> torch.Tensor:
    """As older versions of torch, and many programs, make a truncated normal distribution."""
    with torch.no_grad():
        weight.uniform_(-0.95, 0.95)
        return weight.erfinv_().mul_(2**0.5)


@pytest.mark.parametrize(
    "fill",
    [
        torch.nn.init.kaiming_uniform_,
        torch.nn.init.xavier_normal_,
        torch.nn.init.normal_,
        torch.nn.init.uniform_,
        truncated,
    ],
)
def test_a_large_weight_has_numbers_of_the_same_distribution(fill: Callable[[torch.Tensor], object]) -> None:
    torch.manual_seed(0)
    expected = torch.empty(SHAPE)
    fill(expected)
    found = filled(fill)
    assert torch.equal(found.view(-1)[:PERIOD], found.view(-1)[PERIOD : 2 * PERIOD])
    assert found.mean().item() == pytest.approx(expected.mean().item(), abs=0.01 * expected.std().item())
    assert found.std().item() == pytest.approx(expected.std().item(), rel=0.01)
    assert len(torch.unique(found, dim=0)) == SHAPE[0]


def test_a_small_weight_is_filled_as_torch_does() -> None:
    torch.manual_seed(0)
    expected = torch.empty(4, 4).uniform_()
    with torch.no_grad():
        assert torch.equal(filled(torch.Tensor.uniform_, (4, 4)), expected)


def test_other_values_are_not_repeated() -> None:
    values = torch.rand(LARGE) / 2
    weight = values.clone()
    with Devices():
        weight.erfinv_()
    assert torch.equal(weight, values.erfinv_())


def test_what_torch_refuses_is_refused() -> None:
    with Devices():
        with pytest.raises(RuntimeError, match="leaf"):
            torch.nn.Parameter(torch.empty(LARGE)).normal_()
        with pytest.raises(RuntimeError, match="std"):
            torch.empty(LARGE).normal_(0, -1)


def test_a_tensor_that_has_no_memory_order_is_left_to_torch() -> None:
    sparse = torch.eye(3).to_sparse_csr()
    with Devices():
        sparse.normal_()
    assert sparse.values().std() > 0


def test_the_default_device_does_not_matter() -> None:
    torch.set_default_device("meta")
    try:
        with Devices():
            weight = torch.empty(LARGE, device="cpu").normal_()
    finally:
        torch.set_default_device(None)
    assert weight.std().item() == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    "weight", [torch.zeros(0, 4), torch.zeros(3), torch.zeros(()), torch.zeros(2, 3, 4, 5).to(memory_format=CHANNELS)]
)
def test_each_weight_gets_noise(weight: torch.Tensor) -> None:
    add_noise(weight, 1, torch.Generator().manual_seed(0))
    assert len(weight.unique()) == weight.numel()  # type: ignore[no-untyped-call]
