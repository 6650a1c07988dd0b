"""What a trace shows of the variables of a function."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import Any

import pytest
import torch
from torch import Tensor

import fxcore
from fx_lsp.agent.building.build import Built
from fx_lsp.agent.messages import Recipe, Snippet
from fx_lsp.agent.proving.functions.described_variables import Parameter, Variables
from fx_lsp.agent.proving.functions.edited_function import definition_of
from fx_lsp.agent.proving.functions.traced_variables import variables_at
from fx_lsp.agent.proving.run_in_child import ProofEnded


class Net(torch.nn.Module):
    """Its forward is one of its methods, whose variables are looked at."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method
        self.factor = 1.0
        self.lin = torch.nn.Linear(4, 4)
        self.table = torch.nn.Parameter(torch.rand(4, 4))
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

    def alternating(self, x: Any, y: Any, flag: bool) -> Any:
        for part in (self.table, x.view(-1, 4), torch.ones(4, 4)):
            flag = part.shape[0] > 1
        return x, y, flag

    def reading(self, x: Any, y: Any, flag: bool) -> Any:
        boxes, labels = y["boxes"], y["labels"]
        return x, boxes, labels, flag

    def mixing(self, x: Any, y: Any, flag: bool) -> Any:
        for part in self.mixed:
            x = part(x)
        return x, y, flag

    def guessing(self, x: Any, y: Any, flag: bool) -> Any:
        count, other = len(x), y + len(y)
        return x * count, other, flag

    def naming(self, x: Any, y: Any, flag: bool) -> Any:
        parts = [x]
        alias, copy = parts, [*parts]
        return parts, alias, copy, y, flag

    def failing(self, x: Any, y: Any, flag: bool) -> Any:
        return y if self.training else x, flag

    def setting(self, x: Any, y: Any, flag: bool) -> Any:
        self.factor = 2.0
        return x, y, flag

    def closing(self, x: Any, y: Any, flag: bool) -> Any:
        scale = 2.0

        def scaled(t: Any) -> Any:
            return t * scale

        return scaled(x), y, flag

    def keeping(self, x: Any, y: Any, flag: bool) -> Any:
        kept = iter([1])
        return x, y, flag, kept

    def switching(self, x: Any, y: Any, flag: bool) -> Any:
        with torch.no_grad():
            x = x + 1
        return x, y, flag

    def casting(self, x: Any, y: Any, flag: bool) -> Any:
        with torch.autocast("cpu"):
            x = x + 1
        return x, y, flag


def found(method: str, text: str, *names: str, attributes: Collection[str] | None = ()) -> Variables:
    """What the variables hold at the line of a method that has ``text``."""
    net = Net(method)
    defined = definition_of(getattr(net, method))
    assert defined is not None
    lines, first = inspect.getsourcelines(defined.plain)
    (at,) = (first + number for number, line in enumerate(lines) if text in line)
    built = Built(net, None, fxcore.Tracer(), Recipe(Snippet("Net()", 1)), "Net()")
    variables = variables_at(built, defined, range(at, at + 1), names, attributes)
    assert variables is not None
    return variables


def test_sizes_are_computed_from_the_tensors_that_have_them() -> None:
    variables = found("sized", "return batch", "batch", "z", "both", "flag")
    assert {one.name: (one.kind, one.default) for one in variables.parameters} == {
        "view_": (Tensor, ()),
        "z": (Tensor, ()),
        "both_1_x": (Tensor, ()),
        "flag": (bool, (False,)),
    }
    x, z = torch.rand(3, 4), torch.rand(2, 4)
    values = dict(zip(variables.values, variables(view_=x, z=z, both_1_x=x, flag=True), strict=True))
    assert values == {"batch": 3, "z": z, "both": [z, {"x": x}], "flag": True}
    assert values["both"][0] is z


def test_what_nothing_is_known_about_has_no_kind() -> None:
    assert found("sized", "batch =", "x", "y").parameters == [Parameter("x", None), Parameter("y", None)]


def test_numbers_are_given() -> None:
    variables = found("looped", "x = part(x)", "x", "number", "part")
    assert variables.parameters == [Parameter("number", int, (0,)), Parameter("x", None)]
    values = variables(x=torch.rand(2, 4), number=5)
    assert [type(value) for value in values] == [int, torch.nn.Linear, Tensor]


def test_a_weight_in_the_place_of_a_tensor_is_any_tensor() -> None:
    variables = found("alternating", "flag =", "part")
    assert variables.parameters == [Parameter("part", Tensor)]
    assert variables.may_share_memory


def test_what_a_mapping_holds_is_given() -> None:
    variables = found("reading", "return", "boxes", "labels")
    assert variables.parameters == [Parameter("boxes", None), Parameter("labels", None)]


def test_numbers_that_a_guess_may_have_led_to_are_given() -> None:
    variables = found("guessing", "return x * count", "count")
    assert [(one.name, one.kind) for one in variables.parameters] == [("count", int)]


def test_a_container_with_two_names_is_one() -> None:
    variables = found("naming", "return parts", "parts", "alias", "copy")
    values = dict(zip(variables.values, variables(**{variables.parameters[0].name: torch.ones(1)}), strict=True))
    parts, alias, copy = values["parts"], values["alias"], values["copy"]
    assert parts is alias
    assert parts is not copy


@pytest.mark.parametrize(
    ("method", "text", "attributes", "reason"),
    [
        ("mixing", "x = part(x)", (), "hold other values each time"),
        ("setting", "return", None, "what the program has set before"),
        ("setting", "return", ("factor",), "what the program has set before"),
        ("closing", "return scaled", (), "an object that may change"),
        ("keeping", "return", (), "an object that may change"),
        ("casting", "x = x + 1", (), "what the program has set before"),
    ],
)
def test_what_is_not_known(method: str, text: str, attributes: Collection[str] | None, reason: str) -> None:
    with pytest.raises(ProofEnded, match=reason):
        found(method, text, "x", "part", "scaled", "kept", attributes=attributes)


def test_whether_there_are_gradients() -> None:
    assert not found("switching", "x = x + 1", "x").has_gradients
    assert found("switching", "return", "x").has_gradients


def test_what_is_set_before_counts_only_if_it_is_read() -> None:
    assert found("setting", "return", "x", attributes=("lin",)).parameters
