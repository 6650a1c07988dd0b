"""What a trace finds, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.agent.messages import Snippet
from fx_lsp.targets import find_targets
from tests.agent.client import Client, failing_text, target_of, text_at

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_module_that_traces(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        import torch
        from blocks import Block

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.block = Block()

            def forward(self, x):
                return self.block(x).relu()
        """,
    )
    blocks = client.write(
        "blocks.py",
        """
        import torch

        class Block(torch.nn.Module):
            def forward(self, x):
                return x + 1
        """,
    )
    answer = await client.trace(file, "Net()")
    assert answer.only.outcome == "traced"
    assert answer.only.failures == ()
    assert answer.only.nodes == 4
    assert "def forward(self, x):" in answer.only.code
    assert ".relu()" in answer.only.code
    assert answer.done is not None
    assert answer.done.dependencies == (blocks, file)


async def test_a_failure_in_a_helper_file_has_the_way_there(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        import torch
        from helpers import gate

        class Net(torch.nn.Module):
            def forward(self, x):
                é = 1; return gate(x)
        """,
    )
    helpers = client.write("helpers.py", "def gate(x):\n    if x.sum() > 0:\n        return x\n    return -x\n")
    report = (await client.trace(file, "Net()")).only
    assert report.outcome == "failed"
    (failure,) = report.failures
    assert failure.kind == "control-flow"
    assert [step.span.file for step in failure.chain] == [file, helpers]
    assert [text_at(step) for step in failure.chain] == ["gate(x)", "x.sum() > 0"]


async def test_a_function_and_its_concrete_arguments(client: Client) -> None:
    file = client.write(
        "functions.py",
        """
        def scale(x, flag):
            if flag:
                return x * 2
            return x
        """,
    )
    plain = target_of(file, "scale")
    concrete = target_of(file, "(scale)", concrete_args=Snippet("{'flag': True}", 1))
    reports = (await client.trace(file, plain, concrete)).reports
    assert reports["scale"].outcome == "failed"
    assert failing_text(reports["scale"]) == "flag"
    assert reports["(scale)"].outcome == "traced"
    assert "* 2" in reports["(scale)"].code


async def test_the_tracer_that_the_file_has(client: Client) -> None:
    file = client.write(
        "leaves.py",
        """
        import torch
        import torch.fx

        class Inner(torch.nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x

        class Outer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()

            def forward(self, x):
                return self.inner(x)

        class InnerIsALeaf(torch.fx.Tracer):
            def is_leaf_module(self, m, qualname):
                return isinstance(m, Inner) or super().is_leaf_module(m, qualname)
        """,
    )
    plain = target_of(file, "Outer()")
    custom = target_of(file, "(Outer())", tracer=Snippet("InnerIsALeaf()", 1))
    reports = (await client.trace(file, plain, custom)).reports
    assert reports["Outer()"].outcome == "failed"
    assert reports["(Outer())"].outcome == "traced"
    assert "self.inner(x)" in reports["(Outer())"].code


async def test_wraps_of_the_file_are_respected(client: Client) -> None:
    file = client.write(
        "wrapped.py",
        """
        import torch.fx

        torch.fx.wrap("len")

        @torch.fx.wrap
        def gate(x):
            return x if x.sum() > 0 else -x

        def model(x):
            return gate(x) / len(x)
        """,
    )
    report = (await client.trace(file, "model")).only
    assert (report.outcome, report.failures) == ("traced", ())
    assert "gate(x)" in report.code
    assert "len(x)" in report.code


async def test_locals_of_a_function_are_set_up_first(client: Client) -> None:
    file = client.write(
        "train.py",
        """
        import torch

        class Net(torch.nn.Module):
            def __init__(self, width):
                super().__init__()
                self.linear = torch.nn.Linear(width, width)

            def forward(self, x):
                return self.linear(x)

        def main():
            width = 3
            net = Net(width)
            return symbolic_trace(net)
        """,
    )
    target = target_of(file, "net", 15, setup=(Snippet("width = 3", 13), Snippet("net = Net(width)", 14)))
    assert (await client.trace(file, target)).only.outcome == "traced"


async def test_a_constructor_that_raises_is_reported_at_its_place(client: Client) -> None:
    file = client.write(
        "broken.py",
        """
        import torch

        class Net(torch.nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.last = sizes["last"]

        é = "é"; net = lambda: Net({})
        """,
    )
    report = (await client.trace(file, "net()")).only
    assert report.outcome == "not-built"
    assert report.failures[0].kind == "build"
    assert report.failures[0].error == "KeyError: 'last'"
    assert failing_text(report) == 'sizes["last"]'


@pytest.mark.parametrize(("size", "outcome"), [("size / 2", "not-built"), ("len(size)", "traced")])
async def test_an_error_that_other_arguments_do_not_avoid_is_the_class_s_own(
    client: Client, size: str, outcome: str
) -> None:
    file = client.write(
        "halved.py",
        f"""
        import torch

        class Net(torch.nn.Module):
            def __init__(self, sizes):
                super().__init__()
                size = sizes["last"]
                self.last = torch.nn.Linear(4, {size})

            def forward(self, x):
                return self.last(x)

        def small():
            sizes = {{"last": 8}}
            return Net(sizes)
        """,
    )
    report = (await client.trace(file, *find_targets(file, Path(file).read_text()) or ())).only
    assert report.outcome == outcome
    if outcome == "not-built":
        assert failing_text(report) == "torch.nn.Linear(4, size / 2)"


async def test_a_recipe_that_raises_is_reported_where_it_stands(client: Client) -> None:
    file = client.write("call.py", 'import torch.fx\n\n\né = torch.nn.Linear("é", 3)\n')
    client.write("call.py", 'import torch\nif False:\n    é = "é"; net = torch.nn.Linear(\n        unknown, 3)\n')
    report = (await client.trace(file, target_of(file, "torch.nn.Linear(\n        unknown, 3)", 3))).only
    assert report.outcome == "not-built"
    assert failing_text(report) == "unknown"
    report = (await client.trace(file, target_of(file, "torch.nn.Linear(3)", 3))).only
    assert report.failures[0].chain[-1].span.line == 3


async def test_weights_take_no_memory(client: Client) -> None:
    file = client.write(
        "huge.py",
        """
        import torch

        class Huge(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(1 << 20, 1 << 20)
                rates = [rate.item() for rate in torch.linspace(0, 1, 4)]
                self.drop = torch.nn.Dropout(rates[1])

            def forward(self, x):
                return self.drop(self.linear(x))
        """,
    )
    assert (await client.trace(file, "Huge()")).only.outcome == "traced"


@pytest.mark.parametrize(
    ("constructor", "forward"),
    [
        ("self.rates = torch.rand(3).tolist()", "x * self.rates[0]"),
        ("self.scale = torch.nn.Parameter(torch.ones(()))", "x * self.scale.item()"),
    ],
    ids=["the constructor", "the forward"],
)
async def test_code_that_reads_its_weights_gets_them(client: Client, constructor: str, forward: str) -> None:
    file = client.write(
        "reads.py",
        f"""
        import torch

        class Reads(torch.nn.Module):
            def __init__(self):
                super().__init__()
                {constructor}

            def forward(self, x):
                return {forward}
        """,
    )
    report = (await client.trace(file, "Reads()")).only
    assert (report.outcome, report.failures) == ("traced", ())


async def test_code_for_an_accelerator_runs_without_one(client: Client) -> None:
    file = client.write(
        "gpu.py",
        """
        import torch

        device = torch.device("cuda:0")
        scale = torch.ones(3, device=device).cuda()
        model = torch.nn.Linear(3, 3).to("cuda")

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(1 << 20, 1 << 20, device="cuda")
                self.register_buffer("table", torch.arange(3, device=device).to(device))
                self.cuda()

            def forward(self, x):
                return self.linear(x) + self.table

        assert not torch.cuda.is_available()
        """,
    )
    reports = (await client.trace(file, "Net()", "model")).reports
    assert [(report.outcome, report.failures) for report in reports.values()] == [("traced", ())] * 2


async def test_random_structure_is_the_same_every_time(client: Client) -> None:
    file = client.write("dice.py", "import torch\n\ndef model(x):\n    return x * torch.rand(()).item()\n")
    first, second = [(await client.trace(file, "model")).only for _ in range(2)]
    assert first.outcome == "traced"
    assert first.code == second.code


async def test_a_target_that_is_neither_module_nor_function_is_skipped(client: Client) -> None:
    file = client.write("values.py", "import torch\n\nclass Net(torch.nn.Module): ...\n\nnumber = 1\n")
    reports = (await client.trace(file, "Net", "number")).reports
    assert {report.outcome for report in reports.values()} == {"skipped"}


async def test_messages_longer_than_a_pipe_or_a_stream_holds(client: Client) -> None:
    adds = "\n".join("    x = x + 1" for _ in range(3000))
    text = f"def model(x):\n{adds}\n    return x\n" + "#" * 1_000_000
    file = client.write("long.py", "")
    report = (await client.trace(file, "model", overlays={file: text})).only
    assert report.outcome == "traced"
    assert report.nodes == 3002
    assert len(report.code) > 65536


@pytest.mark.parametrize(
    ("forward", "kind"),
    [
        ("@staticmethod\n    def forward(x, y=2):\n        return x * y", "call-binding"),
        ("def forward(self, x):\n        return x * 2, self", "argument"),
    ],
    ids=["a static forward", "a module that returns itself"],
)
async def test_a_graph_that_holds_the_module_itself_makes_no_module(client: Client, forward: str, kind: str) -> None:
    file = client.write("net.py", f"import torch\n\nclass Net(torch.nn.Module):\n    {forward}\n")
    report = (await client.trace(file, target_of(file, "Net()"))).only
    assert [failure.kind for failure in report.failures] == [kind]
    assert failing_text(report) == "forward"
