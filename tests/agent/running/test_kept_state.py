"""What a call leaves in attributes and globals."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy
import torch

from fx_lsp.agent.inventing.invented_values import InventedDictionary, InventedSettings
from fx_lsp.agent.running.kept_state import KeptState

scale = 3


class Net(torch.nn.Module):
    """A module that keeps what its calls make."""

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.config = config
        self.recent: deque[int] = deque(maxlen=3)
        self.scale = 1

    def forward(self, x: Any) -> Any:
        """Change one attribute."""
        if self.config is not None:
            return x * self.config.width
        if x is None:
            self.recent.append(scale)
        else:
            self.scale += x
        return x


def left_by(net: Net, x: Any) -> dict[str, Any]:
    """What a call leaves, by name."""
    kept = KeptState(net, net)
    net(x)
    return dict(kept.changes())


def test_a_global_does_not_hide_an_attribute_of_the_same_name() -> None:
    assert left_by(Net(), 1) == {"scale": 2}


def test_a_queue_changes_with_its_items() -> None:
    assert left_by(Net(), None) == {"recent": "deque"}


def test_an_array_changes_with_its_elements() -> None:
    net = Net(numpy.zeros(2))
    kept = KeptState(net, net)
    assert kept.changes() == {}
    net.config[0] = 1
    assert [*kept.changes()] == ["config"]


def test_a_sparse_tensor_is_compared_by_its_type() -> None:
    net = Net()
    for layout in (torch.sparse_coo, torch.sparse_csr):
        kept = KeptState(net, net)
        net.config = torch.eye(2).to_sparse(layout=layout)
        assert kept.changes() == {"config": "Tensor"}


def test_a_call_that_first_reads_an_invented_setting_leaves_nothing() -> None:
    for kind in (InventedSettings, InventedDictionary):
        config = kind("config", lambda path, name: 2, [])
        assert left_by(Net(config), 1) == {}
        assert "width" in vars(config)
        assert len(config.keys()) == 1
