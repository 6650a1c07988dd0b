"""Which parts of a program some inputs have reached."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fx_lsp.agent.running import line_coverage
from fx_lsp.agent.running.line_coverage import (
    Part,
    Seen,
    parts_not_in,
    parts_not_run,
    parts_of_branch,
    recording_lines,
    replaced_parts,
)

METHODS = """\
class Net:
    def forward(self, x):
        def inner(y):
            return -y
        return inner(x)

    def helper(self, x):
        return x + 1
"""


def test_parts_in_a_function_of_a_name_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(METHODS, encoding="utf-8")
    parts = [Part(str(file), range(line, line + 1)) for line in (4, 5, 8)]
    assert parts_not_in("forward", parts) == parts[2:]


CHOICES: dict[str, tuple[str, list[tuple[int, ...]], list[tuple[int, ...]]]] = {
    "one": ("def f(x):\n    return x + 1 if x > 0 else x - 1\n", [(1, -1)], [(1,), (-1,), (1, 2)]),
    "a part": ("def f(x):\n    return 2 * (x if x > 0 else -x)\n", [(1, -1)], [(1,), (-1,)]),
    "two lines": ("def f(x):\n    return (x + 1\n            if x > 0 else x - 1)\n", [(1, -1)], [(1,), (-1,)]),
    "nested": ("def f(x):\n    return 1 if x > 3 else 2 if x > 0 else 3\n", [(4, 1, -1)], [(4, 1), (4, -1), (1, -1)]),
}


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("tells_columns", [True, False], ids=["columns", "no columns"])
def test_both_sides_of_a_choice_have_to_run(name: str, tells_columns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if tells_columns and not line_coverage.TELLS_COLUMNS:
        pytest.skip("this interpreter does not tell columns")
    monkeypatch.setattr(line_coverage, "TELLS_COLUMNS", tells_columns)
    line_coverage._conditional_jumps.cache_clear()
    text, enough, too_few = CHOICES[name]
    for numbers, is_enough in [*((each, True) for each in enough), *((each, False) for each in too_few)]:
        assert (lacking(text, numbers) == ()) is is_enough, numbers


def lacking(text: str, numbers: Sequence[int]) -> tuple[object, ...]:
    """The parts of ``f`` that no number reaches, if an edit replaces all of it."""
    parts = replaced_parts("f.py", text, "def f(x):\n    return x\n")
    return parts_not_run(parts, run(text, parts, numbers))


def run(text: str, parts: Sequence[Part], numbers: Sequence[int]) -> Seen:
    """What ``f`` runs when it is called with ``numbers``."""
    program: dict[str, Any] = {}
    exec(compile(text, "f.py", "exec"), program)
    seen: Seen = set()
    with recording_lines(parts, seen):
        for number in numbers:
            program["f"](number)
    return seen


@pytest.mark.parametrize("tells_columns", [True, False], ids=["columns", "no columns"])
def test_a_jump_is_no_step_over_a_branch(tells_columns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_coverage, "TELLS_COLUMNS", tells_columns and line_coverage.TELLS_COLUMNS)
    line_coverage._conditional_jumps.cache_clear()
    text = "def f(x):\n    if x > (0 if x else 1):\n        x = -x\n    return x\n"
    parts = [*parts_of_branch("f.py", text, 2, 7), *replaced_parts("f.py", text, "def f(x):\n    return x\n")]
    for numbers, is_enough in (((2, 3), False), ((2, -2), False), ((2, 0), True)):
        lacks_skip = any(part.skipped for part in parts_not_run(parts, run(text, parts, numbers)))
        assert lacks_skip is (numbers == (2, 3))
        if tells_columns and line_coverage.TELLS_COLUMNS:
            assert (parts_not_run(parts, run(text, parts, numbers)) == ()) is is_enough


BRANCH = "def f(x):\n    if x and x > 2:\n        x = -x\n    return x\n"


@pytest.mark.parametrize(
    ("new", "enough", "too_few"),
    [
        ("def f(x):\n    x = -x\n    return x\n", (3, 1), (3, 4)),
        ("def f(x):\n    if x:\n        x = -x\n    return x\n", (3, 1), (3, 0)),
        ("def f(x):\n    return x\n", (3,), ()),
        ("import torch\n\n\ndef f(x):\n    return x\n", (3,), ()),
        ("def f(x):\n    return x\n\n\nf = lambda x: -x\n", (3, 1), (3, 4)),
        ("def f(x):\n    torch._assert(x and x > 2, '')\n    x = -x\n    return x\n", (3,), ()),
        ("def f(x):\n    torch._assert(True, 'else')\n    x = -x\n    return x\n", (3, 1), (3, 4)),
        ("def g(x):\n    if x and x > 2:\n        x = -x\n    return x\n\n\nf = g\n", (3,), ()),
        ("def g(self, x):\n    if self.x and x > 2:\n        x = -x\n    return x\n\n\nf = g\n", (3,), ()),
    ],
    ids=[
        "always",
        "without a part",
        "removed",
        "removed, with an import",
        "removed, and done elsewhere",
        "checked",
        "something else is checked",
        "moved",
        "moved with another name",
    ],
)
def test_a_branch_that_the_edit_removes_has_to_be_skipped(
    new: str, enough: tuple[int, ...], too_few: tuple[int, ...]
) -> None:
    parts = replaced_parts("f.py", BRANCH, new)
    assert parts_not_run(parts, run(BRANCH, parts, enough)) == ()
    if too_few:
        assert [part.where for part in parts_not_run(parts, run(BRANCH, parts, too_few))] == [
            "what follows if the condition in line 2 is false"
        ]


def test_a_branch_that_stays_elsewhere_is_not_the_one_that_is_edited() -> None:
    branch = "    if x > 2:\n        x = -x\n    return x\n"
    old = f"def f(x):\n{branch}\n\ndef g(x):\n{branch}"
    new = old.replace("-x", "abs(x)", 1)
    assert not any(part.is_unchanged for part in replaced_parts("f.py", old, new))
