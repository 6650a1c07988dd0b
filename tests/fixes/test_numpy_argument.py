"""Values of NumPy that a graph can't hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.fixes.numpy_argument import fixes
from tests.fixes.fixing import check, refuse

NET = """\
import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = np.array((0, *np.cumsum([1, 2])), dtype=np.int64)
        self.scale = np.float32(0.5)
        self.plain = {1}

    def forward(self, x):
        ones = np.ones(4, dtype=np.float32)
        return EXPRESSION + ones.size
"""


@pytest.mark.parametrize(
    ("expression", "edited", "title"),
    [
        (
            "x.new_tensor(self.steps) + x.sum()",
            "x.new_tensor(self.steps.tolist()) + x.sum()",
            "Pass self.steps as a list",
        ),
        ("x[:, self.steps[1:] - 1]", "x[:, (self.steps[1:] - 1).tolist()]", "Pass (self.steps[1:] - 1) as a list"),
        ("x[..., :4] * ones", "x[..., :4] * torch.as_tensor(ones)", "Turn ones into a tensor"),
        ("x * self.scale", "x * self.scale.item()", "Pass self.scale as a Python number"),
        ("x.sum(dim=np.prod([2, 1]))", "x.sum(dim=np.prod([2, 1]).item())", "Pass np.prod([2, 1]) as a Python number"),
    ],
)
def test_a_value_of_numpy_becomes_one_of_python_or_torch(
    expression: str, edited: str, title: str, tmp_path: Path
) -> None:
    bad, good = (NET.replace("EXPRESSION", text) for text in (expression, edited))
    assert check(tmp_path, fixes, bad, good).title == title


def test_other_values_are_left(tmp_path: Path) -> None:
    refuse(tmp_path, fixes, NET.replace("EXPRESSION", "x.sum(self.plain)"))
