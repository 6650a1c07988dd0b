"""What is moved into a function of its own, and what it takes and gives."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
import torch

from fx_lsp.fixes.move_to_helper import fixes
from tests.fixes.fixing import HEAD, INPUTS, Program, applied, check, function, refuse, same


def moved(name: str, definition: str, body: str) -> str:
    """The program of the tests with a recorded function."""
    head = HEAD.replace("functional as F\n", f'functional as F\n\ntorch.fx.wrap("{name}")\n').replace(
        "import torch\n", "import torch\nimport torch.fx\n"
    )
    return function(body).replace(HEAD, f"{head}{definition}\n\n\n")


CASES = {
    "one that changes a value": (
        "y = x\nif x.shape[0] > 1:\n    y = 2 * y  # é\n    y = y + 1\nreturn y",
        "_f_y",
        "def _f_y(x, y):\n    if x.shape[0] > 1:\n        y = 2 * y  # é\n        y = y + 1\n    return y",
        "y = x\ny = _f_y(x, y)\nreturn y",
    ),
    "one that makes a value": (
        "if x.sum() > 0 and x.shape[0] > 1:\n    n, k = 2, 3\nelif x.shape[0] > 3:\n    n = k = 3\n"
        "else:\n    n, k = 4, 5\nreturn x * n + k",
        "_f_n",
        "def _f_n(x):\n    if x.sum() > 0 and x.shape[0] > 1:\n        n, k = 2, 3\n    elif x.shape[0] > 3:\n"
        "        n = k = 3\n    else:\n        n, k = 4, 5\n    return n, k",
        "n, k = _f_n(x)\nreturn x * n + k",
    ),
    "one that returns": (
        "y = x + 1\nif y.sum() > 10:\n    return y\ny = y * 2\nreturn y - 1",
        "_f_result",
        "def _f_result(y):\n    if y.sum() > 10:\n        return y\n    y = y * 2\n    return y - 1",
        "y = x + 1\nreturn _f_result(y)",
    ),
    "two lists that grow": (
        "n = x.shape[1]\nrow, col = [], []\nfor i in range(n - 1):\n    row.append(i), col.append(i + 1)\n"
        "return x[:, row] * x[:, col]",
        "_f_row",
        "def _f_row(n, row, col):\n    for i in range(n - 1):\n        row.append(i), col.append(i + 1)\n"
        "    return row, col",
        "n = x.shape[1]\nrow, col = [], []\nrow, col = _f_row(n, row, col)\nreturn x[:, row] * x[:, col]",
    ),
    "the inner one of two loops": (
        "n, rows = x.shape[1], []\nfor i in range(2):\n    for k in range(i, n):\n        rows.append(k)\n"
        "return x[:, rows]",
        "_f_rows",
        "def _f_rows(i, n, rows):\n    for k in range(i, n):\n        rows.append(k)\n    return rows",
        "n, rows = x.shape[1], []\nfor i in range(2):\n    rows = _f_rows(i, n, rows)\nreturn x[:, rows]",
    ),
    "one that only reports": (
        "if x.shape[0] > 9:\n    print('large', x.shape)\nelif x.shape[0] == 8:\n    print('as usual')\nreturn x",
        "_f_report",
        "def _f_report(x):\n    if x.shape[0] > 9:\n        print('large', x.shape)\n    elif x.shape[0] == 8:\n"
        "        print('as usual')",
        "_f_report(x)\nreturn x",
    ),
    "what a dictionary has for a size": (
        "scales = {1: 0.5, 2: 0.25, 3: 2.0}\nreturn x * scales[x.shape[0]]",
        "_f_result",
        "def _f_result(scales, x):\n    return scales[x.shape[0]]",
        "scales = {1: 0.5, 2: 0.25, 3: 2.0}\nreturn x * _f_result(scales, x)",
    ),
    "an assignment": (
        "y = x * 2\ny[y > 0] = 0\nreturn y",
        "_f_y",
        "def _f_y(y):\n    y[y > 0] = 0\n    return y",
        "y = x * 2\ny = _f_y(y)\nreturn y",
    ),
    "one in place": (
        "x[:, 0] += 1\nreturn x",
        "_f_x",
        "def _f_x(x):\n    x[:, 0] += 1\n    return x",
        "x = _f_x(x)\nreturn x",
    ),
    "a loop": (
        "total = 0\nfor row in x:\n    if row.sum() < 0:\n        continue\n"
        "    total = total + row.sum()\nreturn total",
        "_f_total",
        "def _f_total(x, total):\n    for row in x:\n        if row.sum() < 0:\n            continue\n"
        "        total = total + row.sum()\n    return total",
        "total = 0\ntotal = _f_total(x, total)\nreturn total",
    ),
    "a loop until": (
        "n = x.shape[1]\nwhile n > 3:\n    n = n // 2\nreturn x * n",
        "_f_n",
        "def _f_n(n):\n    while n > 3:\n        n = n // 2\n    return n",
        "n = x.shape[1]\nn = _f_n(n)\nreturn x * n",
    ),
    "a list that grows": (
        "found = []\nfor row in x:\n    found.append(row * 2)\nreturn torch.stack(found)",
        "_f_found",
        "def _f_found(x, found):\n    for row in x:\n        found.append(row * 2)\n    return found",
        "found = []\nfound = _f_found(x, found)\nreturn torch.stack(found)",
    ),
    "rows that are written": (
        "out = x.new_zeros(x.shape)\nfor i in range(x.shape[0]):\n    row = x[i]\n"
        "    out[i, : row.shape[0]].copy_(row)\nreturn out",
        "_f_out",
        "def _f_out(x, out):\n    for i in range(x.shape[0]):\n        row = x[i]\n"
        "        out[i, : row.shape[0]].copy_(row)\n    return out",
        "out = x.new_zeros(x.shape)\nout = _f_out(x, out)\nreturn out",
    ),
    "a block": (
        "if x.shape[0] > 1:\n    with torch.no_grad():\n        x = x + 1\nreturn x",
        "_f_x",
        "def _f_x(x):\n    if x.shape[0] > 1:\n        with torch.no_grad():\n            x = x + 1\n    return x",
        "x = _f_x(x)\nreturn x",
    ),
    "what nothing reads any more": (
        "if x.shape[0] > 1:\n    low = x.amin()\n    x = x - low\nlow = x.sum()\nreturn x * low",
        "_f_x",
        "def _f_x(x):\n    if x.shape[0] > 1:\n        low = x.amin()\n        x = x - low\n    return x",
        "x = _f_x(x)\nlow = x.sum()\nreturn x * low",
    ),
    "what the next turn reads": (
        "n = 1\nfor i in range(2):\n    if x.shape[0] > 1:\n        n = n + 1\n        low = x.amin()\n"
        "        x = x * n - low\nreturn x",
        "_f_x",
        "def _f_x(x, n):\n    if x.shape[0] > 1:\n        n = n + 1\n        low = x.amin()\n"
        "        x = x * n - low\n    return x, n",
        "n = 1\nfor i in range(2):\n    x, n = _f_x(x, n)\nreturn x",
    ),
    "branches that return": (
        "if x.shape[0] > 1:\n    return x\nelif x.shape[1] > 3:\n    return x + 1\nelse:\n    return x + 2",
        "_f_result",
        "def _f_result(x):\n    if x.shape[0] > 1:\n        return x\n    elif x.shape[1] > 3:\n        return x + 1\n"
        "    else:\n        return x + 2",
        "return _f_result(x)",
    ),
    "a number of a number": (
        "return x * float(complex(x.shape[1]).real)",
        "_f_result",
        "def _f_result(x):\n    return float(complex(x.shape[1]).real)",
        "return x * _f_result(x)",
    ),
    "what is still to be computed": (
        "a, b = map(torch.relu, x.chunk(2))\nreturn a",
        "_f_result",
        "def _f_result(x):\n    return tuple(map(torch.relu, x.chunk(2)))",
        "a, b = _f_result(x)\nreturn a",
    ),
    "an expression": (
        "low = torch.finfo(x.dtype)\nreturn x * low.eps",
        "_f_low",
        "def _f_low(x):\n    return torch.finfo(x.dtype)",
        "low = _f_low(x)\nreturn x * low.eps",
    ),
    "what is read from it": (
        "return x.clamp(min=torch.finfo(x.dtype).eps * 2)",
        "_f_result",
        "def _f_result(x):\n    return torch.finfo(x.dtype).eps",
        "return x.clamp(min=_f_result(x) * 2)",
    ),
    "a comprehension": (
        "i = 2\nsizes = [s // i for s in x.shape]\nreturn x.new_zeros(sizes)",
        "_f_sizes",
        "def _f_sizes(i, x):\n    return [s // i for s in x.shape]",
        "i = 2\nsizes = _f_sizes(i, x)\nreturn x.new_zeros(sizes)",
    ),
    "a generator": (
        "return x * any(s > 4 for s in x.shape)",
        "_f_result",
        "def _f_result(x):\n    return any(s > 4 for s in x.shape)",
        "return x * _f_result(x)",
    ),
    "a choice": (
        "return x + (1 if x.shape[0] > 1 else\n    0)",
        "_f_result",
        "def _f_result(x):\n    return (1 if x.shape[0] > 1 else\n            0)",
        "return x + (_f_result(x))",
    ),
    "a truth": (
        "last = x.shape[0] or 2\nreturn x + last",
        "_f_last",
        "def _f_last(x):\n    return x.shape[0] or 2",
        "last = _f_last(x)\nreturn x + last",
    ),
    "a conversion": (
        "return x * complex(x.shape[1]).real",
        "_f_result",
        "def _f_result(x):\n    return complex(x.shape[1]).real",
        "return x * _f_result(x)",
    ),
    "sizes as a tensor": (
        "return x.sum() * torch.tensor([x.shape[0], 2])",
        "_f_result",
        "def _f_result(x):\n    return torch.tensor([x.shape[0], 2])",
        "return x.sum() * _f_result(x)",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_part_moves_into_a_recorded_function(case: tuple[str, str, str, str], tmp_path: Path) -> None:
    bad, name, definition, body = case
    fix = check(tmp_path, fixes, function(bad), moved(name, definition, body))
    assert fix.title.endswith(f" into {name} and record its call")


def test_branches_that_depend_on_the_result_move_as_well(tmp_path: Path) -> None:
    bad = function(
        "padded = False\nif x.shape[0] % 2 != 0:\n    x = F.pad(x, (0, 0, 0, 0, 0, 1))\n    padded = True\nx = x * 2\n"
        "if padded:\n    x = x[:-1]\nreturn x"
    )
    definitions = (
        "def _f_x(x, padded):\n    if x.shape[0] % 2 != 0:\n        x = F.pad(x, (0, 0, 0, 0, 0, 1))\n"
        "        padded = True\n    return x, padded\n\n\n"
        "def _f_x_2(padded, x):\n    if padded:\n        x = x[:-1]\n    return x"
    )
    body = "padded = False\nx, padded = _f_x(x, padded)\nx = x * 2\nx = _f_x_2(padded, x)\nreturn x"
    good = moved("_f_x", definitions, body).replace('wrap("_f_x")', 'wrap("_f_x")\ntorch.fx.wrap("_f_x_2")')
    check(tmp_path, fixes, bad, good)


def test_loops_over_a_number_that_is_recorded_move_as_well(tmp_path: Path) -> None:
    bad = function(
        "best = int(2 * math.log(x.shape[1]))\nvalues = x.topk(best, 1)[0]\n"
        "first = torch.stack([values[:, i] for i in range(best)], 1)\n"
        "total = torch.zeros_like(x[:, 0])\nfor i in range(best):\n    total = total + i * values[:, i]\n"
        "return total + first.sum(1)"
    )
    definitions = (
        "def _f_best(x):\n    return int(2 * math.log(x.shape[1]))\n\n\n"
        "def _f_first(values, best):\n    return [values[:, i] for i in range(best)]\n\n\n"
        "def _f_total(best, total, values):\n    for i in range(best):\n        total = total + i * values[:, i]\n"
        "    return total"
    )
    body = (
        "best = _f_best(x)\nvalues = x.topk(best, 1)[0]\nfirst = torch.stack(_f_first(values, best), 1)\n"
        "total = torch.zeros_like(x[:, 0])\ntotal = _f_total(best, total, values)\nreturn total + first.sum(1)"
    )
    wraps = "".join(f'torch.fx.wrap("_f_{name}")\n' for name in ("best", "first", "total"))
    good = moved("_f_best", definitions, body).replace('torch.fx.wrap("_f_best")\n', wraps)
    check(tmp_path, fixes, bad, good)


def test_a_result_that_may_be_none_is_not_tested_while_tracing(tmp_path: Path) -> None:
    bad = function(
        "bias = None\nif x.shape[0] > 2:\n    if bias is not None:\n        bias = bias[:2]\n    x = x[:2]\n"
        "if bias is not None:\n    x = x + bias\nreturn x"
    )
    (fix,) = Program(tmp_path, bad).fixes(fixes)
    mended = applied(bad, fix.changes)
    assert mended.endswith("    bias = None\n    x, bias = _f_x(x, bias)\n    x = _f_x_2(bias, x)\n    return x\n")
    program = Program(tmp_path, mended)
    assert same(program.traced_outputs(INPUTS), Program(tmp_path, bad).outputs(INPUTS))


NET = """\
import torch
from torch import fx, nn

