"""Code that is moved into a custom operator: what it computes, its gradients, and that torch.export captures it."""

from __future__ import annotations

import itertools
from textwrap import indent
from typing import Any

import pytest
import torch

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes import Fix, custom_operator
from fx_lsp.fixes.editing.text_edits import applied

HEAD = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, limit: int = 3, scale=0.5, other=None):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.limit = limit
        self.scale = scale
        self.other = other
        self.register_buffer("table", torch.arange(4.0))

    def forward(self, x):
"""

X = torch.linspace(-1, 2, 12).view(3, 4)

_numbers = itertools.count()


def program(body: str) -> str:
    """A module whose ``forward`` does ``body``."""
    return f"{HEAD}{indent(body.strip(), ' ' * 8)}\n"


def found(text: str, part: str) -> list[Fix]:
    """The fixes for ``part``, its last occurrence in ``text``."""
    start = text.rindex(part)
    line, col = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start) - 1
    path = f"operators_{next(_numbers)}.py"  # an operator can be defined only once
    span = Span(path, line, col, line, col + len(part.encode()))
    return [*custom_operator.fixes(Failure("graph-break", "", (Step("forward", span),)), lambda path: text)]


def built(text: str) -> Any:
    """The module of a program, always with the same weights."""
    namespace: dict[str, Any] = {}
    exec(compile(text, "operators.py", "exec"), namespace)
    torch.manual_seed(0)
    return namespace["Net"]()


def edited(text: str, fix: Fix) -> str:
    """``text`` after the edit."""
    (result,) = applied(fix.changes, lambda path: LineIndex(text)).values()
    return result


def same(old: Any, new: Any) -> bool:
    """Whether two results are equal, their types and sizes included."""
    if isinstance(old, tuple):
        return len(old) == len(new) and all(map(same, old, new))
    return torch.equal(old, new) and old.dtype == new.dtype if isinstance(old, torch.Tensor) else bool(old == new)


LOOPS = [
    ("while x.abs().max() > 1:\n    x = x * self.scale\nreturn self.layer(x)", "x.abs().max() > 1", 0),
    ("y = self.layer(x)\nfor i in range(int(x.argmax())):\n    y = y + i\nreturn y", "int(x.argmax())", 0),
    (
        "y = torch.zeros_like(x)\nfor i in x.sum(1).argsort().tolist():\n    y[i] = x[i] * 2\nreturn y",
        "x.sum(1).argsort().tolist()",
        0,
    ),
    (
        "y = self.layer(x)\nz = x.argsort(0)\nwhile y.abs().max() > 1:\n    y, z = y * 0.5, z + 1\nreturn y * z, z",
        "y.abs().max() > 1",
        0,
    ),
    (
        "_, order = x[:, 0].sort(descending=True)\nkeep = []\nwhile order.numel() > 0:\n    keep.append(order[0])\n"
        "    order = order[1:][x[order[1:], 0] > x[order[0], 0] - 1]\nreturn x[torch.stack(keep)]",
        "order.numel() > 0",
        0,
    ),
    (
        "h = x * 1\nwhile h.abs().sum() < 9:\n    g = h.view(-1)\n    g += 3\n    h = h ** 2\nreturn h",
        "h.abs().sum() < 9",
        0,
    ),
    (
        "gradient, results, backward, differentiable = x * 1, x + 1, 2, x\nwhile gradient.sum() > 1:\n"
        "    gradient = gradient - results.abs() * backward - differentiable.abs()\nreturn gradient",
        "gradient.sum() > 1",
        0,
    ),
    (
        "keep = []\nfor i in range(x.size(0)):\n    if x[i].sum() > self.limit:\n        keep.append(x[i])\n"
        "if not keep:\n    return x.new_zeros(0, 4)\nreturn torch.stack(keep)",
        "x[i].sum() > self.limit",
        1,
    ),
    (
        "order = x[:, 0].argsort()\nkeep = []\nwhile order.numel() > 0:\n    first = order[0].item()\n"
        "    keep.append(first)\n    order = order[1:][x[order[1:], 0] > x[first, 0] + 0.5]\n"
        "return x[torch.tensor(keep)]",
        "order.numel() > 0",
        1,
    ),
    ("y = torch.tensor([float(row.sum()) for row in x])\nreturn y * 2", "float(row.sum())", 0),
    ("y = torch.from_numpy(x.detach().numpy() * 2)\nreturn x + y", "x.detach().numpy()", 0),
    ("if x.sum() > 0:\n    y, n = x * 2, 1\nelse:\n    y, n = x - 1, 2\nreturn y, n", "x.sum() > 0", 0),
]


@pytest.mark.parametrize(("body", "part", "choice"), LOOPS)
def test_moved_code_is_captured_and_computes_the_same(body: str, part: str, choice: int) -> None:
    text = program(body)
    choices = found(text, part)
    new = edited(text, choices[choice])
    old_module, new_module = built(text), built(new)
    captured = torch.export.export(new_module, (X,), strict=False).module()
    for given in (X, -X, X * 3 + 0.1):
        assert same(old_module(given), new_module(given))
        assert same(old_module(given), captured(given))


@pytest.mark.parametrize(("body", "part"), [(body, part) for body, part, _ in LOOPS[:7]])
def test_gradients_flow_through_an_operator(body: str, part: str) -> None:
    text = program(body)
    new = edited(text, found(text, part)[0])
    gradients = []
    for module in (built(text), built(new)):
        given = X.clone().requires_grad_()
        result = module(given)
        (result[0] if isinstance(result, tuple) else result).square().sum().backward()
        gradients.append([given.grad, *(one.grad for one in module.parameters())])
    assert all(torch.equal(old, new) if old is not None else new is None for old, new in zip(*gradients, strict=True))


def test_compiling_follows_the_backward_pass() -> None:
    body, part, _ = LOOPS[0]
    module: Any = built(edited(program(body), found(program(body), part)[0]))
    module(X.clone()).sum().backward()
    expected = module.layer.weight.grad.clone()
    module.zero_grad()
    compiled: Any = torch.compile(module, fullgraph=True, backend="aot_eager")
    compiled(X).sum().backward()
    assert torch.equal(module.layer.weight.grad, expected)


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("for i in range(int(x.argmax())):\n    x = self.layer(x)\nreturn x", "int(x.argmax())"),  # a module
        ("while x.sum() > 0:\n    self.table[0] = 1\n    x = x - 1\nreturn x", "x.sum() > 0"),  # a change of a buffer
        ("while x.sum() > self.other:\n    x = x - 1\nreturn x", "x.sum() > self.other"),  # of an unknown type
        ("name = ''.join('ab'[i] for i in x.argmax(1).tolist())\nreturn name", "x.argmax(1).tolist()"),  # a string
        ("if x.sum() > 0:\n    y = None\nelse:\n    y = x\nreturn y", "x.sum() > 0"),
        ("if x.sum() > 0:\n    return (x * 2,)\nreturn (x,)", "x.sum() > 0"),  # torch has no tuple of one result
        ("n = -1\nwhile x.sum() > n:\n    n = n + 1\nreturn x * n, n", "x.sum() > n"),  # a size is never negative
        ("while x.sum() > 0:\n    x = x - torch.rand(())\nreturn x", "x.sum() > 0"),  # backward would draw again
        ("while x.sum() > 0:\n    print(x)\n    x = x - 1\nreturn x", "x.sum() > 0"),
        ("while x.sum() > 0:\n    α = x - 1\n    x = α\nreturn x, α", "x.sum() > 0"),
    ],
)
def test_what_an_operator_can_not_take_or_return_stays(body: str, part: str) -> None:
    assert not found(program(body), part)


def test_only_as_many_statements_are_moved_as_needed() -> None:
    text = program("y = self.layer(x)\nn = int(x.argmax())\nfor i in range(n):\n    y = y * 2\nz = y + 1\nreturn z")
    (fix,) = found(text, "range(n)")
    assert fix.title == "Move the loop into the custom operator _forward_y, whose result is like y"
    assert "    y = _forward_y(y, n)\n        z = y + 1" in edited(text, fix)


def test_names_in_other_folders_and_odd_names_do_not_collide() -> None:
    text = program(LOOPS[0][0])
    start = text.rindex(LOOPS[0][1])
    line, col = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start) - 1
    namespaces = []
    for path in ("yolo/model.py", "detr/model.py", "3d/net.py", "class.py", "pkg/__init__.py", "größe.py"):
        failure = Failure("graph-break", "", (Step("forward", Span(path, line, col, line, col + len(LOOPS[0][1]))),))
        new = edited(text, next(iter(custom_operator.fixes(failure, lambda path: text))))
        namespaces.append(new.partition('custom_op("')[2].partition("::")[0])
        built(new)
    assert len(set(namespaces)) == len(namespaces)
    assert all(map(str.isidentifier, namespaces))


def test_a_number_with_a_default_may_be_another_kind_of_number() -> None:
    text = program("while x.abs().max() > self.margin:\n    x = x * self.scale\nreturn x")
    text = text.replace("other=None", "margin=1").replace("self.other = other", "self.margin = margin")
    new = edited(text, found(text, "x.abs().max() > self.margin")[0])
    old_module, new_module = built(text), built(new)
    old_module.margin = new_module.margin = 0.25
    old_module.scale = new_module.scale = 0
    given = torch.tensor([[3, -2], [1, 0]])
    assert same(old_module(given), new_module(given))


def test_long_chains_of_assignments_and_settings_made_of_themselves_take_no_time() -> None:
    chain = "\n".join(f"a{n + 1} = a{n} + b{n}\nb{n + 1} = a{n} - b{n}" for n in range(60))
    assert not found(
        program(f"a0 = self.other\nb0 = a0\n{chain}\nwhile a60.sum() > 0:\n    pass\nreturn x"), "a60.sum()"
    )
    body = "while x.sum() > self.step:\n    x = x - 1\nself.step = self.step + 1\nreturn x"
    assert not found(program(body), "x.sum() > self.step")
