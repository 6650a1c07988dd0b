"""That weights and buffers are what they were before once a program was run with others."""

from __future__ import annotations

import pytest
import torch

from fx_lsp.agent.running.weight_changes import WeightChange, with_weights


class Net(torch.nn.Module):
    """Has a buffer that torch does not let anyone write to, in front of others."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("expanded", torch.ones(1, dtype=torch.long).expand(4))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.layer = torch.nn.Linear(2, 2)


def values(net: Net) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in net.state_dict().items()}


@pytest.mark.parametrize("change", [WeightChange(factor=10.0), WeightChange(filled=7)])
def test_all_is_restored_though_a_buffer_can_not_be_written_to(change: WeightChange) -> None:
    net = Net()
    before = values(net)
    with with_weights(net, change):
        assert any(not torch.equal(before[name], value) for name, value in values(net).items())
    assert all(torch.equal(before[name], value) for name, value in values(net).items())


def test_what_the_program_replaces_is_restored_if_it_fails() -> None:
    net = Net()
    weight, before = net.layer.weight, values(net)

    def run_in_vain() -> None:
        with with_weights(net, WeightChange(factor=10.0)):
            net.layer.weight = torch.nn.Parameter(torch.zeros(2, 2))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in_vain()
    assert net.layer.weight is weight
    assert torch.equal(before["layer.weight"], weight)
