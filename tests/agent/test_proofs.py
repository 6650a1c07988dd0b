"""What is proven of an edit, and what is refuted."""

from __future__ import annotations

import dataclasses
import textwrap
from collections import Counter
from pathlib import Path

import pytest

import fx_lsp.agent_process
from fx_lsp.agent.apart import Settled
from fx_lsp.agent.messages import Failure, Limits, Proof, Snippet, Target
from fx_lsp.agent.sites import Found, Place, check_places, edited_lines

from .client import Client, target_of
from .conftest import Connect

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATIENT = Limits(seconds=60)


@dataclasses.dataclass(frozen=True)
class Edit:
    """A program and what is done to it; what is to be mended are the failures that it is reported to have."""

    text: str
    old: str
    new: str
    root: str = "Net()"


def program(forward: str, init: str = "pass", before: str = "") -> str:
    """A file with a module ``Net``."""
    return "\n".join(
        [
            "import torch",
            "import torch.fx",
            textwrap.dedent(before),
            "class Net(torch.nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            textwrap.indent(textwrap.dedent(init), " " * 8),
            "    def forward(self, x):",
            textwrap.indent(textwrap.dedent(forward), " " * 8),
            "",
        ]
    )


async def prove(client: Client, edit: Edit, *, first_only: bool = True, edited_target: Target | None = None) -> Proof:
    file = client.write("net.py", edit.text)
    text = Path(file).read_text(encoding="utf-8")
    assert edit.old in text
    target = target_of(file, edit.root)
    failures: tuple[Failure, ...] = (await client.trace(file, target)).only.failures
    assert failures, "there is nothing to mend"
    return await client.agent.prove(
        file,
        target,
        edited_target or target,
        failures[:1] if first_only else failures,
        overlays={},
        edited={file: text.replace(edit.old, edit.new)},
        roots=[str(client.root)],
        limits=PATIENT,
    )


PROVEN = {
    "len": Edit(program("return x / len(x)"), "len(x)", "x.size(0)"),
    "wrap": Edit(program("return x / len(x)"), "import torch.fx\n", 'import torch.fx\n\ntorch.fx.wrap("len")\n'),
    "where": Edit(
        program("if x.sum() > 0:\n    return x * 2\nreturn x - 1"),
        "if x.sum() > 0:\n            return x * 2\n        return x - 1",
        "return torch.where(x.sum() > 0, x * 2, x - 1)",
    ),
    "masked fill": Edit(
        program("y = x.clone()\ny[y > 0] = 0.5\nreturn y"), "y[y > 0] = 0.5", "y = y.masked_fill(y > 0, 0.5)"
    ),
    "assert": Edit(
        program("assert x.dim() == 2\nreturn self.a(x)", init="self.a = torch.nn.Linear(4, 4)"),
        "assert x.dim() == 2",
        'torch._assert(x.dim() == 2, "")',
    ),
    "one of two equal expressions": Edit(
        program("y = x * len(x)\nreturn y - len(x)"), "y = x * len(x)", "y = x * x.size(0)"
    ),
    "a layer that normalizes and one that drops": Edit(
        program(
            "return self.a(x) / len(x)",
            init="self.a = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout())",
        ),
        "len(x)",
        "x.size(0)",
    ),
    "modules in a plain list": Edit(
        program(
            "for layer in self.layers:\n    x = layer(x)\nreturn x",
            init="self.layers = [torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)]",
        ),
        "[torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)]",
        "torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])",
    ),
    "inputs as the file has them": Edit(
        program("return x.reshape(2, 17, 5) / len(x)") + "\ndef main():\n    y = torch.ones(34, 5)\n    Net()(y)\n",
        "len(x)",
        "x.size(0)",
    ),
}

