"""Every failure of a capture, in one run, as a real agent reports it."""

from __future__ import annotations

import pytest
import torch

from fx_lsp.agent.messages import Capture, Limits, Report, Snippet
from tests.agent.client import Client, target_of, text_at

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked"),
]

HEAD = """\
import logging

import torch
from torch import nn

logger = logging.getLogger(__name__)


@torch.library.custom_op("fx_lsp_all::same", mutates_args=())
def same(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@torch.library.custom_op("fx_lsp_all::wide", mutates_args=())
def wide(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x], 1)


n_tries = 1


def refuse(error):
    raise ValueError from error


def positive(x):
    torch._dynamo.graph_break()
    return x[x[:, 0] > 0]


class Part(nn.Module):
    def forward(self, x):
        print("part")
        return x + float(x.sum())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
"""


async def captured(client: Client, body: str, capture: Capture, limits: Limits | None = None) -> Report:
    """The last report on a module whose ``forward`` has the lines of ``body``."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    file = client.write("net.py", HEAD + lines)
    target = target_of(file, "Net()", inputs=Snippet("(torch.ones(3, 4),)", 1))
    answer = await client.trace(file, target, capture=capture, limits=limits or Limits(seconds=120))
    assert not answer.only.partial
    return answer.only


def places(report: Report) -> list[tuple[str, str]]:
    """The kind and the text of each failure, in order."""
    return [(failure.kind, text_at(failure.chain[-1])) for failure in report.failures]


GUARD, SIZE, BREAK = "data-dependent-guard", "data-dependent-size", "graph-break"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "if x.sum() > 0:\n    x = x * 2\nn = int(x.argmax())\nwhile x.mean() > n:\n    x = x / 2\nreturn iter([x])",
            [
                (GUARD, "x.sum() > 0"),
                (SIZE, "int(x.argmax())"),
                (GUARD, "x.mean() > n"),
                ("unsupported-output", "return iter([x])"),
            ],
        ),
        (
            "x = same(x)\nif torch.equal(x, x):\n    return x\nreturn self.linear(x)",
            [("missing-fake-kernel", "same(x)"), (GUARD, "torch.equal(x, x)")],
        ),
        (
            "if x.min() < 0:\n    raise ValueError\nn = x.sum().long().item()\nif n > 100:\n    return x\nreturn x + n",
            [(GUARD, "x.min() < 0"), (GUARD, "n > 100")],
        ),
        (
            "n = x.sum().long().item()\nfor row in range(n):\n    if x[row].sum() > 0:\n        x = x + 1\nreturn x",
            [(SIZE, "range(n)"), (GUARD, "x[row].sum() > 0")],
        ),
        (  # the program goes on by itself
            "try:\n    n = int(x.sum())\nexcept RuntimeError:\n    n = 1\nif x.sum() > 0:\n    x = -x\nreturn x + n",
            [(GUARD, "x.sum() > 0")],
        ),
        (  # the program raises the error again
            "try:\n    n = int(x.sum())\nexcept RuntimeError:\n    if n_tries > 0:\n        raise\n    n = 1\n"
            "if x.sum() > 0:\n    x = -x\nreturn x + n",
            [(SIZE, "int(x.sum())"), (GUARD, "x.sum() > 0")],
        ),
        (  # whoever mends the failure has plain numbers, which are keys
            "sums = {}\nfor value in x.long().unique().tolist():\n    sums[value] = x.sum()\nreturn list(sums)",
            [(GUARD, "x.long().unique().tolist()")],
        ),
        (  # whoever registers a fake implementation states the size
            "x = same(x)\nprint(x[0].tolist())\nreturn x",
            [("missing-fake-kernel", "same(x)")],
        ),
    ],
)
async def test_all_places_that_stop_an_export(client: Client, body: str, expected: list[tuple[str, str]]) -> None:
    report = await captured(client, body, "export")
    assert places(report) == expected
    first, *rest = report.failures
    assert first.after is None
    assert all(failure.after is not None for failure in rest)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "if not x.any():\n    return x\nif x.sum() > 1:\n    x = x + 1\nelif x.sum() < 0:\n    x = -x\nreturn x",
            [(GUARD, "x.any()"), (GUARD, "x.sum() > 1"), (GUARD, "x.sum() < 0")],
        ),
        (
            "while x.sum() > 0:\n    if x.max() > 3:\n        break\n    x = x - 1\nreturn x",
            [(GUARD, "x.sum() > 0"), (GUARD, "x.max() > 3")],
        ),
    ],
)
async def test_places_on_the_other_side_of_a_condition(
    client: Client, body: str, expected: list[tuple[str, str]]
) -> None:
    report = await captured(client, body, "export")
    assert places(report) == expected
    assert any(failure.other_side for failure in report.failures)


@pytest.mark.parametrize("data", ["x.numpy()", "f'{x.sum():.3f}'", "x.data_ptr()"])
async def test_an_export_goes_on_after_data_is_handed_to_other_code(client: Client, data: str) -> None:
    report = await captured(client, f"known = {data}\nif x.sum() > 0:\n    x = x * 2\nreturn x", "export")
    assert places(report) == [("export-error", data), (GUARD, "x.sum() > 0")]


async def test_a_call_without_fake_kernel_returns_what_it_does_for_other_values(client: Client) -> None:
    body = "x = wide(x)\nx = x @ x.new_ones(8, 2)\nif x.sum() > 0:\n    x = x * 2\nreturn x"
    report = await captured(client, body, "export")
    assert places(report) == [("missing-fake-kernel", "wide(x)"), (GUARD, "x.sum() > 0")]


async def test_an_export_goes_on_where_the_program_raises_another_error_for_one(client: Client) -> None:
    body = "try:\n    n = int(x.sum())\nexcept RuntimeError as error:\n    refuse(error)\n"
    report = await captured(client, f"{body}if x.sum() > 0:\n    x = -x\nreturn x + n", "export")
    raised = ("export-error", "raise ValueError from error")
    assert places(report) == [raised, (SIZE, "int(x.sum())"), (GUARD, "x.sum() > 0")]


async def test_the_size_of_a_nested_tensor_ends_no_run(client: Client) -> None:
    nested = "parts = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)"
    report = await captured(client, f"if x.sum() > 0:\n    x = -x\n{nested}\nn = parts.size(1)\nreturn x", "export")
    assert (GUARD, "x.sum() > 0") in places(report)
    assert "parts.size(1)" not in str(places(report))


async def test_what_is_assumed_is_told(client: Client) -> None:
    loop = "for _ in range(int(x.max())):\n    x = x + 1"
    body = f"assert x.sum() > 0\nx = same(x)\n{loop}\nif x.min() > 0:\n    x = -x\nreturn x"
    report = await captured(client, body, "export")
    told = [failure.assumption for failure in report.failures]
    assert told == ["it is true", "it returns what it does for other values", "it is 1", "it is false"]


async def test_an_error_that_an_assumption_may_have_caused_is_left_out(client: Client) -> None:
    body = "if x.sum() > 0:\n    x = torch.cat([x, x])\nreturn torch.mm(x, x.new_ones(4, 4)) + x.new_ones(6, 4)"
    report = await captured(client, body, "export")
    assert places(report) == [(GUARD, "x.sum() > 0")]


async def test_a_loop_whose_length_depends_on_data_ends(client: Client) -> None:
    body = "for _ in range(int(x.sum() * 1e9)):\n    x = self.linear(x)\nif x.sum() > 0:\n    return x\nreturn -x"
    report = await captured(client, body, "export")
    assert places(report) == [(SIZE, "int(x.sum() * 1e9)"), (GUARD, "x.sum() > 0")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "n = int(x.sum())\nif n > 4:\n    if x.max() > 2:\n        return x\nreturn x + n",
            [(SIZE, "int(x.sum())"), (GUARD, "x.max() > 2")],
        ),
        (
            "n = int(x.sum())\na, b = divmod(n, x[x > 0].size(0))\nreturn x + a",
            [(SIZE, "int(x.sum())"), ("export-error", "divmod(n, x[x > 0].size(0))")],
        ),
        (
            "for row in x[x[:, 0] > 0]:\n    if row.sum() > 5:\n        x = x + row\nreturn x",
            [(GUARD, "x[x[:, 0] > 0]"), (GUARD, "row.sum() > 5")],
        ),
        (
            "rows = [row for row in x if row.sum() > 9]\nreturn x + rows[0]",
            [(GUARD, "row.sum() > 9")],
        ),
        (  # by the addition, torch knows how many counts there are
            "if x.sum() > 0:\n    x = -x\ncounts = torch.bincount(x.argmin(-1), minlength=8)\n"
            "total = torch.zeros(8).add_(counts)\nfor count in counts:\n    total = total - count\nreturn total",
            [(GUARD, "x.sum() > 0")],
        ),
    ],
)
async def test_an_export_is_also_followed_as_a_call_goes(
    client: Client, body: str, expected: list[tuple[str, str]]
) -> None:
    report = await captured(client, body, "export")
    assert places(report) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = x * {1: 2, 12: 3}[n]", [("export-error", "{1: 2, 12: 3}[n]")]),
        ("x = x + len({n, 5})\nx = x + len({n: 1})", [("export-error", "{n, 5}")]),
        ("try:\n    x = x * {12: 2}[n]\nexcept TypeError:\n    x = x + 1", []),
        (
            "def key():\n    return {12: 2}[n]\ntry:\n    x = x * key()\nexcept TypeError:\n    import contextlib\n"
            "    with contextlib.suppress(TypeError):\n        x = x * {12: 2}[n]",
            [],
        ),
    ],
)
async def test_an_export_goes_on_where_a_number_would_be_a_key(
    client: Client, body: str, expected: list[tuple[str, str]]
) -> None:
    report = await captured(
        client, f"n = x.sum().long().item()\n{body}\nif x.max() > 9:\n    x = -x\nreturn x", "export"
    )
    assert places(report) == [*expected, (GUARD, "x.max() > 9")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "print(x.shape)\nif x.sum() > 0:\n    x = x * 2\nx = self.part(x)\nreturn x",
            ["print(x.shape)", "x.sum() > 0", 'print("part")'],
        ),
        (
            "for _ in range(2):\n    x = self.linear(x)\n    print(x)\nif x.sum() > 0:\n    x = x * 2\nreturn x",
            ["print(x)", "x.sum() > 0"],
        ),
        (
            "with torch.no_grad():\n    logger.warning('a')\n    x = x + 1\n"
            "torch._dynamo.graph_break()\nif x.any():\n    return x\nreturn -x",
            ["logger.warning('a')", "torch._dynamo.graph_break()", "x.any()"],
        ),
        (
            "x = torch.relu(\n    torch.autograd.Variable(x),\n).abs()\ny = x.abs()\nz = y.abs()\n"
            "z = torch.autograd.Variable(torch.atan2(y, z))\nreturn z",
            ["torch.autograd.Variable(x)", "torch.autograd.Variable(torch.atan2(y, z))"],
        ),
        (
            "for row in x:\n    if row.sum() > 0:\n        print('row')\n"
            "x = self.linear(x)\nif not x.any():\n    x = -x\nprint(\n    x)\nreturn x",
            ["row.sum() > 0", "print('row')", "x.any()", "print(\n            x)"],
        ),
        (
            "n = x.sum().int().item()\nif n > 3:\n    x = x * 2\nfor _ in range(n):\n    x = x + 1\nreturn same(x)",
            ["n > 3", "same(x)", "range(n)"],
        ),
        (
            "if x.sum() > 1e9:\n    x = -x\nfor n, row in enumerate(x):\n    if row.sum() > 1e9:\n        continue\n"
            "    big = row[row > 0]\n    if len(big) > 1:\n        x = x + n\n"
            "if not x.any():\n    x = -x\nassert x.any()\nreturn x",
            ["x.sum() > 1e9", "row.sum() > 1e9", "len(big) > 1", "x.any()"],
        ),
        (
            "n = x.abs().max().argmax().item()\nfor a in x.argmax(-1).unique().tolist():\n    n = n + a\n"
            "if x.any():\n    x = -x\nreturn x * n",
            ["x.argmax(-1).unique().tolist()", "x.any()"],
        ),
        (
            "rows = []\nfor row, n in zip(x, x.sum(-1).int().tolist()):\n    if n > 9:\n        continue\n"
            "    y = self.linear.weight[0]\n    if (y - row).abs().max() > 0.1:\n        rows.append(row)\n"
            "    if rows and rows[int(y.argmax()) * 0].sum() > 0:\n        x = -x\nreturn x",
            [
                "n > 9",
                "(y - row).abs().max() > 0.1",
                "rows[int(y.argmax()) * 0].sum() > 0",
            ],
        ),
        (
            "rows = []\nfor row in x:\n    if row.sum() > 0:\n        rows.append(row.sum())\n"
            "rows.sort(key=lambda row: -row)\nreturn rows",
            ["row.sum() > 0", "rows.sort(key=lambda row: -row)"],
        ),
        (
            "rows, rest = [], x[x[:, 0] > 0]\nwhile len(rest) > 0:\n    rows.append(rest[0])\n    rest = rest[1:]\n"
            "return torch.stack(rows)",
            ["len(rest) > 0"],
        ),
        (
            "names = [f'row {n:02d}' for n in (x[:, 0] > 0).nonzero().flatten().tolist()]\nreturn x + len(names)",
            ["(x[:, 0] > 0).nonzero().flatten().tolist()"],
        ),
    ],
)
async def test_all_graph_breaks(client: Client, body: str, expected: list[str]) -> None:
    report = await captured(client, body, "compile")
    assert places(report) == [(BREAK, text) for text in expected]
    assert [step.name.rpartition(".")[2] for step in report.failures[0].chain] == ["forward"]
    assert "torch_dynamo_resume" not in str(report)


@pytest.mark.parametrize(
    "items", ["row, _ in zip(x, x)", "_, (row, _) in enumerate(zip(x, x))", "row in (row * 2 for row in x)"]
)
async def test_a_break_that_only_an_earlier_break_causes_is_left_out(client: Client, items: str) -> None:
    loop = f"for {items}:\n    row = row + 1\n    rows.append(self.part(row))"
    report = await captured(client, f"rows = []\n{loop}\nif x.any():\n    x = -x\nreturn x, rows", "compile")
    assert places(report) == [(BREAK, 'print("part")'), (BREAK, "x.any()")]


async def test_a_break_in_a_generator_behind_another_break(client: Client) -> None:
    generator = "def rows():\n    for row in x:\n        torch._dynamo.graph_break()\n        yield row"
    body = f"{generator}\nprint('rows')\nfor row in rows():\n    x = x + row\nreturn x"
    report = await captured(client, body, "compile")
    assert places(report) == [(BREAK, "print('rows')"), (BREAK, "torch._dynamo.graph_break()")]


@pytest.mark.skipif(not hasattr(torch._dynamo.config, "nested_graph_breaks"), reason="it can't go on within a function")
async def test_what_follows_a_break_in_a_function_that_is_called(client: Client) -> None:
    report = await captured(client, "rows = positive(x)\nif len(rows) == 2:\n    x = -x\nreturn x", "compile")
    assert places(report) == [(BREAK, "torch._dynamo.graph_break()"), (BREAK, "len(rows) == 2")]


async def test_a_model_that_the_file_builds_has_its_own_weights_in_each_run(client: Client) -> None:
    """A run with fake weights comes first; with these, the program would stop at the first branch."""
    body = "x = self.linear(x)\nif x.sum() > 0:\n    x = x + 1\nif x.mean() > 3:\n    x = x * 2\nreturn x"
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    file = client.write("net.py", f"{HEAD}{lines}\nmodel = Net().eval()\n")
    target = target_of(file, "model", inputs=Snippet("(torch.ones(3, 4),)", 1))
    answer = await client.trace(file, target, capture="compile", limits=Limits(seconds=120))
    assert places(answer.only) == [(BREAK, "x.sum() > 0"), (BREAK, "x.mean() > 3")]


async def test_what_a_break_reads_is_not_another_break_where_it_is_used(client: Client) -> None:
    counts = "counts = torch.bincount(x.int().flatten(), minlength=3).tolist()"
    report = await captured(client, f"{counts}\nif max(counts) > 9:\n    x = -x\nreturn x", "compile")
    assert places(report) == [(BREAK, counts.removeprefix("counts = "))]


async def test_numbers_that_a_failing_call_returns_stop_no_export_where_they_are_used(client: Client) -> None:
    body = (
        "n = 0\nfor row in (x[:, 0] > 0).nonzero().flatten().tolist():\n    if row > n:\n        n = row\nreturn x + n"
    )
    report = await captured(client, body, "export")
    assert places(report) == [(GUARD, "(x[:, 0] > 0).nonzero().flatten().tolist()")]


async def test_a_write_at_a_place_that_depends_on_data_ends_no_export(client: Client) -> None:
    body = """\
