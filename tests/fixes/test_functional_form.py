"""Modules that are built of traced values, as functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.fixes.functional_form import fixes
from tests.fixes.fixing import check, refuse

NET = """\
import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def forward(self, x):
        n = x.shape[-1]
        return EXPRESSION
"""


@pytest.mark.parametrize(
    ("expression", "edited"),
    [
        ("nn.Upsample(size=n * 2, mode='linear')(x)", "F.interpolate(x, size=n * 2, mode='linear')"),
        ("nn.AvgPool2d((1, n), 1)(x + 1)", "F.avg_pool2d(x + 1, (1, n), 1)"),
        ("nn.AdaptiveMaxPool1d(n // 2)(x)", "F.adaptive_max_pool1d(x, n // 2)"),
        ("nn.ZeroPad2d((0, n % 3, 0, 1))(x)", "F.pad(x, (0, n % 3, 0, 1))"),
        ("nn.ReflectionPad1d((0, n % 3))(x)", 'F.pad(x, (0, n % 3), mode="reflect")'),
        ("nn.ConstantPad1d([0, n % 3], 2.0)(x)", "F.pad(x, [0, n % 3], value=2.0)"),
    ],
)
def test_a_module_without_state_becomes_a_function(expression: str, edited: str, tmp_path: Path) -> None:
    bad, good = (NET.replace("EXPRESSION", text) for text in (expression, edited))
    check(tmp_path, fixes, bad, good)


@pytest.mark.parametrize("expression", ["nn.Linear(4, 4)(x)", "nn.ZeroPad2d(n % 3)(x)", "nn.AvgPool1d(*[n])(x)"])
def test_other_modules_are_left(expression: str, tmp_path: Path) -> None:
    refuse(tmp_path, fixes, NET.replace("EXPRESSION", expression))
