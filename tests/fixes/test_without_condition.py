"""Doing without a condition that only saves work."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.fixes.without_condition import fixes
from tests.fixes.fixing import Program, applied, check, function, offered, refuse

SHORTCUT = """\
if x.shape[0] == 0:  # nothing to do
    return x
# all rows
return x * 2"""
WITHOUT = """\
# nothing to do
# all rows
return x * 2"""
OF_LENGTH = """\
shape = x.shape
if len(shape) == 1:
    return x
return x * 2"""
SHORTCUT_LEFT = """\
shape = x.shape
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
        (OF_LENGTH, SHORTCUT_LEFT, "Remove the shortcut"),
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
        "if x.sum() > 0:\n    x = x + 1\n    print('positive')\nreturn x",
        "if x.sum() > 0:\n    x = x + 1\n    TABLE.positive = True\nreturn x",
        "if x.isnan().any():\n    x = x + 1\n    wandb.log({'nan': 1})\nreturn x",
        "if x.isnan().any():\n    torch.save(x, 'nan.pt')\nreturn x",
        "if x.isnan().any():\n    self.cache['nan'] = x\nreturn x",
        "if x.sum() > 0:\n    x = x + 1\n    sys.stdout.write('positive')\nreturn x",
        "self = TABLE\nif x.sum() > 0:\n    x = x + 1\n    self.seen.append(x)\nreturn x",
        "if torch.is_grad_enabled() and x.sum() > 1:\n    x = x + 1\nreturn x",
        "if torch.is_grad_enabled() and x.sum() > 0:\n    return x\nreturn x + 1",
        "y = None if x.max() > 1 else x\nreturn y",
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


@pytest.mark.parametrize(
    ("body", "part", "new", "title"),
    [
        (
            "if mask is not None and not mask.all():\n    hidden = ~mask\nreturn x",
            "not mask.all()",
            "if mask is not None:\n    hidden = ~mask\nreturn x",
            "Leave out `not mask.all()`, which may only save work",
        ),
        ("if mask.all():\n    mask = None\nreturn x", "mask.all()", "return x", "Do without None"),
        ("y = ~mask if mask.any() else None\nreturn x", "mask.any()", "y = ~mask\nreturn x", "Do without None"),
        (
            "if mask.any():\n    return mask\nreturn None",
            "mask.any()",
            "return mask",
            "Always run the body of this `if`",
        ),
        (
            "counts = mask.sum(1).tolist()\nfor i in range(3):\n"
            "    if counts[i] == 0:\n        continue\n    x = x + i\nreturn x",
            "mask.sum(1).tolist()",
            "for i in range(3):\n    x = x + i\nreturn x",
            "Remove the shortcut and what decides it",
        ),
    ],
)
def test_what_a_capture_cannot_decide_is_left_out(body: str, part: str, new: str, title: str) -> None:
    assert offered(fixes, body, part) == {title: new}


def test_what_decides_a_shortcut_stays_if_it_is_needed() -> None:
    body = "counts = mask.sum(1).tolist()\nif counts[0] == 0:\n    return x\nreturn x * counts[0]"
    assert offered(fixes, body, "mask.sum(1).tolist()") == {}
