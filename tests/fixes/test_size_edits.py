"""Shapes, sizes, lengths and the numbers computed from them, in forms that are recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.fixes import (
    math_functions,
    narrow_slice,
    shape_star,
    shape_unpacking,
    size_tuple,
    symbolic_numbers,
    tensor_length,
)
from tests.fixes.fixing import Program, applied, check, function, refuse

LENGTHS = {
    "a tensor": ("return x / len(x)", "return x / x.size(0)"),
    "a result": ("return x / len(x[0])", "return x / x[0].size(0)"),
    "a sum": ("return x / len(x + 1)", "return x / (x + 1).size(0)"),
    "a shape": ("return x.flatten(len(x.shape) - 2)", "return x.flatten(x.dim() - 2)"),
    "a size": ("y = x.sum(0)\nreturn x * len(y.size())", "y = x.sum(0)\nreturn x * y.dim()"),
    "the last sizes": ("return x * len(x.shape[2:])", "return x * (x.dim() - 2)"),
    "a known number": ("s = x.shape[-2:]\nreturn x * len(s)", "s = x.shape[-2:]\nreturn x * 2"),
    "those between": ("return x * len(x.shape[1:-1])", "return x * (x.dim() - 2)"),
    "all but one": ("n = len(x.shape[:-1])\nreturn x * n", "n = x.dim() - 1\nreturn x * n"),
    "an argument": ("return TABLE.expand((len(x), -1, -1))", "return TABLE.expand((x.size(0), -1, -1))"),
}


@pytest.mark.parametrize("case", LENGTHS.values(), ids=LENGTHS)
def test_len_becomes_a_size_or_a_rank(case: tuple[str, str], tmp_path: Path) -> None:
    bad, good = map(function, case)
    assert check(tmp_path, tensor_length.fixes, bad, good).title.startswith("Replace with ")


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(len(x)):\n    x = x + i\nreturn x",
        "return x * len(x.shape[1:2])",
        "return x * len(x.shape[n:])",
        "s = x.shape\nreturn x * len(s)",
        "return torch.tensor([x.shape[0]])",
        "return list(reversed(x))",
    ],
)
def test_an_unknown_length_is_left(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, tensor_length.fixes, function(f"n = 1\n{body}"))


@pytest.mark.parametrize("kind", ["list[torch.Tensor]", "tuple", "torch.Size"])
def test_the_length_of_a_list_is_left(kind: str, tmp_path: Path) -> None:
    refuse(tmp_path, tensor_length.fixes, function("return len(x)", f"x: {kind}"))


NUMBERS = {
    "the larger": ("return x * max(x.shape[0], 2)", "return x * torch.sym_max(x.shape[0], 2)"),
    "of three": (
        "n = x.size(1)\nreturn x * min(n, 2, x.dim())",
        "n = x.size(1)\nreturn x * torch.sym_min(torch.sym_min(n, 2), x.dim())",
    ),
    "of a list": ("return x * max([x.shape[0], 1])", "return x * torch.sym_max(x.shape[0], 1)"),
    "padding": (
        "h, w = x.shape[-2:]\nreturn F.pad(x, [0, max((math.ceil(w / 3) - 1) * 3 + 5 - w, 0)])",
        "h, w = x.shape[-2:]\nreturn F.pad(x, [0, torch.sym_max((math.ceil(w / 3) - 1) * 3 + 5 - w, 0)])",
    ),
    "an integer": ("return x[:, : int(x.shape[1] / 2)]", "return x[:, : torch.sym_int(x.shape[1] / 2)]"),
    "rounded up": (
        "n = int(math.ceil(x.size(1) / 2))\nreturn n",
        "n = torch.sym_int(math.ceil(x.size(1) / 2))\nreturn n",
    ),
    "of a converted number": (
        "n = int(math.ceil(float(x.shape[1]) / 2) * 2)\nreturn n",
        "n = torch.sym_int(math.ceil(torch.sym_float(x.shape[1]) / 2) * 2)\nreturn n",
    ),
    "a root": ("return int(math.sqrt(x.shape[2]))", "return torch.sym_int(math.sqrt(x.shape[2]))"),
    "an item": ("return x * int(x[0, 0, 0].item())", "return x * torch.sym_int(x[0, 0, 0].item())"),
    "a float": (
        "scale = float(x.shape[-1]) ** -0.5\nreturn x * scale",
        "scale = torch.sym_float(x.shape[-1]) ** -0.5\nreturn x * scale",
    ),
    "not as an argument": (
        "return F.relu(x, inplace=not x.shape[0] == 2)",
        "return F.relu(x, inplace=torch.sym_not(x.shape[0] == 2))",
    ),
}


@pytest.mark.parametrize("case", NUMBERS.values(), ids=NUMBERS)
def test_a_function_of_numbers_becomes_torchs(case: tuple[str, str], tmp_path: Path) -> None:
    bad, good = map(function, case)
    assert check(tmp_path, symbolic_numbers.fixes, bad, good).title.startswith("Replace with torch.sym_")


def test_torch_keeps_the_name_that_the_file_imports_it_by(tmp_path: Path) -> None:
    bad = "import torch as t\n\ndef f(x):\n    return x * max(x.shape[0], 2)\n"
    check(tmp_path, symbolic_numbers.fixes, bad, bad.replace("max(", "t.sym_max("))


def test_a_result_that_decides_fails_where_it_decides(tmp_path: Path) -> None:
    bad = function("if max(x.shape[0], 2) > 2:\n    return x\nreturn x + 1")
    then = "if torch.sym_max(x.shape[0], 2) > 2:"
    check(tmp_path, symbolic_numbers.fixes, bad, bad.replace("max(", "torch.sym_max("), then=then)


@pytest.mark.parametrize(
    "body",
    [
        "return max(x.mean(0), x.sum(0))",
        "return max(x.shape)",
        "return max(*x.shape)",
        "return max(x.shape[0], 1, key=abs)",
        "return sum(x.shape)",
        "if not x.shape[0] == 2:\n    return x",
        "return round(x.shape[0] / 2)",
        "return sorted([x.shape[0], 2])",
    ],
)
def test_functions_of_other_values_are_left(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, symbolic_numbers.fixes, function(body))


SIZES = {
    name: (f"n, m, k = x.shape\nreturn {bad}", f"n, m, k = x.shape\nreturn {good}")
    for name, bad, good in [
        ("zeros", "torch.zeros(n, m)", "torch.zeros((n, m))"),
        ("ones", "torch.ones(n, 3, dtype=x.dtype)", "torch.ones((n, 3), dtype=x.dtype)"),
        ("brackets", "torch.ones((n), (m), )", "torch.ones(((n), (m)), )"),
        ("empty", "torch.empty(n, m).fill_(1)", "torch.empty((n, m)).fill_(1)"),
        ("rand", "torch.rand(n, m).shape", "torch.rand((n, m)).shape"),
        ("randn", "torch.randn(n, 1).size()", "torch.randn((n, 1)).size()"),
        ("expand", "TABLE.expand(n, -1, -1)", "TABLE.expand((n, -1, -1))"),
        ("new_zeros", "TABLE.new_zeros(n, 2)", "TABLE.new_zeros((n, 2))"),
        ("new_ones", "TABLE.new_ones(\n    n,  # é\n    2,\n)", "TABLE.new_ones(\n    (n,  # é\n    2),\n)"),
        ("new_empty", "TABLE.new_empty(n, 2).zero_()", "TABLE.new_empty((n, 2)).zero_()"),
    ]
}


@pytest.mark.parametrize("case", SIZES.values(), ids=SIZES)
def test_sizes_become_one_tuple(case: tuple[str, str], tmp_path: Path) -> None:
    bad, good = map(function, case)
    assert check(tmp_path, size_tuple.fixes, bad, good).title == "Pass the sizes as a tuple"


@pytest.mark.parametrize("body", ["return divmod(n, m)", "return torch.zeros(*x.shape, 2)", "return range(n, 2)"])
def test_other_arguments_are_left(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, size_tuple.fixes, function(f"n, m, k = x.shape\n{body}"))


def test_a_function_of_another_package_is_left(tmp_path: Path) -> None:
    refuse(tmp_path, size_tuple.fixes, function('import einops\nreturn einops.repeat(x, "a -> a b", 2)'))


SPLATS = {
    "at the front": ("s = (*x.shape[:-1], -1, 2)\nreturn x.view(s)", "s = x.shape[:-1] + (-1, 2)\nreturn x.view(s)"),
    "behind": ("return x.view((1, *x.shape))", "return x.view((1,) + x.shape)"),
    "amidst": (
        "s = x.size()\nreturn x.view(\n    (1, *s[:2], 1, *s[2:])\n)",
        "s = x.size()\nreturn x.view(\n    (1,) + s[:2] + (1,) + s[2:]\n)",
    ),
    "without brackets": ("s = *x.shape, 1\nreturn x.view(s)", "s = x.shape + (1,)\nreturn x.view(s)"),
    "indexed": ("return x * (*x.shape, 1)[0]", "return x * (x.shape + (1,))[0]"),
    "in a call": ("return x.view(*x.shape[:-1], -1, 2)", "return x.view(x.shape[:-1] + (-1, 2))"),
    "and taken whole": (
        "s = (*x.shape[:-1], -1, 2)\nreturn x.view(*s) + x.reshape(*s)",
        "s = x.shape[:-1] + (-1, 2)\nreturn x.view(s) + x.reshape(s)",
    ),
    "alone in a call": ("s = x.shape[:2]\nreturn torch.ones(*s)", "s = x.shape[:2]\nreturn torch.ones(s)"),
    "by keyword": (
        "return torch.ones(*x.shape[:2], 3, dtype=x.dtype)",
        "return torch.ones(x.shape[:2] + (3,), dtype=x.dtype)",
    ),
    "in a list": ("return x.reshape([*x.shape[:1], -1])", "return x.reshape(x.shape[:1] + (-1,))"),
    "as a tuple": ("return x.view((1,) + tuple(x.shape))", "return x.view((1,) + x.shape)"),
}


@pytest.mark.parametrize("case", SPLATS.values(), ids=SPLATS)
def test_a_starred_shape_becomes_a_sum_of_tuples(case: tuple[str, str], tmp_path: Path) -> None:
    bad, good = map(function, case)
    assert check(tmp_path, shape_star.fixes, bad, good).title == "Add the tuples instead of unpacking the shape"


@pytest.mark.parametrize(
    "body",
    [
        "return (*x, 1)",
        "return torch.stack([*x])",
        "return math.hypot(*x.shape)",
        "return [*x.shape, 1]",
        "return list(x.shape)",
        "s = x.shape\ns = x\nreturn (*s, 1)",
        "a, *b = x.shape\nreturn x",
    ],
)
def test_a_starred_value_that_may_not_be_a_shape_is_left(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, shape_star.fixes, function(body))


UNPACKED = {
    "with another value": (
        "a, b, c, d = *x.shape, 2\nreturn x * (a + b + c + d)",
        "a, b, c, d = x.shape[0], x.shape[1], x.shape[2], 2\nreturn x * (a + b + c + d)",
    ),
    "amidst others": (
        "s = x.shape\na, b, c, d, e = 1, *s, x.dtype\nreturn x.to(e) * (a + b + c + d)",
        "s = x.shape\na, b, c, d, e = 1, s[0], s[1], s[2], x.dtype\nreturn x.to(e) * (a + b + c + d)",
    ),
    "the rest": (
        "b, *rest = x.shape\nreturn x.reshape((b,) + rest)",
        "b, rest = x.shape[0], x.shape[1:]\nreturn x.reshape((b,) + rest)",
    ),
}


@pytest.mark.parametrize("case", UNPACKED.values(), ids=UNPACKED)
def test_an_unpacked_shape_is_indexed(case: tuple[str, str], tmp_path: Path) -> None:
    bad, good = map(function, case)
    (fix,) = Program(tmp_path, bad).fixes(shape_unpacking.fixes)
    assert fix.title == "Index the shape instead of iterating over it"
    assert applied(bad, fix.changes) == good
    assert Program(tmp_path, good).stock_line() is None


SLICES = {
    "columns": ("return TABLE[:, : x.shape[1]]", "return TABLE.narrow(1, 0, x.shape[1])"),
    "a block": (
        "n, m = x.shape[:2]\nreturn TABLE[1:n, : m + 1]",
        "n, m = x.shape[:2]\nreturn TABLE.narrow(0, 1, n - 1).narrow(1, 0, m + 1)",
    ),
    "a window": (
        "n, m = x.shape[:2]\nreturn TABLE[:, m - n : m]",
        "n, m = x.shape[:2]\nreturn TABLE.narrow(1, m - n, m - (m - n))",
    ),
    "the rest": ("return TABLE[x.shape[1]:, :]", "return TABLE.narrow(0, x.shape[1], TABLE.size(0) - x.shape[1])"),
    "known by its making": ("return TABLE[: x.shape[0] + 1]", "return TABLE.narrow(0, 0, x.shape[0] + 1)"),
}
HEAD = "import torch\nfrom torch import nn\n\nTABLE = torch.eye(8)\n\n"


@pytest.mark.parametrize("case", SLICES.values(), ids=SLICES)
def test_a_slice_becomes_narrow(case: tuple[str, str], tmp_path: Path) -> None:
    bad, good = (f"{HEAD}def f(x):\n    " + text.replace("\n", "\n    ") + "\n" for text in case)
    assert check(tmp_path, narrow_slice.fixes, bad, good).title == "Replace the slice with narrow"


@pytest.mark.parametrize("buffer", ["table", "plain"])
def test_a_slice_of_a_buffer_becomes_narrow(buffer: str, tmp_path: Path) -> None:
    bad = f"""\
{HEAD}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = torch.arange(8)
        self.register_buffer("table", torch.eye(8))

    def forward(self, x):
        return self.{buffer}[: x.size(1)]
