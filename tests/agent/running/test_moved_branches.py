"""Which branches an edit leaves as they are, or moves as they are."""

from __future__ import annotations

import ast

import pytest

from fx_lsp.agent.running.moved_branches import moved_branches

OLD = """\
class Net:
    def forward(self, x, scale):
        if self.offset:
            x = x + self.offset * scale
        return x
"""

HELPER = """\
def {name}(x, offset, scale):
    if offset:
        x = x + offset * scale
    return x


class Net:
    def forward(self, x, scale):
        return {call}
"""

NEW = HELPER.format(name="moved", call="moved(x, self.offset, scale)")

KEPT = {
    "as it was": OLD,
    "with a parameter instead of an attribute": NEW,
    "called twice in the same way": f"{NEW[:-1]} + moved(x, self.offset, scale)\n",
    "by parameters of other names": NEW.replace("offset", "by").replace("self.by", "self.offset"),
}

CHANGED = {
    "with another attribute": HELPER.format(name="moved", call="moved(x, self.other, scale)"),
    "with a local variable": HELPER.format(name="moved", call="moved(x, offset, scale)"),
    "called in different ways": f"{NEW[:-1]} + moved(x, self.other, scale)\n",
    "with a parameter that changes": NEW.replace("    if offset:", "    offset = 2 * offset\n    if offset:"),
    "with an attribute that changes": NEW.replace(
        "        return moved", "        self.offset = x\n        return moved"
    ),
    "with an attribute of a variable": NEW.replace("self.offset, scale", "scale.offset, scale"),
    "with another body": NEW.replace("x + offset", "x - offset"),
    "not called": HELPER.format(name="moved", call="other(x, self.offset, scale)"),
}


def _kept(new: str) -> int:
    branches = [node for node in ast.walk(ast.parse(OLD)) if isinstance(node, ast.If)]
    return len(moved_branches(branches, ast.parse(new)))


@pytest.mark.parametrize("new", KEPT.values(), ids=KEPT)
def test_a_branch_that_is_kept(new: str) -> None:
    assert _kept(new) == 1


@pytest.mark.parametrize("new", CHANGED.values(), ids=CHANGED)
def test_a_branch_that_is_not(new: str) -> None:
    assert _kept(new) == 0
