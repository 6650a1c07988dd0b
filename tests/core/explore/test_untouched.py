"""Runs that leave modules as they were."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from fxcore.explore import explore
from fxcore.explore.untouched import untouched


class Keeper(nn.Module):
    """Keeps things on itself and on its submodule."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.register_buffer("count", torch.zeros(1))
        self.state = "before"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state = "after"
        self.seen = x
        self.inner.weight = nn.Parameter(torch.ones(3, 3))
        self.inner.cache = x
        self.added = nn.ReLU()
        self.count = torch.ones(1)
        self.register_buffer("another", torch.ones(2))
        del self.inner.bias
        return x


def contents(root: nn.Module) -> list[dict[str, object]]:
    """All that hangs on a module and its submodules; of registries, what is in them."""
    return [
        {name: dict(value) if isinstance(value, dict) else value for name, value in vars(module).items()}
        for module in root.modules()
    ]


def same(left: list[dict[str, object]], right: list[dict[str, object]]) -> bool:
    flat = [
        [
            (name, *((key, id(item)) for key, item in value.items())) if isinstance(value, dict) else (name, id(value))
            for name, value in module.items()
        ]
        for module in (*left, *right)
    ]
    return flat[: len(left)] == flat[len(left) :]


def test_attributes_parameters_buffers_and_submodules_come_back() -> None:
    root = Keeper()
    before = contents(root)
    with untouched(root):
        root(torch.ones(1))
        assert not same(before, contents(root))
    assert same(before, contents(root))
    assert [name for name, _ in root.named_parameters()] == ["inner.weight", "inner.bias"]


def test_registries_stay_the_same_objects() -> None:
    root = Keeper()
    registry = root._parameters
    with untouched(root):
        root._parameters = {}
    assert root._parameters is registry


def test_an_error_changes_nothing() -> None:
    root = Keeper()
    before = contents(root)

    def fail() -> None:
        with untouched(root):
            root(torch.ones(1))
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert same(before, contents(root))


def test_what_is_written_into_a_tensor_stays() -> None:
    root = Keeper()
    with untouched(root):
        root.count.add_(3)
    assert root.count.item() == 3


def test_functions_have_nothing_to_restore() -> None:
    with untouched(len):
        pass


def test_exploring_leaves_no_traced_values_on_the_model() -> None:
    root = Keeper()
    before = contents(root)
    explore(root)
    assert same(before, contents(root))