"""
    good = bad.replace("[: x.size(1)]", ".narrow(0, 0, x.size(1))")
    check(tmp_path, narrow_slice.fixes, bad, good)


@pytest.mark.parametrize(
    "body",
    [
        "return [1, 2, 3][: x.shape[0]]",
        "layers = [1, 2, 3]\nreturn layers[: x.shape[0]]",
        "return TABLE[0, : x.shape[0]]",
        "return TABLE[..., : x.shape[0]]",
        "return TABLE[:: x.shape[0], :]",
        "return TABLE[: -x.shape[0], :]",
    ],
)
def test_other_indices_are_left(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, narrow_slice.fixes, function(body))


@pytest.mark.parametrize(
    ("expression", "edited"),
    [
        ("x / np.sqrt(x.shape[-1])", "x / math.sqrt(x.shape[-1])"),
        ("x[:, : int(np.ceil(x.shape[1] / 2))]", "x[:, : math.ceil(x.shape[1] / 2)]"),
        ("x.view(x.shape[0], int(np.prod(x.shape[1:])))", "x.view(x.shape[0], math.prod(x.shape[1:]))"),
    ],
)
def test_a_number_of_a_size_is_computed_with_math(expression: str, edited: str, tmp_path: Path) -> None:
    bad = f"import math\n\nimport numpy as np\nimport torch\n\n\ndef f(x):\n    return {expression}\n"
    check(tmp_path, math_functions.fixes, bad, bad.replace(expression, edited))


def test_a_size_of_traced_numbers_becomes_a_tuple(tmp_path: Path) -> None:
    bad = function("return x.new_zeros(torch.Size([x.shape[0], 4]))")
    check(tmp_path, size_tuple.fixes, bad, bad.replace("torch.Size([x.shape[0], 4])", "(x.shape[0], 4)"))