fx.wrap("len")


# What it is.
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = 3
        self.layer = nn.Linear(4, 4)
        self.register_buffer("table", torch.eye(4))

    def forward(self, x):
        if x.shape[1] != self.size:
            x = x[:, : self.size] + self.table.sum() + self.layer.in_features
        return self.layer(x)
"""
MENDED = """\
import torch
from torch import fx, nn

fx.wrap("len")
fx.wrap("_forward_x")


def _forward_x(x, size, table, in_features):
    if x.shape[1] != size:
        x = x[:, : size] + table.sum() + in_features
    return x


# What it is.
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = 3
        self.layer = nn.Linear(4, 4)
        self.register_buffer("table", torch.eye(4))

    def forward(self, x):
        x = _forward_x(x, self.size, self.table, self.layer.in_features)
        return self.layer(x)
"""


def test_attributes_of_the_module_are_passed(tmp_path: Path) -> None:
    check(tmp_path, fixes, NET, MENDED, inputs=[(torch.ones(2, n, 4),) for n in (2, 3, 5)])


SPECTRUM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = x.new_zeros(x.shape[0], 5, 4)
        y[:, :2, 1:] = 2 * self.mixed(x[:, :2], 0)[..., 1:]
        return y

    def mixed(self, x, dim):
        return self.layer(x).cumsum(dim)
"""
RECORDED = """\
import torch
import torch.fx
from torch import nn

torch.fx.wrap("_forward_y")


def _forward_y(y, mixed):
    y[:, :2, 1:] = 2 * mixed[..., 1:]
    return y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = x.new_zeros(x.shape[0], 5, 4)
        y = _forward_y(y, self.mixed(x[:, :2], 0))
        return y

    def mixed(self, x, dim):
        return self.layer(x).cumsum(dim)
"""


