"""Which attributes of its object a part of a method reads."""

from __future__ import annotations

import ast

import pytest
import torch

from fx_lsp.agent.proving.functions.edited_function import functions_of, settings_of
from fx_lsp.agent.proving.functions.names_read import attributes_of_owner

TEXT = """\
class Net:
    def forward(self, x):
        return {}

    def halved(self, x):
        return self.doubled(x) / self.factor

    def doubled(this, x):
        return this.halved(x) if this.deep else x

    def shown(self):
        return repr(self)

class Other:
    def scaled(self, x):
        return self.hidden
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x + 1", set()),
        ("self.width * x", {"width"}),
        ("self.layers[0](self.norm(x))", {"layers", "norm"}),
        ("self.halved(x)", {"factor", "deep"}),
        ("self.scaled(x)", {"scaled"}),
        ("super().forward(x)", None),
        ("self(x)", None),
        ("print(self, self.width)", None),
        ("self.shown()", None),
    ],
)
def test_attributes_also_of_methods_that_are_called(expression: str, expected: set[str] | None) -> None:
    functions = dict(functions_of(ast.parse(TEXT.format(expression)).body))
    body = functions["Net.forward"].body
    assert attributes_of_owner([body, body], [functions, functions], "Net.forward") == expected


class Block(torch.nn.Module):
    """Differs from others of its class in its rate and in a part."""

    def __init__(self, rate: float, part: torch.nn.Module) -> None:
        super().__init__()
        self.rate, self.width, self.part = rate, 4, part

    def shown(self) -> float:
        return self.rate


@pytest.mark.parametrize(
    ("attributes", "alike"),
    [({"width"}, True), ({"rate"}, False), ({"part"}, False), ({"shown"}, False), (None, False)],
)
def test_only_the_attributes_that_are_read_have_to_be_alike(attributes: set[str] | None, alike: bool) -> None:
    blocks = Block(0.1, torch.nn.ReLU()), Block(0.2, torch.nn.Tanh())
    first, second = (settings_of(block, attributes) for block in blocks)
    assert (first == second) == alike


def test_parts_that_are_read_have_to_be_alike_inside() -> None:
    blocks = [Block(0.1, torch.nn.Sequential(torch.nn.Dropout(rate))) for rate in (0.1, 0.1, 0.2)]
    first, second, third = (settings_of(block, {"part"}) for block in blocks)
    assert first == second
    assert first != third


def test_every_number_of_a_buffer_counts() -> None:
    blocks = [Block(0.1, torch.nn.ReLU()) for _ in range(2)]
    for at, block in enumerate(blocks):
        block.register_buffer("table", torch.arange(2000.0) + at * (torch.arange(2000) == 1000))
    first, second = (settings_of(block, {"table"}) for block in blocks)
    assert first != second
