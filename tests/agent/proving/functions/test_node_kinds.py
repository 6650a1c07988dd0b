"""Which nodes surely yield tensors."""

from __future__ import annotations

import operator
import typing
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import fxcore
from fx_lsp.agent.proving.functions.node_kinds import NodeKinds


class Net(torch.nn.Module):
    """Has one module of each kind that matters."""

    def __init__(self, use: Callable[..., Any]) -> None:
        super().__init__()
        self.use = use
        self.lin = torch.nn.Linear(4, 4)
        self.lstm = torch.nn.LSTM(4, 4)
        self.cell = torch.nn.LSTMCell(4, 4)
        self.same = torch.nn.Identity()
        self.drop = torch.nn.Dropout()
        self.relu = torch.nn.ReLU(inplace=True)
        self.pool = torch.nn.MaxPool1d(2, return_indices=True)

    def forward(self, x: Tensor, y: Any, z: Any = None) -> Any:
        return self.use(self, x, y, z)


def result_of(use: Callable[..., Any]) -> tuple[NodeKinds, fxcore.Node]:
    """What is known about the graph, and the node that is returned."""
    net = Net(use)
    graph = fxcore.Tracer().trace(net)
    (returned,) = graph.find_nodes(op="output")[0].args
    assert isinstance(returned, fxcore.Node)
    return NodeKinds(net), returned


TENSORS: dict[str, Callable[..., Any]] = {
    "annotated": lambda net, x, y, z: x,
    "module": lambda net, x, y, z: net.lin(y),
    "method": lambda net, x, y, z: y.unsqueeze(0),
    "arithmetic": lambda net, x, y, z: 1 + y * x,
    "item": lambda net, x, y, z: x[0],
    "function": lambda net, x, y, z: torch.cat(y),
    "cast": lambda net, x, y, z: x.cuda(),
    "part": lambda net, x, y, z: x.T,
}

OTHERS: dict[str, Callable[..., Any]] = {
    "input": lambda net, x, y, z: y,
    "several": lambda net, x, y, z: x.split(2),
    "pair": lambda net, x, y, z: x.max(1),
    "size": lambda net, x, y, z: x.size(0),
    "shape": lambda net, x, y, z: x.shape,
    "lstm": lambda net, x, y, z: net.lstm(x),
    "cell": lambda net, x, y, z: net.cell(x),
    "same": lambda net, x, y, z: net.same(y),
    "indices": lambda net, x, y, z: net.pool(x),
    "sum of others": lambda net, x, y, z: y + 1,
    "cast of others": lambda net, x, y, z: y.to("cpu"),
    "item of others": lambda net, x, y, z: y[0],
    "gradient": lambda net, x, y, z: torch.gradient(x),
    "lists": lambda net, x, y, z: operator.concat(y, z),
}


@pytest.mark.parametrize("name", TENSORS)
def test_what_surely_yields_a_tensor(name: str) -> None:
    kinds, node = result_of(TENSORS[name])
    assert kinds.is_tensor(node)


@pytest.mark.parametrize("name", OTHERS)
def test_what_may_yield_something_else(name: str) -> None:
    kinds, node = result_of(OTHERS[name])
    assert not kinds.is_tensor(node)


@pytest.mark.parametrize(
    ("use", "sure"),
    [
        (lambda net, x, y, z: net.lin(y), True),
        (lambda net, x, y, z: F.relu(y), True),
        (lambda net, x, y, z: torch.flatten(y), True),
        (lambda net, x, y, z: y.view(-1), True),
        (lambda net, x, y, z: net.lin(z), False),  # it has a default
        (lambda net, x, y, z: torch.stack(y), False),
        (lambda net, x, y, z: net.same(y), False),
        (lambda net, x, y, z: y.to("cpu"), False),
    ],
)
def test_what_is_used_as_a_tensor_is_one(use: Callable[..., Any], sure: bool) -> None:
    kinds, node = result_of(use)
    (given,) = node.all_input_nodes
    assert kinds.is_tensor(given) == sure


@pytest.mark.parametrize(
    ("use", "shares"),
    [
        (lambda net, x, y, z: x.view(-1)[0], True),
        (lambda net, x, y, z: net.drop(x), True),
        (lambda net, x, y, z: net.relu(x), True),
        (lambda net, x, y, z: net.lin(x), False),
        (lambda net, x, y, z: x > 1, False),
        (lambda net, x, y, z: x[x > 1], False),
        (lambda net, x, y, z: x[0, 1:], True),
        (lambda net, x, y, z: x.softmax(0), False),
        (lambda net, x, y, z: torch.nonzero(x), False),
        (lambda net, x, y, z: torch.reshape(x, (-1,)), True),
        (lambda net, x, y, z: x.contiguous(), True),
        (lambda net, x, y, z: x.type_as(y), True),
        (lambda net, x, y, z: torch.dropout(x, 0.1, False), True),
        (lambda net, x, y, z: F.relu(x, inplace=True), True),
        (lambda net, x, y, z: x + 1, True),  # as far as a trace shows, this may be ``x += 1``
    ],
)
def test_whose_memory_a_tensor_may_have(use: Callable[..., Any], shares: bool) -> None:
    kinds, node = result_of(use)
    assert (kinds.memory_of(node) is not node) == shares


@pytest.mark.parametrize(
    ("annotation", "sure"),
    [
        (dict[str, Tensor], True),
        (typing.Optional[typing.List[Tensor]], True),  # noqa: UP006, UP045 - as strangers write it
        (list[Tensor] | None, True),
        (tuple[Tensor, ...], True),
        ("Dict[str, torch.Tensor]", True),
        ("dict[str, Image]", False),
        (dict[str, typing.Any], False),
        (tuple[Tensor, int], False),
        (dict[str, list[Tensor]], False),
        (list, False),
        (Tensor | list[Tensor], False),
        (None, False),
    ],
    ids=str,
)
def test_what_an_annotated_container_holds(annotation: object, sure: bool) -> None:
    kinds, node = result_of(lambda net, x, y, z: y[0])
    (given,) = node.all_input_nodes
    given.type = annotation
    assert kinds.is_tensor(node) == sure