def test_what_a_method_returns_is_passed(tmp_path: Path) -> None:
    inputs = [(torch.ones(n, 3, 4),) for n in (2, 3, 5)]
    check(tmp_path, fixes, SPECTRUM, RECORDED, inputs=inputs)


@pytest.mark.parametrize(
    "body",
    [
        "if x.shape[0] > 1:\n    z = x\nelse:\n    y = x\nreturn x",
        "if x.shape[0] > 1:\n    y = x\nreturn y",
        "if x.shape[0] > 1:\n    return x\nx = x + 1",
        "for i in range(2):\n    if x.shape[0] > 1:\n        break\n    x = x + 1\nreturn x",
        "for i in range(2):\n    if x.shape[0] > 1:\n        return x\nreturn x + 1",
        "g = F.relu\nif x.shape[0] > 1:\n    x = g(x)\nreturn x",
        "if x.shape[0] > 1:\n    import os\nreturn x",
        "if x.shape[0] > 1:\n    raise ValueError\nreturn x",
        "if x.shape[0] > 1:\n    try:\n        x = x + 1\n    finally:\n        pass\nreturn x",
        "flag = x.shape[0] > 1 and x.shape[1] > 2\nif flag:\n    import os\nreturn x",
        "if x.shape[0] > 1:\n    x = '''a\n    b'''\nreturn x",
        "rows = []\nif x.shape[0] > 9:\n    heapq.heappush(rows, 1.0)\nreturn x * len(rows)",
    ],
)
def test_code_that_is_tied_to_its_place_does_not_move(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, fixes, function(body))


