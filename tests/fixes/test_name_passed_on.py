"""``*args`` and ``**kwargs`` that a forward only passes on are replaced by the parameters that they can fill."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.fixes import name_passed_on
from tests.fixes.fixing import INPUTS, Program, applied, check, refuse, same

PROGRAM = """\
import torch
from torch import nn


class Base(nn.Module):
    def forward(self, x, shift=0.5, *, scale=2.0):
        return x * scale + shift


class Masked(nn.Module):
    def forward(self, x, mask=None, scale=2.0):
        return x * scale if mask is None else x * mask


class Slotted:
    __slots__ = ()

    def scaled(self, x, **options):
        return x


class Net(Base):
    def __init__(self):
        super().__init__()
        self.base = Base()
        self.masked = Masked()

    def loss(self, x, target, weight=1.0):
        return (x - target) * weight

    def forward(self, {parameters}):
        {body}
"""

CASES = {
    "of the base class": (
        ("x, **kwargs", "return super().forward(x, **kwargs)"),
        ("x, shift=0.5, scale=2.0", "return super().forward(x, shift=shift, scale=scale)"),
    ),
    "of a base that is named": (
        ("x, **kwargs", "return super(Net, self).forward(x, shift=1.0, **kwargs)"),
        ("x, scale=2.0", "return super(Net, self).forward(x, shift=1.0, scale=scale)"),
    ),
    "of a submodule": (
        ("x, *args, **kwargs", "return self.base(x, *args, **kwargs)"),
        ("x, shift=0.5, scale=2.0", "return self.base(x, shift=shift, scale=scale)"),
    ),
    "by position only": (
        ("x, *args", "return self.base(x, *args)"),
        ("x, shift=0.5", "return self.base(x, shift=shift)"),
    ),
    "nothing is left": (
        ("x, *args, **kwargs", "return self.loss(x, x * 2, 1.0, *args, **kwargs)"),
        ("x", "return self.loss(x, x * 2, 1.0)"),
    ),
    "with an option of its own": (
        ("x, *args, twice=False, **kwargs", "return self.base(x, *args, **kwargs)"),
        ("x, shift=0.5, scale=2.0, *, twice=False", "return self.base(x, shift=shift, scale=scale)"),
    ),
    "all arguments, with an option": (
        ("*args, twice=False, **kwargs", "return self.base(*args, **kwargs)"),
        ("x, shift=0.5, scale=2.0, *, twice=False", "return self.base(x=x, shift=shift, scale=scale)"),
    ),
    "behind an option": (
        ("x, twice: bool = False, **kwargs: float", "return self.base(x, **kwargs)"),
        ("x, twice: bool = False, shift=0.5, scale=2.0", "return self.base(x, shift=shift, scale=scale)"),
    ),
}


def program(parameters: str, body: str) -> str:
    return PROGRAM.format(parameters=parameters, body=body)


@pytest.mark.parametrize(("bad", "good"), CASES.values(), ids=CASES)
def test_what_is_passed_on_is_named(bad: tuple[str, str], good: tuple[str, str], tmp_path: Path) -> None:
    fix = check(tmp_path, name_passed_on.fixes, program(*bad), program(*good))
    assert fix.title == "Name the arguments that are passed on"


@pytest.mark.parametrize("callee", ["self.summed(*args)", "self.placed(*args)"], ids=["any number", "by position only"])
def test_what_can_only_be_passed_by_position_is_not_named(callee: str, tmp_path: Path) -> None:
    methods = """\
    def summed(self, *values):
        return sum(values)

    def placed(self, x, y=1.0, /):
        return x * y

    def forward("""
    bad = program("*args", f"return {callee}").replace("    def forward(self, *args", f"{methods}self, *args")
    assert Program(tmp_path, bad).fixes(name_passed_on.fixes) == []


def test_a_required_parameter_is_named(tmp_path: Path) -> None:
    bad = program("x, **kwargs", "return self.loss(x, **kwargs)")
    good = program("x, target, weight=1.0", "return self.loss(x, target=target, weight=weight)")
    (fix,) = Program(tmp_path, bad).fixes(name_passed_on.fixes)
    assert applied(bad, fix.changes) == good
    assert Program(tmp_path, good).stock_line() is None


def test_a_second_fix_traces_without_what_is_none_by_default(tmp_path: Path) -> None:
    bad = program("x, **kwargs", "return self.masked(x, **kwargs)")
    named, traced_without = Program(tmp_path, bad).fixes(name_passed_on.fixes)
    good = program("x, mask=None, scale=2.0", "return self.masked(x, mask=mask, scale=scale)")
    assert applied(bad, named.changes) == good
    assert traced_without.title == "Name the arguments that are passed on, and trace with mask=None"
    assert applied(bad, traced_without.changes) == good.replace(
        "class Net", "# fx: concrete_args(mask=None)\nclass Net"
    )
    assert same(Program(tmp_path, good).outputs(INPUTS), Program(tmp_path, bad).outputs(INPUTS))


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("x, **kwargs", "return self.base(x, **kwargs) + len(kwargs)"),
        ("x, twice=False, **kwargs", "return self.loss(x, **kwargs)"),
        ("x, **kwargs", "shift = 1.0\n        return self.base(x, **kwargs) + shift"),
        ("x, *args", "return self.base(*args, x)"),
        ("x, *args", "return torch.add(x, *args)"),
        ("x, *args", "return x.view(*args)"),
        ("x, *args", "return Slotted().scaled(x, *args, **{})"),
        ("x, *args", "return (lambda *given: x)(*args)"),
    ],
)
def test_other_uses_are_left(parameters: str, body: str, tmp_path: Path) -> None:
    refuse(tmp_path, name_passed_on.fixes, program(parameters, body))
