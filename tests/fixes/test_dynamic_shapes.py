"""Asking for a dynamic batch at the call that exports."""

import pytest
import torch
from torch import nn

from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes.dynamic_shapes import with_dynamic_batch
from fx_lsp.fixes.editing.text_edits import applied

HEAD = "import torch\nfrom models import Net\n\n"
ONE = "x: [3, 4]"


def edited(call: str, inputs: str = ONE) -> str:
    """The last line of a file, in which the edit at ``torch.export.export`` was made; empty if there is none."""
    text = HEAD + call
    asked: list[str] = []

    def inputs_of(name: str) -> str:
        asked.append(name)
        return inputs if name == "models.Net" else ""

    fix = with_dynamic_batch("/save.py", text, text.index("torch.export.export") + 3, inputs_of)
    return applied(fix.changes, lambda path: LineIndex(text))["/save.py"].splitlines()[-1] if fix else ""


@pytest.mark.parametrize(
    ("call", "inputs", "shapes"),
    [
        ("(Net(), (x,))", ONE, '{"x": {0: torch.export.Dim.DYNAMIC}}'),
        ("(Net().eval(), (x,), strict=True)", ONE, '{"x": {0: torch.export.Dim.DYNAMIC}}'),
        (
            "(Net(2), (ids, None, y))",
            "ids: [2, 7] int64, mask: None, y: [2]",
            '{"ids": {0: torch.export.Dim.DYNAMIC}, "mask": None, "y": {0: torch.export.Dim.DYNAMIC}}',
        ),
    ],
)
def test_every_input_gets_a_dynamic_first_size(call: str, inputs: str, shapes: str) -> None:
    assert edited(f"torch.export.export{call}", inputs) == f"torch.export.export{call[:-1]}, dynamic_shapes={shapes})"


def test_the_class_of_a_variable_is_known_if_it_is_assigned_once() -> None:
    call = "print(torch.export.export(net, (x,)))"
    assert "dynamic_shapes" in edited(f"net = Net()\n{call}")
    assert edited(f"net = Net()\nnet = net.half()\n{call}") == ""


@pytest.mark.parametrize(
    ("call", "inputs"),
    [
        ("(Net(), (x,), dynamic_shapes=sizes)", ONE),
        ("(Net(), (x,), {'y': y})", ONE),
        ("(Net(), (x,), **options)", ONE),
        ("(Net(), given)", ONE),
        ("(Other(), (x,))", ONE),
        ("(Net(), (x,))", ""),
        ("(Net(), (x, y))", ONE),
        ("(Net(), (x,))", "x: [1, 4]"),
        ("(Net(), (torch.ones(1, 4),))", ONE),
        ("(Net(), (torch.zeros((1, 4)),))", ONE),
        ("(Net(), (x,))", "x: ([3, 4], [3])"),
        ("(Net(), (x,))", "x: 3"),
    ],
)
def test_it_is_not_offered_where_it_may_not_work(call: str, inputs: str) -> None:
    assert edited(f"torch.export.export{call}", inputs) == ""


@pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked")
def test_the_edited_call_exports_with_a_dynamic_batch() -> None:
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
            return x * 2

    call = edited("torch.export.export(Net(), (torch.ones(3, 4), None))", "x: [3, 4], mask: None")
    program = eval(call, {"torch": torch, "Net": Net})
    assert program.module()(torch.ones(5, 4), None).shape == (5, 4)
