"""Making a static `forward` an ordinary method."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from fx_lsp.agent.messages import STATIC_FORWARD, Failure
from fx_lsp.fixes import Fix
from fx_lsp.fixes.bound_forward import fixes
from tests.fixes.fixing import INPUTS, Program, applied, same

STATIC = """\
import torch


class Net(torch.nn.Module):
    \"\"\"A smooth step.\"\"\"

    @staticmethod  # it has no state
    def forward(x):
        return x * torch.sigmoid(x)
"""
BOUND = """\
import torch


class Net(torch.nn.Module):
    \"\"\"A smooth step.\"\"\"

    def forward(self, x):
        return x * torch.sigmoid(x)
"""


def _offered(folder: Path, text: str) -> list[Fix]:
    program = Program(folder, text)
    failure: Failure = dataclasses.replace(program.failure(), kind="call-binding", operation=STATIC_FORWARD)
    return list(fixes(failure, {str(program.path): text}.get))


def test_the_module_becomes_the_first_parameter(tmp_path: Path) -> None:
    (fix,) = _offered(tmp_path, STATIC)
    assert applied(STATIC, fix.changes) == BOUND
    assert same(Program(tmp_path, BOUND).traced_outputs(INPUTS), Program(tmp_path, STATIC).outputs(INPUTS))


def test_a_comment_below_the_decorator_stays(tmp_path: Path) -> None:
    comment = "    # Half a step at zero.\n    def forward"
    text = STATIC.replace("    def forward", comment)
    (fix,) = _offered(tmp_path, text)
    assert applied(text, fix.changes) == BOUND.replace("    def forward", comment)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import torch\n", "import torch\n\ndef apply(x):\n    return Net.forward(x)\n"),
        ("forward(x):\n", "forward(x, self=None):\n"),
        ("import torch\n", "import torch\n\ndef apply(net, x):\n    return type(net).forward(x)\n"),
        ("    @staticmethod  # it has no state\n", "    @staticmethod\n    @torch.no_grad()\n"),
    ],
    ids=[
        "called without a module",
        "with a parameter of that name",
        "called as that of a class",
        "with another decorator",
    ],
)
def test_nothing_is_offered_if_something_else_might_change(tmp_path: Path, old: str, new: str) -> None:
    assert _offered(tmp_path, STATIC.replace(old, new)) == []


def test_another_failure_of_a_call_has_no_such_fix(tmp_path: Path) -> None:
    program = Program(tmp_path, STATIC)
    assert program.fixes(fixes) == []