@pytest.mark.parametrize(
    "body",
    [
        "if x.shape[0] > 1:\n    x = self.layer(x)",
        "if x.shape[0] > 1:\n    x = self.layers[0](x)",
        "x[0] = 0 if x.shape[0] > 1 else self.layer(x)",
        "x[0] = [self.layer(row) for row in x]",
        "if x.shape[0] > 1:\n    self.size = 3",
        "if x.shape[0] > 1:\n    x = x + super().extra_repr()",
        "if x.shape[0] > 1:\n    x = helper(self, x)",
    ],
)
def test_code_that_calls_the_module_does_not_move(body: str, tmp_path: Path) -> None:
    start, end = NET.index("        if x.shape"), NET.index("        return self.layer(x)")
    refuse(tmp_path, fixes, NET[:start] + "".join(f"        {line}\n" for line in body.split("\n")) + NET[end:])


LAYERED = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 6)
        self.other = nn.Linear(2, 2)

    def forward(self, x):
{body}
"""


@pytest.mark.parametrize(
    ("body", "definition", "edited"),
    [
        (
            "parts = list(self.lin(x).split(2, -1))\nreturn self.other(parts[0]) + parts[1]",
            "def _forward_parts(lin):\n    return list(lin.split(2, -1))",
            "parts = _forward_parts(self.lin(x))\nreturn self.other(parts[0]) + parts[1]",
        ),
        (
            "total = 0\nfor part in self.lin(x).split(2, -1):\n    total = total + part\nreturn self.other(total)",
            "def _forward_total(total, lin):\n    for part in lin.split(2, -1):\n        total = total + part\n"
            "    return total",
            "total = 0\ntotal = _forward_total(total, self.lin(x))\nreturn self.other(total)",
        ),
        (
            "if self.lin(x).sum() > 0:\n    x = x * 2\nreturn self.lin(x)",
            "def _forward_x(x, lin):\n    if lin.sum() > 0:\n        x = x * 2\n    return x",
            "x = _forward_x(x, self.lin(x))\nreturn self.lin(x)",
        ),
    ],
)
def test_what_a_layer_computes_first_of_all_is_passed(body: str, definition: str, edited: str, tmp_path: Path) -> None:
    name = definition[4 : definition.index("(")]
    head = moved(name, definition, "pass").partition("def f(x)")[0]
    bad, good = (LAYERED.format(body=indent(text, " " * 8)) for text in (body, edited))
    inputs = [(torch.linspace(-1, 1, 4 * n).view(n, 4),) for n in (1, 3, 5)]
    check(tmp_path, fixes, HEAD + bad, head + good, inputs=inputs)


@pytest.mark.parametrize(
    "body",
    [
        "n = 2\nwhile self.lin(x).sum() > n:\n    n = n + 1\nreturn x * n",
        "if x.sum() > 0 and self.lin(x).sum() > 0:\n    x = x * 2\nreturn x",
    ],
)
def test_a_layer_that_may_not_run_exactly_once_is_not_passed(body: str, tmp_path: Path) -> None:
    refuse(tmp_path, fixes, HEAD + LAYERED.format(body=indent(body, " " * 8)))


FILLED = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = x.new_zeros(x.shape)
        for i in range(3):
            y[:, i, :2] = self.layer(x[:, i])[:, 2:]
            y[:, i, :] = self.layer(y[:, i])
        return y
"""


