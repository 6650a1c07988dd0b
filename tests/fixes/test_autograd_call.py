"""Recording the call of an autograd function whose `forward` can't be traced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch.fx

from fx_lsp.fixes import fixes_for
from fx_lsp.fixes.autograd_call import fixes
from fx_lsp.fixes.leaf_module import fixes as leaf_fixes
from tests.fixes.fixing import HEAD, Program, applied

CLIP = """\
class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, most):
        if x.max() > most:
            x = x.clamp(max=most)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


clip = Clip.apply


"""

CALLS = {
    "in the middle of an expression": "    return torch.relu(Clip.apply(x, 0.5)) + 1",
    "by another name": "    return clip(x + 1, 0.5)",
    "in a statement": "    y = x * 3\n    y = Clip.apply(y, 0.5)\n    return y - x",
}


def _gradient(root: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    x = torch.linspace(-1, 1, 7, requires_grad=True)
    return torch.autograd.grad(root(x).sum(), x)[0]


@pytest.mark.parametrize("body", CALLS.values(), ids=CALLS)
def test_the_graph_has_its_gradients(tmp_path: Path, body: str) -> None:
    program = Program(tmp_path, f"{HEAD}{CLIP}def f(x):\n{body}\n")
    (fix,) = program.fixes(fixes)
    edited = Program(tmp_path, applied(program.source, fix.changes))
    wanted, *others = map(_gradient, (program.root, edited.root, torch.fx.symbolic_trace(edited.root)))
    assert all(torch.equal(wanted, other) for other in others)


def test_it_comes_before_edits_of_the_forward(tmp_path: Path) -> None:
    program = Program(tmp_path, f"{HEAD}{CLIP}def f(x):\n    return Clip.apply(x, 0.5)\n")
    first, *others = program.fixes(fixes_for)
    assert [first] == program.fixes(fixes)
    assert others


def test_a_function_around_the_call_is_recorded_by_its_name(tmp_path: Path) -> None:
    around = "def clipped(x):\n    return Clip.apply(x, 0.5)\n\n\n"
    program = Program(tmp_path, f"{HEAD}{CLIP}{around}def f(x):\n    return clipped(x)\n")
    titles = [fix.title for fix in program.fixes(fixes_for)]
    assert any('torch.fx.wrap("clipped")' in title for title in titles)


def test_an_autograd_function_is_no_leaf(tmp_path: Path) -> None:
    traced = "\n\ntraced = torch.fx.symbolic_trace(f)\n"
    program = Program(tmp_path, f"{HEAD}{CLIP}def f(x):\n    return Clip.apply(x, 0.5)\n")
    program.source += traced
    assert program.fixes_at_calls(leaf_fixes) == []


def test_a_module_is_no_autograd_function(tmp_path: Path) -> None:
    inner = "class Inner(nn.Module):\n    def forward(self, x):\n        return x / len(x)\n\n\n"
    net = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.inner = Inner()\n\n"
    program = Program(tmp_path, f"{HEAD}{inner}{net}    def forward(self, x):\n        return self.inner(x)\n")
    assert program.fixes(fixes) == []
