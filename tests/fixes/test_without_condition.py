"""Doing without a condition that only saves work."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.fixes.without_condition import fixes
from tests.fixes.fixing import Program, applied, check, function, refuse

SHORTCUT = """\
if x.shape[0] == 0:  # nothing to do
    return x
# all rows
return x * 2"""
WITHOUT = """\
# nothing to do
# all rows
return x * 2"""
GUARDED = """\
y = torch.relu(x)
if (
    x.numel() > 0  # not for an empty one
):  # here
    # what is negative

    y[y < 0] = 0
    y = y + 1
return y"""
ALWAYS = """\
y = torch.relu(x)
# not for an empty one
# here
# what is negative
y[y < 0] = 0
y = y + 1
return y"""
LOOP = """\
y = x
for size in (1, 2):
    if x.shape[1] < size:
        continue

    y = y + size
return y"""
EVERY_TURN = """\
y = x
for size in (1, 2):
    y = y + size
return y"""


@pytest.mark.parametrize(
    ("bad", "good", "title"),
    [
        (SHORTCUT, WITHOUT, "Remove the shortcut"),
        (LOOP, EVERY_TURN, "Remove the shortcut"),
    ],
)
def test_what_the_condition_saves_is_done(tmp_path: Path, bad: str, good: str, title: str) -> None:
    assert check(tmp_path, fixes, function(bad), function(good)).title == title


def test_what_the_condition_guards_is_done_in_any_case(tmp_path: Path) -> None:
    fix = check(tmp_path, fixes, function(GUARDED), function(ALWAYS), then="y[y < 0] = 0")
    assert fix.title == "Always run the body of this `if`"


@pytest.mark.parametrize(
    "body",
    [
        "if x.sum() > 0:\n    raise ValueError('positive')\nreturn x",
        "for _ in range(2):\n    if x.sum() > 0:\n        break\n    x = x + 1\nreturn x",
        "if x.sum() > 0:\n    y = x\nelse:\n    y = -x\nreturn y",
        "if (total := x.sum()) > 0:\n    x = x + total\nreturn x",
        "if x.sum() > 0: x = x + 1\nreturn x",
        "if (torch.is_grad_enabled() if TABLE is None else x.sum() > 0):\n    x = x + 1\nreturn x",
        "if torch.is_grad_enabled() and x.sum() > 0:\n    x = x + 1\nreturn x",
        "if x.shape[0] == 0 or x.sum() > 0:\n    return x\nreturn x + 1",
        "if x.max() > 1:\n    x = x / 255\nreturn x",
        "if x.min() < -1:\n    x = x / 255\nreturn x",
        "if x.max() > 255 / 2:\n    x = x / 255\nreturn x",
        "y = x if x.sum() > 0 else -x\nreturn y",
        "while x.sum() > 0:\n    x = x - 1\nreturn x",
    ],
)
def test_a_condition_that_does_more_stays(tmp_path: Path, body: str) -> None:
    refuse(tmp_path, fixes, function(body))


def test_an_edit_that_would_change_results_is_left_to_the_proof(tmp_path: Path) -> None:
    program = Program(tmp_path, function("if x.sum() > 0:\n    return x\nreturn -x"))
    (fix,) = program.fixes(fixes)
    assert applied(program.source, fix.changes) == function("return -x")