REFUTED = {
    "nothing is mended": (Edit(program("return x / len(x)"), "return x", "return  x"), "`len(x)` still fails"),
    "another failure comes": (
        Edit(program("return x / len(x)"), "len(x)", "int(x.size(0))"),
        "`int(x.size(0))` fails then",
    ),
    "it can't be imported": (Edit(program("return x / len(x)"), "len(x)", "x.size(0) +"), "imported"),
    "another number": (Edit(program("return x / len(x)"), "len(x)", "x.size(1)"), "differs"),
    "another dtype": (Edit(program("return x / len(x)"), "/ len(x)", "/ x.size(0) + x.double() * 0"), "differs"),
    "the other side is NaN": (
        Edit(
            program("if (x > 0).all():\n    return x.sqrt()\nreturn x"),
            "if (x > 0).all():\n            return x.sqrt()\n        return x",
            "c = (x > 0).all().float()\n        return c * x.sqrt() + (1 - c) * x",
        ),
        "what it returns differs in the edited code",
    ),
    "the gradient of the other side is NaN": (
        Edit(
            program("if (x > 0).all():\n    return x.sqrt()\nreturn x"),
            "if (x > 0).all():\n            return x.sqrt()\n        return x",
            "return torch.where((x > 0).all(), x.sqrt(), x)",
        ),
        "the gradient of `input x` differs",
    ),
    "a narrow past the end": (
        Edit(
            program("return self.scale[: len(x)].sum() * x", init='self.register_buffer("scale", torch.randn(100))'),
            "self.scale[: len(x)]",
            "torch.narrow(self.scale, 0, 0, x.size(0))",
        ),
        "the edited code raises",
    ),
    "a write that the caller saw": (
        Edit(program("x[x > 0] = 0.5\nreturn x * 1"), "x[x > 0] = 0.5", "x = x.masked_fill(x > 0, 0.5)"),
        "what it leaves in its inputs differs",
    ),
    "a write that a view saw": (
        Edit(
            program("x = x + 1\ny = x[:1]\nx[x > 0] = 0.5\nreturn x + y"),
            "x[x > 0] = 0.5",
            "x = x.masked_fill(x > 0, 0.5)",
        ),
        "what it returns differs",
    ),
    "a write to a buffer": (
        Edit(
            program(
                "self.seen[0] = x.sum()\nif len(x) > 0:\n    return x\nreturn x",
                init='self.register_buffer("seen", torch.zeros(1))',
            ),
            "self.seen[0] = x.sum()\n        if len(x) > 0:\n            return x\n",
            "",
        ),
        "what it leaves in the module's buffers differs",
    ),
    "behind a scale that starts at zero": (
        Edit(
            program("return x + self.scale * len(x)", init="self.scale = torch.nn.Parameter(torch.zeros(()))"),
            "len(x)",
            "x.dim()",
        ),
        "differs",
    ),
    "another structure": (Edit(program("return x / len(x), x"), "len(x), x", "x.size(0), [x]"), "the structure"),
    "another shape": (Edit(program("return x / len(x)"), "len(x)", "x.size(0) + x[:, None]"), "the shape"),
    "a graph that keeps one branch": (
        Edit(
            program("return x * 2 if x.sum() > 0 else x"),
            "if x.sum() > 0",
            "if type(x) is torch.Tensor and x.sum() > 0",
        ),
        "differs in the graph",
    ),
}

UNTRIED = {
    "a branch that no input takes": (
        Edit(
            program("if x.sum() > 1e9:\n    return x * 2\nreturn x - 1"),
            "if x.sum() > 1e9:\n            return x * 2\n        return x - 1",
            "return torch.where(x.sum() > 1e9, x * 3, x - 1)",
        ),
        "no input was found that comes by line",
    ),
    "no inputs": (Edit(program("return x.no_such_thing() / len(x)"), "len(x)", "x.size(0)"), "no inputs were found"),
    "a result without values": (
        Edit(
            program("y = len(x)\nreturn Box(x, y)", before="class Box:\n    def __init__(self, *a): ..."),
            "len(x)",
            "x.size(0)",
        ),
        "can't be compared",
    ),
}


@pytest.mark.parametrize("edit", PROVEN.values(), ids=PROVEN)
async def test_an_edit_that_mends_and_changes_nothing_else_is_proven(client: Client, edit: Edit) -> None:
    proof = await prove(client, edit)
    assert proof.verdict == "proven", proof.reason


@pytest.mark.parametrize(("edit", "reason"), REFUTED.values(), ids=REFUTED)
async def test_an_edit_that_changes_something_is_refuted(client: Client, edit: Edit, reason: str) -> None:
    proof = await prove(client, edit)
    assert proof.verdict == "refuted", proof.reason
    assert reason in proof.reason


@pytest.mark.parametrize(("edit", "reason"), UNTRIED.values(), ids=UNTRIED)
async def test_what_can_not_be_told_is_never_called_proven(client: Client, edit: Edit, reason: str) -> None:
    proof = await prove(client, edit)
    assert (proof.verdict, reason in proof.reason) == ("untried", True), proof.reason


CHANGES_NUMBERS = [
    "the other side is NaN",
    "the gradient of the other side is NaN",
    "a write that the caller saw",
    "a write that a view saw",
    "another number",
]


