"""What is left of a branch of which one side is meant."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from fx_lsp.fixes.specialize_branch import fixes
from tests.fixes.fixing import INPUTS, Program, applied, refuse, same

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.window = 4
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        h, w = x.shape[-2:]
        BODY
        return x
"""
WINDOWS = """\
if h == self.window and w == self.window:
    # as it is
    x = self.layer(x)
else:
    # cut
    x = x[:, :, :4]
    x = self.layer(x) + 1"""
CHECKED = """\
torch._assert(h == self.window, "h == self.window")
torch._assert(w == self.window, "w == self.window")
# as it is
x = self.layer(x)"""
OTHERWISE = """\
torch._assert((h != self.window) | (w != self.window), "(h != self.window) | (w != self.window)")
# cut
x = x[:, :, :4]
x = self.layer(x) + 1"""
SMALL = """\
if h > 8:
    x = self.layer(x[:, :8])
elif self.training:
    x = self.layer(x[:, :, :4])"""
NOT_LARGE = """\
torch._assert(h <= 8, "h <= 8")
if self.training:
    x = self.layer(x[:, :, :4])"""


def net(body: str) -> str:
    return NET.replace("BODY", body.replace("\n", "\n        "))


@pytest.mark.parametrize(("body", "good"), [(WINDOWS, OTHERWISE), (SMALL, NOT_LARGE)])
def test_one_side_is_kept(body: str, good: str, tmp_path: Path) -> None:
    program = Program(tmp_path, net(body))
    fix, *_ = program.fixes(fixes)
    assert applied(program.source, fix.changes) == net(good)
    mended = Program(tmp_path, net(good))
    assert same(mended.outputs(INPUTS), program.outputs(INPUTS))
    assert same(mended.traced_outputs(INPUTS), program.outputs(INPUTS))
    assert fix.rejects_inputs


def test_the_other_side_is_offered_too(tmp_path: Path) -> None:
    program = Program(tmp_path, net(WINDOWS))
    _, fix = program.fixes(fixes)
    assert applied(program.source, fix.changes) == net(CHECKED)
    assert fix.title == "Require h == self.window and w == self.window"
    assert "an error" in Program(tmp_path, net(CHECKED)).outputs(INPUTS)


@pytest.mark.parametrize(
    ("body", "rejects_inputs"),
    [
        ("if h == self.window:\n    return x\nx = self.layer(x)", False),
        ("if h == self.window:\n    x = self.layer(x)\nelse:\n    raise ValueError(h)", False),
        ("if h == self.window:\n    x = self.layer(x)\nelse:\n    pass", False),
        ("if h == self.window:\n    x = self.layer(x)\nelse:\n    ...", False),
        (
            "if h == self.window:\n    x = self.layer(x)\nelse:\n    for size in (4, 8):\n"
            "        if size == w:\n            continue\n        print(size)\n    raise ValueError(h)",
            False,
        ),
        ("if h == self.window:\n    x = self.layer(x)\nelif w > 4:\n    raise ValueError(h)", True),
    ],
)
def test_a_fix_that_leaves_out_code_rejects_inputs(body: str, rejects_inputs: bool, tmp_path: Path) -> None:
    found = Program(tmp_path, net(body)).fixes(fixes)
    (kept,) = [fix for fix in found if fix.title == "Require h == self.window"]
    assert kept.rejects_inputs == rejects_inputs


@pytest.mark.parametrize(
    "body",
    [
        "x = x if h > 2 else self.layer(x)",
        "if h > 2:\n    x = '''a\n    b'''",
        "if self.window > 5:\n    pass\nelif h > 2:\n    x = self.layer(x)",
        "while h > 2:\n    h = h - 1",
    ],
)
def test_other_statements_are_left(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, fixes, net(body))


def test_no_fix_where_an_argument_of_the_call_decides(tmp_path: Path) -> None:
    program = Program(tmp_path, net("if h > 8:\n    x = self.layer(x)"))
    failure = dataclasses.replace(program.failure(), subject="argument")
    assert list(fixes(failure, {str(program.path): program.source}.get)) == []
