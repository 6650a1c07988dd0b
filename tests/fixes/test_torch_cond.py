"""The texts that ``torch.cond`` turns a branch into, and the branches that it is not offered for."""

import ast

import pytest

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes.editing.text_edits import applied
from fx_lsp.fixes.torch_cond import fixes

HEAD = "import torch\n\ndef f(self, x):\n"


def fixed(body: str, number: int = 0) -> str | None:
    """The new body after the fix with this number; None if nothing is offered for the first condition in it."""
    text = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    test = next(node.test for node in ast.walk(ast.parse(text)) if isinstance(node, ast.If | ast.IfExp))
    span = Span("f.py", test.lineno, test.col_offset, test.end_lineno or 0, test.end_col_offset or 0)
    found = list(fixes(Failure("data-dependent-guard", "", (Step("f", span),)), lambda path: text))
    if not found:
        return None
    (new,) = applied(found[number].changes, lambda path: LineIndex(text)).values()
    ast.parse(new)
    assert [line for line in new.splitlines() if line != line.rstrip()] == []
    return "".join(line.removeprefix("    ") for line in new.removeprefix(HEAD).splitlines(keepends=True))


@pytest.mark.parametrize(
    ("body", "new"),
    [
        (
            "return self.a(x) if x.sum() > 0 else x",
            "return torch.cond(x.sum() > 0, lambda: self.a(x), lambda: x.clone(), ())\n",
        ),
        (
            "if x.sum() > 0:\n    return x + 1, x\nreturn self.a(x), x * 2",
            "return torch.cond(x.sum() > 0, lambda: (x + 1, x.clone()), lambda: (self.a(x), x * 2), ())\n",
        ),
        (
            "if x.sum() > 0:\n    return self.a(x)\nx = x - 1\nreturn x",
            "def if_true(x):\n    return self.a(x)\n\ndef if_false(x):\n    x = x - 1\n    return x\n\n"
            "return torch.cond(x.sum() > 0, if_true, if_false, (x,))\n",
        ),
        (
            "y = x * 2\nif not x.any():\n    y = self.a(y)\n    y = y * 2\nreturn y",
            "y = x * 2\ndef if_true(y):\n    y = self.a(y)\n    y = y * 2\n    return y\n\n"
            "def if_false(y):\n    return y.clone()\n\n"
            "y = torch.cond(torch.logical_not(x.any()), if_true, if_false, (y,))\nreturn y\n",
        ),
        (
            "if x.any():\n    y = x * 2\nelse:\n    y = x * 3\nreturn y",
            "def if_true():\n    y = x * 2\n    return y\n\ndef if_false():\n    y = x * 3\n    return y\n\n"
            "y = torch.cond(x.any(), if_true, if_false, ())\nreturn y\n",
        ),
        (
            "ys = []\nif x.any():\n    # some\n    ys.append(x)\nelse:\n    ys.append(x + 1)\nreturn ys",
            "ys = []\n# some\nys.append(torch.cond(x.any(), lambda: x.clone(), lambda: x + 1, ()))\nreturn ys\n",
        ),
        (
            "y = x * 2\nif x.any():\n    y[0] = self.a(x)\nelse:\n    y[0] = x + 1\nreturn y",
            "y = x * 2\ny[0] = torch.cond(x.any(), lambda: self.a(x), lambda: x + 1, ())\nreturn y\n",
        ),
        (
            "return self.a(x) if not self.training and x.any() else x",
            "return torch.cond((not self.training) & (x.any()), lambda: self.a(x), lambda: x.clone(), ())\n",
        ),
        (
            "return self.a(x) if not self.mask and x.any() else x",
            "return torch.cond((torch.logical_not(self.mask)) & (x.any()), lambda: self.a(x), lambda: x.clone(), ())\n",
        ),
        (
            "return self.a(x) if self.b is not None and x.any() else x",
            "return torch.cond((self.b is not None) & (x.any()), lambda: self.a(x), lambda: x.clone(), ())\n",
        ),
        (
            "if x.any():  # a\n    # b\n    y = x * 2  # c\n# d\nelse:\n    # e\n    y = x * 3  # f\nreturn y",
            "def if_true():\n    # a\n    # b\n    y = x * 2  # c\n    return y\n\n"
            "def if_false():\n    # d\n    # e\n    y = x * 3\n    return y\n\n"
            "y = torch.cond(x.any(), if_true, if_false, ())  # f\nreturn y\n",
        ),
    ],
)
def test_both_sides_are_kept(body: str, new: str) -> None:
    assert fixed(body) == new


@pytest.mark.parametrize(
    "body",
    [
        "if x.any():\n    x.seen.append(1)\nelse:\n    x.seen.append(2)\nreturn x",  # a list that others know
        "ys, zs = [], []\nif x.any():\n    ys.append(x)\nelse:\n    zs.append(x)\nreturn ys",
        "if x.any():\n    x[0] = x[1]\nelse:\n    x[1] = x[0]\nreturn x",
        "if x.any():\n    self.seen = x\n    y = x\nelse:\n    y = x + 1\nreturn y",
        "if x.any():\n    x[0] = 1\nreturn x",
        "if self.mask is not None and self.mask.any():\n    x = x + 1\nreturn x",
        "if hasattr(self, 'mask') and self.mask.any():\n    x = x + 1\nreturn x",
        "if x.any():\n    raise ValueError\nreturn x",
        "if x.any():\n    y = x\nreturn y",
        "if x.any():\n    print(x)\nreturn x",
        "for i in range(3):\n    if x.any():\n        break\n    x = x + 1\nreturn x",
        "if x.any():\n    return x\nx = x + 1",
        "if x.any():\n    y = x\nelif x.all():\n    y = x + 1\nelse:\n    y = x + 2\nreturn y",
        "if x.any(): y = x; z = 1\nelse: y = 2 * x; z = 2\nreturn y, z",
    ],
)
def test_a_side_that_does_more_than_compute_stays(body: str) -> None:
    assert fixed(body) is None