def test_what_a_module_returns_is_passed_and_written_by_the_recorded_function(tmp_path: Path) -> None:
    program = Program(tmp_path, FILLED)
    (fix,) = program.fixes(fixes)
    text = applied(FILLED, fix.changes)
    assert "            y = _forward_y(y, i, self.layer(x[:, i]))\n" in text
    (fix,) = Program(tmp_path, text).fixes(fixes)
    text = applied(text, fix.changes)
    assert "            y = _forward_y_2(y, i, self.layer(y[:, i]))\n" in text
    inputs = [(torch.ones(n, 3, 4),) for n in (2, 3, 5)]
    assert same(Program(tmp_path, text).traced_outputs(inputs), program.outputs(inputs))


BRANCHES = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.branches = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x):
        for i in range(2):
            x[i] = self.branches[i](x[i])
        return x[0] + x[1]
"""


def test_what_a_module_of_a_list_returns_is_passed(tmp_path: Path) -> None:
    (fix,) = Program(tmp_path, BRANCHES).fixes(fixes)
    text = applied(BRANCHES, fix.changes)
    assert "def _forward_x(x, i, branches):\n    x[i] = branches\n    return x\n" in text
    assert "            x = _forward_x(x, i, self.branches[i](x[i]))\n" in text
    inputs = [([torch.ones(n, 4), torch.full((n, 4), 2.0)],) for n in (2, 3)]
    assert same(Program(tmp_path, text).traced_outputs(inputs), Program(tmp_path, BRANCHES).outputs(inputs))
