"""Edits that mend a capture, of which some change what the captured program does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fx_lsp.agent.messages import Capture, Prove, Snippet
from tests.agent.client import PATIENT, Client, target_of
from tests.agent.proving.edits import program

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked"),
]


@pytest.mark.parametrize(
    ("capture", "old", "new", "verdict", "reason"),
    [
        (
            "compile",
            "print(x)\nreturn x * 2",
            "if torch.compiler.is_compiling():\n    return x * 3\nreturn x * 2",
            "refuted",
            "differs in the captured program",
        ),
        (
            "export",
            "if x.sum() > 0:\n    x = x + 0\nreturn x * 2",
            "if torch.compiler.is_exporting():\n    return x * 3\nreturn x * 2",
            "refuted",
            "differs in the captured program",
        ),
        (
            "export",
            "if x.sum() > 0:\n    x = x + 0\nreturn x * 2",
            "return torch.where(x.sum() > 0, x + 0, x) * 2",
            "proven",
            "behaves the same",
        ),
        (
            "export",
            "n = int(x.argmax())\nif n > 2:\n    x = x + 1\nreturn x * 2",
            "n = x.argmax().item()\nif n > 2:\n    x = x + 1\nreturn x * 2",
            "refuted",
            "after the edit, the capture fails at `n > 2`",
        ),
        (
            "export",
            "if x.sum() > 0:\n    x = x + 0\nreturn x * min(x.untyped_storage().data_ptr(), 1)",
            "x = torch.where(x.sum() > 0, x + 0, x)\nreturn x * min(x.untyped_storage().data_ptr(), 1)",
            "refuted",
            "tracing still fails at `x.untyped_storage().data_ptr()`",
        ),
        (
            "export",
            "if x.sum() > 0:\n    x = x + 0\nreturn x * 2",
            "x = x + 0 * x.numpy().mean()\nreturn x * 2",
            "refuted",
            "after the edit, the capture fails at `x.numpy()`",
        ),
        (
            "compile",
            "print(x)\nreturn x * 2",
            "x.tolist()\nreturn x * 2",
            "refuted",
            "after the edit, the capture fails at `x.tolist()`",
        ),
        (
            "export",
            "if x.sum() > 0:\n    x = x + 0\nreturn x * 2",
            "size = x.shape[0] if torch.compiler.is_exporting() else 1\n"
            "x = torch.where(x.sum() > 0, x + 0, x)\nreturn x * 2 if type(size) is int else x * 3",
            "refuted",
            "differs in the program captured with a dynamic batch",
        ),
        (
            "export",
            "if (x.sum() - 1e9).abs() < 1:\n    x = x + 0\nreturn x * 2",
            "def yes():\n    x = x + 0\nx = torch.where((x.sum() - 1e9).abs() < 1, x + 0, x)\nreturn x * 2",
            "untried",
            "no input was found that reaches line",
        ),
        (
            "export",
            "if (x - x).nan_to_num().sum() == 0:\n    x = x * 2\nreturn x + 1",
            "x = x * 2\nreturn x + 1",
            "untried",
            "no input was found that reaches what follows if the condition in line",
        ),
        (
            "export",
            "if (x - x).nan_to_num().sum() > 1:\n    print('never')\nreturn x * 2",
            "if not torch.compiler.is_compiling() and (x - x).nan_to_num().sum() > 1:\n"
            "    print('never')\nreturn x * 2",
            "proven",
            "behaves the same",
        ),
        (
            "export",
            "if (x - x).nan_to_num().sum() > 1:\n    x.mul_(2)\nreturn x * 2",
            "if not torch.compiler.is_compiling() and (x - x).nan_to_num().sum() > 1:\n    x.mul_(2)\nreturn x * 2",
            "untried",
            "no input was found that reaches line",
        ),
        (
            "export",
            "if x.sum() > 0:\n    x = x * 2\nreturn x + 1",
            "x = x * 2\nreturn x + 1",
            "refuted",
            "differs",
        ),
        (
            "export",
            "if x.sum() > 0:\n    x = x + 0\nreturn x * 2",
            "other = 3 if torch.compiler.is_exporting() else 1\n"
            "x = torch.where(x.sum() > 0, x + 0, x * other)\nreturn x * 2",
            "refuted",
            "differs in the captured program",
        ),
    ],
)
async def test_the_captured_program_is_run_too(
    client: Client, capture: Capture, old: str, new: str, verdict: str, reason: str
) -> None:
    file = client.write("net.py", program(old))
    target = target_of(file, "Net()")
    failures = (await client.trace(file, target, capture=capture)).only.failures
    edited = {file: program(new)}
    assert Path(file).read_text(encoding="utf-8") == program(old)
    request = Prove(file, target, target, failures, {}, edited, (str(client.root),), PATIENT, capture=capture)
    proof = await client.agent.prove(request)
    assert (proof.verdict, reason in proof.reason) == (verdict, True), proof


SCALE = "self.scale = torch.nn.Parameter(torch.tensor(2.0))"
TWO_SCALES = f"{SCALE}; self.other = torch.nn.Parameter(torch.tensor(3.0))"
STEPS = 'self.register_buffer("steps", torch.tensor(0))'
NONE_LEFT = "y = x[x > -5.0]\nif y.numel() == 0:\n    return {}\nreturn y * 2"


@pytest.mark.parametrize(
    ("init", "old", "new", "verdict", "reason"),
    [
        (
            SCALE,
            "if self.scale > 5:\n    x = x * 2\nreturn x + 1",
            "return torch.where(self.scale > 5, x * 2, x) + 1",
            "proven",
            "behaves the same",
        ),
        (
            SCALE,
            "if self.scale > 5:\n    x = x * 2\nreturn x + 1",
            "return x + 1",
            "refuted",
            "and other weights, the out",
        ),
        (
            SCALE,
            "if self.scale > 5:\n    x = x * 2\nreturn x + 1",
            "return torch.where(self.scale > 5, x * 3, x) + 1",
            "refuted",
            "and other weights, the output differs",
        ),
        (
            TWO_SCALES,
            "if self.scale == 0:\n    return x * self.other * 2\nreturn x + self.scale + self.other",
            "return torch.where(self.scale == 0, x * self.other * 3, x + self.scale + self.other)",
            "refuted",
            "and other weights, the output differs",
        ),
        (
            STEPS,
            "if self.steps > 10:\n    x = x * 2\nreturn x + 1",
            "return torch.where(self.steps > 10, x * 2, x) + 1",
            "proven",
            "behaves the same",
        ),
        (
            STEPS,
            "if self.steps > 10:\n    x = x * 2\nreturn x + 1",
            "return torch.where(self.steps > 10, x * 2, x + 0.5) + 1",
            "refuted",
            "the output differs",
        ),
        ("pass", NONE_LEFT.format("y"), "y = x[x > -5.0]\nreturn y * 2", "proven", "behaves the same"),
        ("pass", NONE_LEFT.format("x[:0]"), "y = x[x > -5.0]\nreturn y * 2", "refuted", "the shape of the output"),
    ],
)
async def test_inputs_and_weights_that_decide_otherwise_are_looked_for(
    client: Client, init: str, old: str, new: str, verdict: str, reason: str
) -> None:
    file = client.write("net.py", program(old, init=init))
    target = target_of(file, "Net()")
    failures = (await client.trace(file, target, capture="export")).only.failures
    edited = {file: program(new, init=init)}
    request = Prove(file, target, target, failures, {}, edited, (str(client.root),), PATIENT, capture="export")
    proof = await client.agent.prove(request)
    assert (proof.verdict, reason in proof.reason) == (verdict, True), proof


async def test_an_optional_input_is_left_out_too(client: Client) -> None:
    old = program("if mask is not None and mask.sum() > 0:\n    x = x * 2\nreturn x + 1")
    new = program("x = torch.where((mask is not None) & (mask.sum() > 0), x * 2, x)\nreturn x + 1")
    old, new = (text.replace("(self, x)", "(self, x, mask=None)") for text in (old, new))
    file = client.write("net.py", old)
    target = target_of(file, "Net()", inputs=Snippet("(torch.randn(3, 4), torch.randn(3, 4))", 1))
    failures = (await client.trace(file, target, capture="export")).only.failures
    request = Prove(file, target, target, failures, {}, {file: new}, (str(client.root),), PATIENT, capture="export")
    proof = await client.agent.prove(request)
    assert (proof.verdict, "None" in proof.reason) == ("refuted", True), proof


@pytest.mark.parametrize("capture", ["export", "compile"])
@pytest.mark.parametrize("step", ["self.steps += 1", "self.steps = self.steps + 1"])
async def test_a_program_that_counts_its_calls_is_compared_from_the_start(
    client: Client, capture: Capture, step: str
) -> None:
    init = "self.register_buffer('steps', torch.zeros(1))"
    old = f"{step}\nif x.sum() > 0:\n    x = x + 0\nreturn x * self.steps"
    new = f"{step}\nx = torch.where(x.sum() > 0, x + 0, x)\nreturn x * self.steps"
    file = client.write("net.py", program(old, init))
    target = target_of(file, "Net()")
    failures = (await client.trace(file, target, capture=capture)).only.failures
    edited = {file: program(new, init)}
    request = Prove(file, target, target, failures, {}, edited, (str(client.root),), PATIENT, capture=capture)
    proof = await client.agent.prove(request)
    assert proof.verdict == "proven", proof


OPERATOR = """
@torch.library.custom_op("fx_lsp_proofs::half_{name}", mutates_args=())
def half(x: torch.Tensor) -> torch.Tensor:
    return x[: len(x) // 2].clone()
"""


@pytest.mark.parametrize(
    ("name", "size", "verdict"),
    [
        ("right", "x[: len(x) // 2]", "proven"),
        ("wrong", "x", "refuted"),
        ("strided", "x[: len(x) // 2].transpose(-1, -2).contiguous().transpose(-1, -2)", "refuted"),
    ],
)
@pytest.mark.parametrize("further", ["", "if x.sum() > 0:\n    x = x + 0\n"])
async def test_a_fake_implementation_must_tell_the_size(
    client: Client, name: str, size: str, verdict: str, further: str
) -> None:
    operator = OPERATOR.replace("{name}", f"{name}_{len(further)}")
    fake = f"{operator}\n@half.register_fake\ndef _(x):\n    return torch.empty_like({size})\n"
    body = f"y = half(x).sum() * 2\n{further}return x + y"
    file = client.write("net.py", program(body, before=operator))
    target = target_of(file, "Net()")
    failures = (await client.trace(file, target, capture="export")).only.failures[:1]
    edited = {file: program(body, before=fake)}
    request = Prove(file, target, target, failures, {}, edited, (str(client.root),), PATIENT, capture="export")
    proof = await client.agent.prove(request)
    assert proof.verdict == verdict, proof
