"""What a trace shows of the variables of a function."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch import Tensor

import fxcore
from fx_lsp.agent.building.build import Built
from fx_lsp.agent.messages import Recipe, Snippet
from fx_lsp.agent.proving.functions.traced_variables import Parameter, Variables, variables_at
from fx_lsp.agent.proving.run_in_child import ProofEnded


class Net(torch.nn.Module):
    """Its forward is one of its methods, whose variables are looked at."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method
        self.lin = torch.nn.Linear(4, 4)
        self.alike = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])
        self.mixed = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.ReLU()])

    def forward(self, x: Any, y: Any, flag: bool = False) -> Any:
        return getattr(self, self.method)(x, y, flag)

    def sized(self, x: Any, y: Any, flag: bool) -> Any:
        batch = x.view(-1, 4).shape[0]
        z = self.lin(y)
        both = [z, {"x": x}]
        return batch, z, both, flag

    def looped(self, x: Any, y: Any, flag: bool) -> Any:
        for number, part in enumerate(self.alike):
            x = part(x) * number
        return x, y, flag

    def mixing(self, x: Any, y: Any, flag: bool) -> Any:
        for part in self.mixed:
            x = part(x)
        return x, y, flag

    def guessing(self, x: Any, y: Any, flag: bool) -> Any:
        count, other = len(x), y + len(y)
        return x * count, other, flag

    def failing(self, x: Any, y: Any, flag: bool) -> Any:
        if self.training:
            raise ValueError
        return x, y, flag


def found(method: str, text: str, *names: str) -> Variables:
    """What the variables hold at the line of a method that has ``text``."""
    net = Net(method)
    code = getattr(Net, method).__code__
    lines, first = inspect.getsourcelines(code)
    (at,) = (first + number for number, line in enumerate(lines) if text in line)
    built = Built(net, None, fxcore.Tracer(), Recipe(Snippet("Net()", 1)), "Net()")
    return variables_at(built, code, range(at, at + 1), names)


def test_sizes_are_computed_from_the_tensors_that_have_them() -> None:
    variables = found("sized", "return batch", "batch", "z", "both", "flag")
    kinds = {one.name: one.kind for one in variables.parameters}
    assert kinds == {"view": Tensor, "z": Tensor, "both_1_x": Tensor, "flag": bool}
    x, z = torch.rand(3, 4), torch.rand(2, 4)
    given = {"view": x, "z": z, "both_1_x": x, "flag": True}
    values = dict(zip(variables.values, variables(*(given[name] for name in kinds)), strict=True))
    assert values == {"batch": 3, "z": z, "both": [z, {"x": x}], "flag": True}
    assert values["both"][0] is z


def test_what_nothing_is_known_about_has_no_kind() -> None:
    assert found("sized", "batch =", "x", "y").parameters == [Parameter("x", None), Parameter("y", None)]


def test_numbers_that_differ_from_one_time_to_the_next_are_given() -> None:
    variables = found("looped", "x = part(x)", "x", "number", "part")
    assert variables.parameters == [Parameter("x", None), Parameter("number", int)]
    x = torch.rand(2, 4)
    assert [type(value) for value in variables(x, 5)] == [int, torch.nn.Linear, Tensor]


def test_numbers_that_a_guess_may_have_led_to_are_given() -> None:
    variables = found("guessing", "return x * count", "count")
    assert variables.parameters == [Parameter("count", int)]


@pytest.mark.parametrize(
    ("method", "text", "reason"),
    [("mixing", "x = part(x)", "hold other values each time"), ("failing", "return", "doesn't come to line")],
)
def test_what_is_not_known(method: str, text: str, reason: str) -> None:
    with pytest.raises(ProofEnded, match=reason):
        found(method, text, "x", "part")