@pytest.mark.parametrize("case", CHANGES_NUMBERS)
async def test_it_is_the_comparison_that_refutes(connect: Connect, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """With an agent whose comparison is broken, the same edits come out as proven."""
    broken = """
import fx_lsp.agent.warmup as warmup
load_torch = warmup.load_torch
def load_and_break(folder):
    loaded = load_torch(folder)
    import fx_lsp.agent.trial as trial
    trial.difference = lambda old, new: None
    return loaded
warmup.load_torch = load_and_break
main(sys.argv[2])
"""
    boot = fx_lsp.agent_process.BOOT
    assert boot.endswith("main(sys.argv[2])\n")
    monkeypatch.setattr(fx_lsp.agent_process, "BOOT", boot.removesuffix("main(sys.argv[2])\n") + broken)
    edit, _ = REFUTED[case]
    assert (await prove(connect(), edit)).verdict == "proven"


async def test_unsaved_text_is_what_is_tried(client: Client) -> None:
    file = client.write("net.py", "this is not Python")
    text = program("return x / len(x)")
    target = target_of(file, "Net()")
    failures = (await client.trace(file, target, overlays={file: text})).only.failures
    edited = {file: text.replace("len(x)", "x.size(0)")}
    proof = await client.agent.prove(
        *(file, target, target, failures),
        overlays={file: text},
        edited=edited,
        roots=[str(client.root)],
        limits=PATIENT,
    )
    assert proof.verdict == "proven", proof.reason


async def test_an_edit_of_another_file_of_the_workspace(client: Client) -> None:
    helper = client.write("helper.py", "def scale(x):\n    return x / len(x)\n")
    file = client.write("net.py", "import torch\nfrom helper import scale\n\ndef model(x):\n    return scale(x)\n")
    target = target_of(file, "model")
    failures = (await client.trace(file, target)).only.failures
    for new, verdict in (("x.size(0)", "proven"), ("x.size(1)", "refuted")):
        edited = {helper: f"def scale(x):\n    return x / {new}\n"}
        proof = await client.agent.prove(
            *(file, target, target, failures),
            overlays={},
            edited=edited,
            roots=[str(client.root)],
            limits=PATIENT,
        )
        assert proof.verdict == verdict, proof.reason


async def test_a_parameter_that_the_edit_fixes_is_fixed_for_both(client: Client) -> None:
    text = "def model(x, double):\n    if double:\n        return x * 2\n    return x\n"
    edit = Edit(text, "def model", "def model", root="model")
    fixed = target_of(str(client.root / "net.py"), "model", concrete_args=Snippet("{'double': True}", 1))
    proof = await prove(client, edit, edited_target=fixed)
    assert proof.verdict == "proven", proof.reason


async def test_a_program_that_hangs_is_not_proven(client: Client) -> None:
    text = program("if len(x) > 0:\n    while type(x) is torch.Tensor:\n        pass\nreturn x")
    file = client.write("net.py", text)
    target = target_of(file, "Net()")
    failures = (await client.trace(file, target)).only.failures
    proof = await client.agent.prove(
        *(file, target, target, failures[:1]),
        overlays={},
        edited={file: text.replace("len(x)", "x.size(0)")},
        roots=[str(client.root)],
        limits=Limits(seconds=5),
    )
    assert proof.verdict != "proven"


ONE, OTHER = ("len", "len(x)"), ("len", "len(y)")


def found(*lines: tuple[Place, int], complete: bool = True) -> Found:
    places = frozenset((place, "net.py", line) for place, line in lines)
    return Found(Counter(place for place, _ in lines), places, complete, doubtful=False)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (found((ONE, 1)), found(), None),
        (found((ONE, 1)), found((ONE, 2)), "`len(x)` still fails"),
        (found((ONE, 1), (ONE, 3)), found((ONE, 4)), None),
        (found((ONE, 1)), found((OTHER, 3)), "`len(y)` fails then"),
        (found((ONE, 1), complete=False), found((OTHER, 3)), None),
        (found((ONE, 1), complete=False), found((OTHER, 2)), "`len(y)` fails then"),
    ],
    ids=["gone", "moved", "one of two", "another", "behind the end of what was seen", "in the edit itself"],
)
async def test_what_is_mended_is_gone_and_nothing_is_new(before: Found, after: Found, reason: str | None) -> None:
    edited = {("net.py", 2)}
    if reason is None:
        check_places(before, after, Counter([ONE]), edited)
    else:
        with pytest.raises(Settled) as settled:
            check_places(before, after, Counter([ONE]), edited)
        assert (settled.value.verdict, settled.value.reason) == ("refuted", reason)


async def test_edited_lines_are_those_of_the_new_text() -> None:
    assert edited_lines("a\nb\nc\n", "a\nx\ny\nc\n") == {2, 3}
    assert edited_lines("a\nb\n", "a\n") == set()
