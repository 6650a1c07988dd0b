"""Weights that nothing initializes, and random numbers, are the same in each process."""

import sys

import numpy
import pytest
import torch

from fx_lsp.agent.running.observation import (
    NUDGE,
    Input,
    filled_memory,
    observe,
    perturb_weights,
    zero_unset_weights,
)


def test_what_nothing_initializes_is_zero() -> None:
    with filled_memory():
        linear = torch.nn.Linear(2, 2)
        linear.bias = torch.nn.Parameter(torch.empty(2))
        linear.register_buffer("table", torch.empty(3, dtype=torch.complex64))
    initialized = linear.weight.clone()
    assert linear.bias.isnan().all()
    zero_unset_weights(linear)
    assert [linear.bias.tolist(), linear.get_buffer("table").tolist()] == [[0, 0], [0, 0, 0]]
    assert linear.weight.equal(initialized)
    assert not torch.are_deterministic_algorithms_enabled()


def test_memory_is_filled_without_the_compiler_which_takes_seconds_to_load(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch._inductor", "torch._inductor.config"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it raises an exception
    with filled_memory():
        assert torch.empty(2).isnan().all()


def test_tensors_that_torch_can_not_search_or_change_stay() -> None:
    net = torch.nn.Module()
    net.register_buffer("adjacency", torch.eye(3).to_sparse())
    net.register_buffer("scales", torch.ones(3).to(torch.float8_e4m3fn))
    net.register_buffer("elsewhere", torch.empty(3, device="meta"))
    net.register_buffer("lazy", torch.nn.UninitializedBuffer())
    with torch.inference_mode():
        net.register_buffer("mean", torch.ones(3))
    last = torch.nn.Parameter(torch.full((2,), float("nan")))
    net.register_module("last", torch.nn.ParameterList([last]))
    zero_unset_weights(net)
    assert last.tolist() == [0, 0], "the others do not end the search"
    assert net.get_buffer("adjacency").to_dense().equal(torch.eye(3))


def test_noise_differs_between_the_rows_of_a_large_weight() -> None:
    net = torch.nn.Linear(1000, 1200)
    torch.nn.init.zeros_(net.weight)
    perturb_weights(net, {"weight"})
    assert len(torch.unique(net.weight, dim=0)) == 1200
    assert net.weight.std().item() == pytest.approx(NUDGE, rel=0.05)


def test_infinities_are_no_unset_weights() -> None:
    net = torch.nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        net.weight[0] = torch.tensor([torch.inf, -torch.inf])
    zero_unset_weights(net)
    assert net.weight.tolist() == [[torch.inf, -torch.inf]]


def test_numbers_that_numpy_draws_are_the_same_each_time() -> None:
    def drawn(x: torch.Tensor, count: int) -> torch.Tensor:
        return x * float(numpy.random.rand(count).sum())

    def once(count: int) -> tuple[object, int]:
        seen = observe(drawn, Input((torch.ones(2), count)), torch.nn.Module(), (), gradients=False)
        return seen.output.tolist(), seen.random_state

    assert once(1) == once(1)
    assert once(1)[1] != once(2)[1]