at = x.sum().long().item()
if at > 6:
    at = 6
table = torch.zeros(1, 9, 4)
table[:, at : at + x.size(0)] = self.linear(x)
if x.any():
    x = -x
return table"""
    report = await captured(client, body, "export")
    assert places(report) == [
        (GUARD, "at > 6"),
        ("export-error", "table[:, at : at + x.size(0)]"),
        (GUARD, "x.any()"),
    ]


async def test_an_index_that_is_a_tensor_ends_no_run(client: Client) -> None:
    body = """\
order = x[:, 0].argsort()
while order.numel() > 0:
    best = order[0]
    if order.numel() == 1:
        break
    order = order[1:][(x[best] + x[order[1:]])[:, 0] < 9]
return x"""
    report = await captured(client, body, "compile")
    expected = ["order.numel() > 0", "order.numel() == 1", "x[best]"]
    assert sorted(places(report)) == sorted((BREAK, text) for text in expected)


async def test_a_print_behind_a_loop_that_breaks(client: Client) -> None:
    body = """\
rows = []
for row, n in zip(self.linear(x), x.sum(-1).int().tolist()):
    if n > 9:
        continue
    if not rows or rows[int(row.argmax()) * 0].sum() > 0:
        rows.append(row)
best = torch.stack(rows).sum().item()
print(f"the best is {best}")
return x"""
    report = await captured(client, body, "compile")
    assert [text for _, text in places(report)] == [
        "n > 9",
        "rows[int(row.argmax()) * 0].sum() > 0",
        'print(f"the best is {best}")',
    ]


async def test_a_comprehension_that_is_compiled_by_itself_breaks_no_graph(client: Client) -> None:
    items = "{(1, 1): 0}.get(pair, 3) for pair in zip(row, row[1:] + [0])"
    body = f"found = []\nfor row in x.int().tolist():\n    found.append([{items}])\nreturn x + torch.tensor(found)"
    report = await captured(client, body, "compile")
    assert places(report) == [(BREAK, "{(1, 1): 0}.get(pair, 3)")]


async def test_breaks_are_told_that_were_found_before_a_limit(client: Client) -> None:
    body = "if x.sum() > 0:\n    x = x + 1\nprint(x)\nwhile x.dim():\n    pass\nreturn x"
    report = await captured(client, body, "compile", Limits(seconds=4))
    assert places(report) == [(BREAK, "x.sum() > 0"), (BREAK, "print(x)")]
    assert report.unfinished == "the search for further failures took longer than 4 seconds"


async def test_a_run_that_does_not_end_costs_only_the_further_breaks(client: Client) -> None:
    body = "if x.sum() > 0:\n    while True:\n        x = x + 1\nreturn x"
    report = await captured(client, body, "compile", Limits(seconds=2))
    assert report.outcome == "failed"
    assert places(report) == [(BREAK, "x.sum() > 0")]
