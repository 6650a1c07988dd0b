"""Leaving out `torch.autograd.Variable`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.fixes.without_variable import fixes
from tests.fixes.fixing import check, function, refuse

IMPORT = "from torch.autograd import Variable\n"


@pytest.mark.parametrize(
    ("call", "new"),
    [
        ("Variable(x)", "x.detach()"),
        ("torch.autograd.Variable(x + 1, requires_grad=False)", "(x + 1).detach()"),
        ("Variable(x.data)", "x.data"),
        ("Variable(x, False)", "x.detach()"),
        ("Variable(x.detach())", "x.detach()"),
    ],
)
def test_a_tensor_takes_the_place_of_a_variable(tmp_path: Path, call: str, new: str) -> None:
    check(tmp_path, fixes, IMPORT + function(f"return {call} * 2"), IMPORT + function(f"return {new} * 2"))


@pytest.mark.parametrize("call", ["Variable(x, requires_grad=True)", "Variable(x, x is not None)", "Variable(*[x])"])
def test_nothing_is_offered_if_it_would_be_another_tensor(tmp_path: Path, call: str) -> None:
    refuse(tmp_path, fixes, IMPORT + function(f"return {call}"))
