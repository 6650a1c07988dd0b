"""Which statements of a function an edit changes."""

from __future__ import annotations

import ast

import pytest

from fx_lsp.agent.proving.functions.changed_statements import ChangedStatements, changed_statements
from fx_lsp.agent.proving.functions.edited_function import functions_of

OLD = """\
class Net:
    def forward(self, x, mask=None):
        y = x + 1
        if mask is not None:
            for part in y:
                z = part / len(x)
                y = y + z
        else:
            total = 0
        while y:
            if mask:
                break
        return y
"""


def changed(old: str, new: str, line: int = 1) -> list[tuple[str, str, ChangedStatements]]:
    """The statements as text, before and after replacing ``old`` by ``new``."""
    assert OLD.count(old) == 1
    texts = OLD, OLD.replace(old, new)
    trees = [dict(functions_of(ast.parse(text).body))["Net.forward"] for text in texts]
    shown = []
    for found in changed_statements(*texts, "Net.forward", line):
        before, after = (found.of(tree, is_edited=bool(at)) for at, tree in enumerate(trees))
        shown.append(("; ".join(map(ast.unparse, before)), "; ".join(map(ast.unparse, after)), found))
    return shown


def test_the_innermost_block_comes_first() -> None:
    inner, loop, whole = changed("len(x)", "x.size(0)")
    assert inner[:2] == ("z = part / len(x)", "z = part / x.size(0)")
    assert loop[0].startswith("for part in y:")
    assert whole[0].startswith("if mask is not None:")


def test_what_is_read_assigned_and_kept() -> None:
    (*_, found), *_ = changed("len(x)", "x.size(0)")
    assert found.read == {"part", "len", "x"}
    assert found.assigned == {"z"}
    assert found.kept == {"self", "x", "mask", "y", "z", "part", "total"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("y = x + 1\n", "n = 1\n        y = x + n\n", ("y = x + 1", "n = 1; y = x + n")),
        ("        return y", "        print(y)\n        return y", ("return y", "print(y); return y")),
        ("        y = x + 1\n", "", ("y = x + 1; if", "if")),
        ("total = 0", "total = 1", ("total = 0", "total = 1")),
        ("if mask is not None", "if mask", ("if mask is not None:", "if mask:")),
        ("if mask:\n                break", "if not mask:\n                break", ("while y:", "while y:")),
    ],
)
def test_both_sides_have_statements_that_can_be_moved(old: str, new: str, expected: tuple[str, str]) -> None:
    before, after, _ = changed(old, new)[0]
    assert before.startswith(expected[0])
    assert after.startswith(expected[1])


def test_an_edit_that_only_adds_something_elsewhere_changes_the_statement_that_fails() -> None:
    inner, *_ = changed("class Net", "import torch.fx\n\nclass Net", line=6)
    assert inner[:2] == ("z = part / len(x)", "z = part / len(x)")


@pytest.mark.parametrize("name", ["locals()", "__hidden"])
def test_what_depends_on_where_it_is_stays_there(name: str) -> None:
    assert changed("total = 0", f"total = {name}") == []
