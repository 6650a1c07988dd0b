"""Choices, assignments into tensors and unpacking, in forms that are recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.fixes import masked_assignment, shape_unpacking, torch_where
from tests.fixes.fixing import applied, check, function, refuse

CHOICES = {
    "of a size": (
        "n = x.shape[0] if x.shape[0] > 1 else 5\nreturn x * n",
        "n = torch.sym_ite(x.shape[0] > 1, x.shape[0], 5)\nreturn x * n",
    ),
    "of a tensor by its shape": (
        "return x[:1] if x.dim() == 3 and x.shape[0] > 1 else x * 2",
        "return torch.sym_ite((x.dim() == 3) & (x.shape[0] > 1), x[:1], x * 2)",
    ),
    "by a number": ("return x * (3 if x.shape[0] % 2 else 2)", "return x * (torch.sym_ite(x.shape[0] % 2 != 0, 3, 2))"),
    "by a dtype": (
        "return x if x.dtype == torch.float64 else x.double()",
        "return torch.sym_ite(x.dtype == torch.float64, x, x.double())",
    ),
    "by the values": (
        "return torch.relu(x) if x.sum() > 0.1 else -x",
        "return torch.where(x.sum() > 0.1, torch.relu(x), -x)",
    ),
    "by none of them": (
        "return x + 1 if not (x > 2).any() else x",
        "return torch.where(torch.logical_not((x > 2).any()), x + 1, x)",
    ),
    "of two assignments": (
        "if x.shape[1] in (3, 7):\n    y = x + 1\nelse:  # é\n    y = x\nreturn y",
        "# é\ny = torch.sym_ite((x.shape[1] == 3) | (x.shape[1] == 7), x + 1, x)\nreturn y",
    ),
    "of three": (
        "if x.shape[0] == 1:\n    n = 1\nelif x.shape[0] == 2:\n    n = 2\nelse:\n    n = 3\nreturn x * n",
        "n = torch.sym_ite(x.shape[0] == 1, 1, torch.sym_ite(x.shape[0] == 2, 2, 3))\nreturn x * n",
    ),
    "of one assignment": (
        "if x.shape[0] > 1:\n    x = x[1:]\nreturn x",
        "x = torch.sym_ite(x.shape[0] > 1, x[1:], x)\nreturn x",
    ),
    "of two returns": (
        "if x.max() > 1 or x.sum() > 1:\n    return x.relu()\n# else\nreturn x.neg()",
        "# else\nreturn torch.where((x.max() > 1) | (x.sum() > 1), x.relu(), x.neg())",
    ),
    "of two branches that return": (
        "if 2 <= x.shape[0] < 3:\n    return x.relu()\nelse:\n    return x.neg()",
        "return torch.sym_ite((2 <= x.shape[0]) & (x.shape[0] < 3), x.relu(), x.neg())",
    ),
}


@pytest.mark.parametrize("case", CHOICES.values(), ids=CHOICES)
def test_a_choice_becomes_one_operation(case: tuple[str, str], tmp_path: Path) -> None:
    bad, good = map(function, case)
    assert check(tmp_path, torch_where.fixes, bad, good).title.startswith("Choose with torch.")


@pytest.mark.parametrize(
    "body",
    [
        "return x if x.shape[0] > 1 else None",
        "return x if x.shape[0] > 1 else 0",
        "return 1 if x.shape[0] > 1 else 2.0",
        "return 1 if x.sum() > 1 else 2",
        "n = x.shape[0]\nreturn 6 // n if n > 0 else 0",
        "return x + 1 if x is not None and x.sum() > 1 else x",
        "return x.add_(1) if x.shape[0] > 1 else x",
        "if x.shape[0] > 1:\n    y = x\n    x = x + 1\nreturn x",
        "if x.shape[0] > 1:\n    y = x\nelse:\n    z = x",
        "if x.shape[0] > 1:\n    y, z = x, x\nelse:\n    y, z = x + 1, x",
        "if x.shape[0] > 1:\n    raise ValueError",
        "if x.shape[0] > 1:\n    return\nreturn x",
        "while x.shape[0] > 1:\n    x = x[1:]",
        "if math.pi > 4:\n    y = x\nelif x.shape[0] > 1:\n    y = x + 1\nelse:\n    y = x",
    ],
)
def test_no_choice_where_computing_both_values_is_not_safe(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, torch_where.fixes, function(body))


ASSIGNMENTS = {
    "by a comparison": ("x[x > 0] = 0", "x = x.masked_fill(x > 0, 0)"),
    "by a mask": ("m = x.isnan()\nx[~m] = -float('inf')", "m = x.isnan()\nx = x.masked_fill(~m, -float('inf'))"),
    "by two": ("x[(x > 0) & (x < 1)] = math.inf", "x = x.masked_fill((x > 0) & (x < 1), math.inf)"),
    "another's values": ("y = x * 2\nx[x > 0] = y[x > 0]", "y = x * 2\nx = torch.where(x > 0, y, x)"),
    "one place": ("x[:, 0] = x[:, 1] * 2", "x = torch.select_scatter(x, x[:, 1] * 2, 1, 0)"),
    "a slice": ("x[:, 1:3] = x[:, :2] * 2", "x = torch.slice_scatter(x, x[:, :2] * 2, 1, 1, 3)"),
    "one of each turn": (
        "for i in range(2):\n    x[:, i] = x[:, 2]",
        "for i in range(2):\n    x = torch.select_scatter(x, x[:, 2], 1, i)",
    ),
    "from the start": ("x[:1] = x[-1:]", "x = torch.slice_scatter(x, x[-1:], 0, None, 1)"),
}


@pytest.mark.parametrize("case", ASSIGNMENTS.values(), ids=ASSIGNMENTS)
def test_an_assignment_makes_a_new_tensor(case: tuple[str, str], tmp_path: Path) -> None:
    bad, good = (function(f"x = x + 1\n{text}  # why\nreturn x") for text in case)
    assert check(tmp_path, masked_assignment.fixes, bad, good).title.startswith("Make a new tensor with ")


@pytest.mark.parametrize(
    "body",
    [
        "x[:, 0] = 1",
        "for row in x.unbind():\n    x[row] = y",
        "for i in range(2):\n    x[i, i] = x[0, 0]",
        "for i in range(2):\n    i = x > 0\n    x[i] = y",
        "for i in range(2):\n    x[i:] = 0",
        "x[0, 0] = x[1, 1]",
        "x[::2] = x",
        "x[x > 0] = y",
        "x[x > 0] += 1",
        "x[0] = y = x[1]",
        "x[0][1] = x[1]",
        "x[[0, 1]] = x",
        "x[x.shape[0] - 1] = 0",
        "x[..., 0] = x[..., 1]",
    ],
)
def test_an_assignment_to_more_than_one_dimension_is_left(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, masked_assignment.fixes, function(f"y = x[0]\n{body}\nreturn x"))


ITEMS = {
    "the rest": (
        "n, *rest = x.shape\nreturn x.view((n, 1) + tuple(rest))",
        "n, rest = x.shape[0], x.shape[1:]\nreturn x.view((n, 1) + tuple(rest))",
    ),
    "the rest, which a call takes": (
        "n, *rest = x.shape\nx = x.view(n, -1)\nreturn x.reshape(n, *rest).reshape(*rest, n)",
        "n, rest = x.shape[0], x.shape[1:]\nx = x.view(n, -1)\nreturn x.reshape((n,) + rest).reshape(rest + (n,))",
    ),
    "the first": ("*_, k = x.size()\nreturn x * k", "_, k = x.size()[:-1], x.size()[-1]\nreturn x * k"),
    "between": (
        "n, *m, k = x.shape\nreturn x * n * k",
        "n, m, k = x.shape[0], x.shape[1:-1], x.shape[-1]\nreturn x * n * k",
    ),
    "of a shape and more": (
        "*_, k, d, t = *x.shape, x.dtype, 2\nreturn x.to(d) * k * t",
        "_, k, d, t = x.shape[:-1], x.shape[-1], x.dtype, 2\nreturn x.to(d) * k * t",
    ),
    "behind more": (
        "t, n, *rest = 2, *x.size()\nreturn x * n * t",
        "t, n, rest = 2, x.size()[0], x.size()[1:]\nreturn x * n * t",
    ),
    "a loop": (
        "for n in x.shape[-2:]:\n    x = x * n\nreturn x",
        "for n in (x.shape[-2], x.shape[-1]):\n    x = x * n\nreturn x",
    ),
    "a comprehension": (
        "s = x.shape[1:3]\nreturn x.new_zeros([n // 2 for n in s])",
        "s = x.shape[1:3]\nreturn x.new_zeros([n // 2 for n in (s[0], s[1])])",
    ),
    "pairs": (
        "return x * sum(n * k for n, k in zip(x.shape[:2], [3, 4]))",
        "return x * sum(n * k for n, k in zip((x.shape[0], x.shape[1]), [3, 4]))",
    ),
    "a list": ("return x.view(list(x.shape[:1]) + [-1])", "return x.view(list((x.shape[0],)) + [-1])"),
    "a sum": ("return x * sum(x.shape[-3:-1])", "return x * sum((x.shape[-3], x.shape[-2]))"),
}
THEN = {"the rest": "return x.view((n, 1) + tuple(rest))"}


@pytest.mark.parametrize("name", ITEMS)
def test_a_known_number_of_items_is_indexed(name: str, tmp_path: Path) -> None:
    bad, good = map(function, ITEMS[name])
    fix = check(tmp_path, shape_unpacking.fixes, bad, good, then=THEN.get(name))
    assert fix.title == "Index the shape instead of iterating over it"


@pytest.mark.parametrize(
    "body",
    [
        "for n in x.shape:\n    x = x * n",
        "for n in x.shape[1:]:\n    x = x * n",
        "for n in x.shape[:-1]:\n    x = x * n",
        "for n in x[:2]:\n    x = x + n",
        "n, *rest = x",
        "n, *rest = *x.shape, 1",
        "n, *rest = *x.shape, *x.shape",
        "*rest, n = 1, *x.shape",
        "return (*x.shape, 1)",
    ],
)
def test_a_shape_of_unknown_length_is_not_indexed(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, shape_unpacking.fixes, function(f"{body}\nreturn x"))


def test_a_capture_chooses_by_a_tensor_even_if_the_text_does_not_show_that_it_is_one() -> None:
    text = "import torch\n\ndef f(x, limit):\n    return x * 2 if limit > 1 else x\n"
    span = Span("f.py", 4, 20, 4, 29)
    of_tensor = "Could not guard on data-dependent expression Eq(u0, 1)"
    for kind, error, chooser in (
        ("data-dependent-guard", of_tensor, "where"),
        ("graph-break", "Data-dependent branching", "where"),
        ("data-dependent-guard", "Could not guard on data-dependent expression u0 > 1", "sym_ite"),
        ("control-flow", "", "sym_ite"),
    ):
        (fix,) = torch_where.fixes(Failure(kind, error, (Step("f", span),)), {"f.py": text}.get)
        assert fix.title == f"Choose with torch.{chooser}"


def test_a_choice_by_a_number_that_was_read_from_a_tensor_becomes_one_by_the_tensor() -> None:
    text = "import torch\n\ndef f(x):\n    n = x.max().item()\n    return x * 2 if n > 1 else x\n"
    for symbol, tensor in (("u0", "x.max().detach()"), ("zuf0", "x.max().detach().double()")):
        error = f"expression {symbol} > 1"
        failure = Failure("data-dependent-guard", error, (Step("f", Span("f.py", 5, 20, 5, 25)),))
        (fix,) = torch_where.fixes(failure, {"f.py": text}.get)
        new = f"n = {tensor}\n    return torch.where(n > 1, x * 2, x)"
        assert (fix.title, new in applied(text, fix.changes)) == ("Choose with torch.where, by the tensor", True)
