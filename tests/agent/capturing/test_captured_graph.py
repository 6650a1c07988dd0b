"""The graph that a capture yielded, as a real agent describes it for views."""

from __future__ import annotations

import contextlib

import pytest
import torch

from fx_lsp.agent.messages import Capture, Details, Snippet, Trace
from tests.agent.client import PATIENT, Client, target_of

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked"),
]

NET = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("mean", torch.ones(4))

    def forward(self, x):
        é = self.linear(x); return torch.relu(é) + self.mean


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        if x.shape[0] < 0 or {condition}:
            x = -x
        return x
"""


async def described(client: Client, capture: Capture, condition: str = "False") -> Details | None:
    """The last details of ``Net``; None if there were none."""
    file = client.write("net.py", NET.format(condition=condition))
    target = target_of(file, "Net()", inputs=Snippet("(torch.randn(3, 4),)", 1))
    request = Trace(file, (target,), roots=(str(client.root),), limits=PATIENT, capture=capture)
    last = None
    async with contextlib.aclosing(client.agent.describe(request)) as answers:
        async for details in answers:
            last = details
    return last


async def test_an_exported_program_has_shapes_places_and_modules(client: Client) -> None:
    details = await described(client, "export")
    assert details is not None
    assert details.input == "x: [3, 4]"
    by_name = {node.name: node for node in details.nodes}
    linear = by_name["linear_1"]
    assert (linear.op, linear.target, linear.scope) == ("call_function", "aten.linear.default", "blocks.1.linear")
    assert (linear.value, linear.shape, linear.dtype) == ("[3, 4] float32", ("3", "4"), "float32")
    assert linear.inputs == ("add", "p_blocks_1_linear_weight", "p_blocks_1_linear_bias")
    assert by_name["relu"].scope == "blocks.0"
    assert by_name["relu"].span is not None
    assert (by_name["relu"].span.line, by_name["relu"].span.col) == (12, 8)
    weight, mean = by_name["p_blocks_1_linear_weight"], by_name["b_blocks_0_mean"]
    assert (weight.op, weight.target, weight.scope) == ("get_attr", "blocks.1.linear.weight", "blocks.1.linear")
    assert (mean.op, mean.target, mean.scope) == ("get_attr", "blocks.0.mean", "blocks.0")
    assert [(call.path, call.type, call.depth) for call in details.order] == [
        ("", "Net", 0),
        ("blocks.0", "Block", 1),
        ("blocks.0.linear", "Linear", 2),
        ("blocks.1", "Block", 1),
        ("blocks.1.linear", "Linear", 2),
    ]
    first, _ = details.order[2].parameters
    assert (first.name, first.count) == ("blocks.0.linear.weight", 16)


async def test_the_graph_of_a_compilation_has_shapes_places_and_modules(client: Client) -> None:
    details = await described(client, "compile")
    assert details is not None
    linear = [node for node in details.nodes if node.target.endswith("linear")]
    assert [node.scope for node in linear] == ["blocks.0.linear", "blocks.1.linear"]
    assert [(node.value, node.span and node.span.line) for node in linear] == [("[3, 4] float32", 12)] * 2
    assert [node.scope for node in details.nodes if node.target == "L_x_"] == [""]
    assert [call.path for call in details.order][:2] == ["", "blocks.0"]


@pytest.mark.parametrize("capture", ["export", "compile"])
async def test_there_is_no_graph_of_a_capture_that_fails(client: Client, capture: Capture) -> None:
    assert await described(client, capture, "x.sum() > 0") is None
