"""merge_matmul against torch.fx: the same code and results."""

from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.experimental.merge_matmul as theirs

import fxcore.experimental.merge_matmul as ours
from fxcore._symbolic_trace import symbolic_trace
from tests.core.code_text import code_of


class Weights(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(3, 4))
        self.v = torch.nn.Parameter(torch.rand(4, 4))


class Attribute(Weights):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> Any:
        return torch.matmul(a, self.w) + 1, torch.matmul(b.relu(), self.w)


class Value(Weights):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> Any:
        w = self.w * 2
        x = torch.matmul(a, w)
        y = torch.matmul(torch.cos(b), w)
        z = torch.matmul(torch.cat([a, b]), w)
        return x.sum() + y.sum(), z


class Chained(Weights):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> Any:
        first = torch.matmul(torch.matmul(a, self.w), self.v)
        return torch.matmul(first, self.v)


class Lonely(Weights):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> Any:
        return torch.matmul(a, self.w), b @ self.w


class Crossed(Weights):
    """Two pairs that can be merged, but not both: each has a member that needs one of the other."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> Any:
        c = torch.cat([a, a[:, :1]], 1)
        w, v = self.v, self.v * 2
        p1 = torch.matmul(c, w)
        q1 = torch.matmul(p1.relu(), v)
        q2 = torch.matmul(c.cos(), v)
        p2 = torch.matmul(q2.relu(), w)
        return q1, p2


class Two(Weights):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> Any:
        left, right = torch.matmul(a, self.w), torch.matmul(b, self.w)
        return torch.matmul(left, self.v), torch.matmul(right, self.v)


@pytest.mark.parametrize("cls", [Attribute, Value, Chained, Lonely])
def test_merging(cls: Any) -> None:
    model = cls()
    mine, reference = ours.merge_matmul(model), theirs.merge_matmul(model)
    own, their_own = (f"{module.__name__}.split_result_tensors" for module in (ours, theirs))
    assert code_of(mine).replace(own.replace(".", "_"), own) == code_of(reference).replace(their_own, own)
    a, b = torch.rand(2, 3), torch.rand(5, 3)
    torch.testing.assert_close(mine(a, b), model(a, b))


@pytest.mark.parametrize(("cls", "products"), [(Crossed, 3), (Two, 2)])
def test_several_groups(cls: Any, products: int) -> None:
    model = cls()
    mine = ours.merge_matmul(model)
    assert mine.code.count("torch.matmul(") == products
    a, b = torch.rand(2, 3), torch.rand(5, 3)
    torch.testing.assert_close(mine(a, b), model(a, b))


def chain(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x
    for _ in range(9):
        z = z.relu()
    return z + y.sin(), y.cos()


def test_dependence() -> None:
    mine = list(symbolic_trace(chain).graph.nodes)
    reference = list(torch.fx.symbolic_trace(chain).graph.nodes)
    for depth in (0, 1, 3, 6, 12):
        for i in range(len(mine)):
            for j in range(len(mine)):
                expected = theirs.may_depend_on(reference[i], reference[j], depth)
                assert ours.may_depend_on(mine[i], mine[j], depth) == expected
    for i in range(len(mine) - 3):
        assert ours.are_nodes_independent(mine[i : i + 3]) == theirs.are_nodes_independent(reference[i : i + 3])