@pytest.mark.parametrize(
    ("body", "new"),
    [
        (
            "return self.a(x) if x.any() else x - 1",
            "return torch.cond(x.any(), lambda: self.a(x).contiguous(), lambda: (x - 1).contiguous(), ())\n",
        ),
        (
            "if x.any():\n    y = x - 1\n    return y, x\nreturn x * 2, x",
            "def if_true():\n    y = x - 1\n    return (y.contiguous(), x.clone().contiguous())\n\n"
            "def if_false():\n    return ((x * 2).contiguous(), x.clone().contiguous())\n\n"
            "return torch.cond(x.any(), if_true, if_false, ())\n",
        ),
        (
            "if x.any():\n    x = self.a(x)\nreturn x",
            "def if_true(x):\n    x = self.a(x)\n    return x.contiguous()\n\n"
            "def if_false(x):\n    return x.clone().contiguous()\n\n"
            "x = torch.cond(x.any(), if_true, if_false, (x,))\nreturn x\n",
        ),
        (
            "return (x + 1, 2, *y) if x.any() else (x, 3, *y)",
            "return torch.cond(x.any(), lambda: ((x + 1).contiguous(), 2, *y), "
            "lambda: (x.clone().contiguous(), 3, *y), ())\n",
        ),
    ],
)
def test_the_results_of_the_second_fix_are_contiguous(body: str, new: str) -> None:
    assert fixed(body, 1) == new


def test_the_line_ends_of_the_file_are_kept() -> None:
    text = f"{HEAD}    if x.any():\n        y = x * 2\n    else:\n        y = x * 3\n    return y\n"
    text = text.replace("\n", "\r\n")
    span = Span("f.py", 4, 7, 4, 14)
    fix = next(fixes(Failure("data-dependent-guard", "", (Step("f", span),)), lambda path: text))
    new = applied(fix.changes, lambda path: LineIndex(text))["f.py"]
    assert "torch.cond" in new
    assert new.count("\n") == new.count("\r\n")


@pytest.mark.parametrize(
    ("body", "new"),
    [
        (
            "if x.max().item() > 1:\n    x = x / 2\nreturn x",
            "def if_true(x):\n    x = x / 2\n    return x\n\ndef if_false(x):\n    return x.clone()\n\n"
            "x = torch.cond(x.max() > 1, if_true, if_false, (x,))\nreturn x\n",
        ),
        (
            "peak = float(x.max())\nreturn x / peak if 1 < peak else x",
            "peak = x.max().detach()\nreturn torch.cond(1 < peak, lambda: x / peak, lambda: x.clone(), ())\n",
        ),
    ],
)
def test_the_condition_is_a_tensor_instead_of_its_number(body: str, new: str) -> None:
    assert fixed(body) == new


def test_the_tensor_compares_with_a_fraction_as_its_number_does() -> None:
    new = fixed("if x.max().item() > 0.1 and n.item() > 2:\n    return x / 2\nreturn x")
    assert new is not None
    assert "(x.max().double() > 0.1) & (n > 2)" in new


def test_what_a_branch_logs_gets_a_branch_of_its_own() -> None:
    body = "if x.sum() > 0:\n    print('positive')\n    x = self.a(x)\nreturn x"
    new = (
        "if not torch.compiler.is_compiling() and x.sum() > 0:\n    print('positive')\n"
        "def if_true(x):\n    x = self.a(x)\n    return x\n\ndef if_false(x):\n    return x.clone()\n\n"
        "x = torch.cond(x.sum() > 0, if_true, if_false, (x,))\nreturn x\n"
    )
    assert fixed(body) == new


def test_the_sides_compute_with_tensors_too() -> None:
    body = "return x if self.step > 9 else x * (self.step.item() / 9)"
    new = "return torch.cond(self.step > 9, lambda: x.clone(), lambda: x * (self.step.detach() / 9), ())\n"
    assert fixed(body) == new


def test_a_side_of_several_statements_returns_no_tensor_that_it_was_given() -> None:
    body = "y = self.a(x)\nif y.max() > 0:\n    return y, x  # early\nx = x + 1\nz = self.b(x)\nreturn z, y"
    new = (
        "y = self.a(x)\ndef if_true(x):\n    return (y.clone(), x.clone())  # early\n\n"
        "def if_false(x):\n    x = x + 1\n    z = self.b(x)\n    return (z, y.clone())\n\n"
        "return torch.cond(y.max() > 0, if_true, if_false, (x,))\n"
    )
    assert fixed(body) == new


def test_random_numbers_are_drawn_only_if_python_would() -> None:
    assert fixed("if self.training and torch.rand(1) < self.p:\n    return x\nreturn self.a(x)") is None
    assert fixed("if torch.rand(1) < self.p and self.training:\n    return x\nreturn self.a(x)") is not None


def test_a_number_that_an_object_keeps_stays_a_number() -> None:
    kept = "peak = x.max().item()\nself.peak = peak\nif peak > 1:\n    x = x / 2\nreturn x"
    assert "item()" in (fixed(kept) or "item()")
