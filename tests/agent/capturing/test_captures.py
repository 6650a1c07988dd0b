"""What torch.export and torch.compile can capture, as a real agent reports it."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
import torch

from fx_lsp.agent.messages import Capture, Limits, Outcome, Report, Snippet
from fx_lsp.agent.processes.priority import LESS_URGENT
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.tracing.capture_run import NO_INPUTS, NO_OBJECTS, TOO_LARGE
from fx_lsp.targets import find_targets
from tests.agent.client import Client, target_of, text_at

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked"),
]

HEAD = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("mean", torch.linspace(0, 1, 4))

"""


async def captured(
    client: Client, body: str, capture: Capture = "export", inputs: str = "(torch.randn(3, 4),)"
) -> Report:
    """The report on a module whose ``forward`` has the lines of ``body``."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    file = client.write("net.py", f"{HEAD}    def forward(self, x):\n{lines}")
    target = target_of(file, "Net()", inputs=Snippet(inputs, 1))
    return (await client.trace(file, target, capture=capture)).only


@pytest.mark.parametrize(
    "body",
    [
        "if x.shape[0] > 2:\n    x = x * 2\nreturn self.linear(x) + self.mean",
        "for _ in range(len(x.shape)):\n    x = self.linear(x)\nreturn x",
        "if x.device.type == 'meta':\n    return x.tolist()\nreturn x",
        "return x[x > 0]",
    ],
)
async def test_what_export_captures_for_every_batch(client: Client, body: str) -> None:
    report = await captured(client, body)
    assert (report.outcome, report.failures, report.notices) == ("traced", (), ())
    assert report.dynamic_batch is True
    assert report.inputs == "x: [3, 4]"


@pytest.mark.parametrize(
    ("body", "kind", "place"),
    [
        ("if x.sum() > 0:\n    return x\nreturn -x", "data-dependent-guard", "x.sum() > 0"),
        ("if torch.equal(x, x):\n    return x\nreturn -x", "data-dependent-guard", "torch.equal(x, x)"),
        ("return x.new_zeros(int(x.argmax()))", "data-dependent-size", "int(x.argmax())"),
        ("return iter([x])", "unsupported-output", "return iter([x])"),
        ("return x + x.numpy().sum()", "export-error", "x.numpy()"),
    ],
)
async def test_the_first_failure_of_export_has_its_kind_and_place(
    client: Client, body: str, kind: str, place: str
) -> None:
    report = await captured(client, body)
    assert report.outcome == "failed"
    assert [failure.kind for failure in report.failures] == [kind]
    assert text_at(report.failures[0].chain[-1]) == place
    assert report.dynamic_batch is None
    assert client.log == []


@pytest.mark.parametrize(
    ("body", "kind", "place"),
    [
        ("if x.shape[0] == 3:\n    return x\nreturn -x", "specialized-dimension", "x.shape[0] == 3"),
        ("return self.linear(x).view(3, 4)", "specialized-dimension", "self.linear(x).view(3, 4)"),
        ("return [row.sum() for row in x]", "specialized-dimension", "x"),
    ],
)
async def test_the_place_that_fixes_the_size_of_the_batch(client: Client, body: str, kind: str, place: str) -> None:
    report = await captured(client, body)
    assert (report.outcome, report.dynamic_batch) == ("traced", False)
    assert [notice.kind for notice in report.notices] == [kind]
    assert text_at(report.notices[0].chain[-1]) == place


async def test_an_example_batch_of_one_does_not_fix_the_size(client: Client) -> None:
    report = await captured(client, "return self.linear(x)", inputs="(torch.randn(1, 4),)")
    assert report.dynamic_batch is True


async def test_an_example_of_one_item_has_no_batch_if_the_program_rejects_two(client: Client) -> None:
    report = await captured(client, "return self.linear(x.view(4))", inputs="(torch.randn(1, 4),)")
    assert (report.outcome, report.dynamic_batch) == ("traced", None)


async def test_a_guessed_vector_becomes_a_batch_of_two(client: Client) -> None:
    body = "        first, second = torch.split(x, [3, 3], dim=-1)\n        return self.linear(first) + second.sum()\n"
    text = f"{HEAD}    def forward(self, x):\n{body}".replace("Linear(4, 4)", "Linear(3, 4)")
    report = (await client.trace(client.write("split.py", text), "Net()", capture="export")).only
    assert (report.outcome, report.inputs, report.dynamic_batch) == ("traced", "x: [2, 6]", True)


@pytest.mark.parametrize(
    ("parameter", "value"), [("weight: torch.Tensor", "weight"), ("setup", "(setup.mask > 0) * setup.mask.shape[0]")]
)
async def test_an_invented_tensor_says_nothing_about_sizes(client: Client, parameter: str, value: str) -> None:
    text = (
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"
        f"    def __init__(self, {parameter}) -> None:\n        super().__init__()\n"
        f"        self.weight = {value}\n\n    def forward(self, x):\n        return x * self.weight\n"
    )
    file = client.write("weighted.py", text)
    (target,) = find_targets(file, text) or ()
    assert target.recipe.made_up
    report = (await client.trace(file, target, capture="export")).only
    assert report.reason == "fx-lsp invented a tensor that it is built with"


async def test_inputs_without_a_common_first_size_have_no_batch(client: Client) -> None:
    report = await captured(
        client, "return self.linear(x[0]) + x[1].sum()", inputs="([torch.ones(3, 4), torch.ones(2)],)"
    )
    assert (report.outcome, report.dynamic_batch) == ("traced", None)


async def test_inputs_that_the_program_rejects_say_nothing_about_the_capture(client: Client) -> None:
    report = await captured(client, "return self.linear(x)", inputs="(torch.randn(3, 5),)")
    assert report.outcome == "unchecked"
    assert report.reason.startswith("with the inputs that the file shows, it raises RuntimeError")


async def test_inputs_of_another_file_that_the_program_rejects_are_replaced_by_a_guess(client: Client) -> None:
    file = client.write("net.py", f"{HEAD}    def forward(self, x):\n        return self.linear(x)\n")
    setup = (Snippet("import torch", 1), Snippet("from net import Net", 1))
    target = target_of(file, "Net()", setup=setup, inputs=Snippet("(torch.randn(3, 5),)", 1))
    elsewhere = dataclasses.replace(target, recipe=dataclasses.replace(target.recipe, file=client.write("use.py", "")))
    report = (await client.trace(file, elsewhere, capture="export")).only
    assert (report.outcome, report.dynamic_batch) == ("traced", True)


async def test_an_operator_without_a_fake_kernel(client: Client) -> None:
    operator = (
        "@torch.library.custom_op('fx_lsp_test::same', mutates_args=())\n"
        "def same(x: torch.Tensor) -> torch.Tensor:\n"
        "    return x.clone()\n"
    )
    file = client.write("operator.py", f"{HEAD}    def forward(self, x):\n        return same(x)\n\n\n{operator}")
    target = target_of(file, "Net()", inputs=Snippet("(torch.randn(3, 4),)", 1))
    report = (await client.trace(file, target, capture="export")).only
    assert [failure.kind for failure in report.failures] == ["missing-fake-kernel"]
    assert text_at(report.failures[0].chain[-1]) == "same(x)"


async def test_inputs_are_guessed_where_nothing_shows_any(client: Client) -> None:
    file = client.write("guess.py", f"{HEAD}    def forward(self, x):\n        return self.linear(x)\n")
    report = (await client.trace(file, "Net()", capture="export")).only
    assert (report.outcome, report.dynamic_batch) == ("traced", True)
    assert report.inputs.endswith("4]")


async def test_what_compile_captures(client: Client) -> None:
    report = await captured(client, "for _ in range(len(x.shape)):\n    x = self.linear(x)\nreturn x", "compile")
    assert (report.outcome, report.failures, report.dynamic_batch) == ("traced", (), None)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("print(x)\nreturn x", "print(x)"),
        ("if x.sum() > 0:\n    return x\nreturn -x", "x.sum() > 0"),
        ("if (x > 0).any():\n    x = x + 1\nreturn -x", "(x > 0).any()"),
    ],
)
async def test_the_first_graph_break(client: Client, body: str, place: str) -> None:
    report = await captured(client, body, "compile")
    assert [failure.kind for failure in report.failures] == ["graph-break"]
    assert text_at(report.failures[0].chain[-1]) == place


async def test_compile_reads_the_number_in_an_integer_that_it_is_given(client: Client) -> None:
    body = "n = x.item()\nif n > 2:\n    n = 1\nreturn self.mean * n"
    report = await captured(client, body, "compile", "(torch.tensor(3),)")
    assert (report.outcome, report.failures) == ("traced", ())


async def test_a_capture_that_does_not_end_is_ended(client: Client) -> None:
    file = client.write("endless.py", f"{HEAD}    def forward(self, x):\n        while True:\n            x = x + 1\n")
    target = target_of(file, "Net()", inputs=Snippet("(torch.randn(3, 4),)", 1))
    report = (await client.trace(file, target, capture="export", limits=Limits(seconds=2))).only
    assert report.outcome == "timed-out"
    assert "the capture took longer than 2 seconds" in report.failures[0].error


@pytest.mark.parametrize("body", ["return torch.arange(x.argmax().item())", "return x + int(x.argmax())"])
async def test_what_was_compiled_may_need_values(client: Client, body: str) -> None:
    report = await captured(client, body, "compile")
    assert (report.outcome, report.failures, report.reason) == ("traced", (), "")


@pytest.mark.parametrize("capture", ["export", "compile"])
async def test_a_failure_for_a_guess_is_told_only_if_the_program_accepts_the_guess(
    client: Client, capture: Capture
) -> None:
    body = "        if x.sum() > 1e9:\n            return x\n        return self.linear(x)"
    never = f"{body}[0, 0, 0, 0, 0, 0, 0, 0, 0]\n"
    rejecting = client.write("rejecting.py", f"{HEAD}    def forward(self, x):\n{never}")
    report = (await client.trace(rejecting, "Net()", capture=capture)).only
    assert (report.outcome, report.reason) == ("unchecked", NO_INPUTS)
    accepting = client.write("accepting.py", f"{HEAD}    def forward(self, x):\n{body}\n")
    report = (await client.trace(accepting, "Net()", capture=capture)).only
    assert report.outcome == "failed"
    assert text_at(report.failures[0].chain[-1]) == "x.sum() > 1e9"


@pytest.mark.parametrize("capture", ["export", "compile"])
async def test_an_object_that_stands_for_one_of_an_unknown_class_says_nothing(client: Client, capture: Capture) -> None:
    body = "        return self.linear(x.tensors) * x.mask.unsqueeze(-1)\n"
    file = client.write("nested.py", f"{HEAD}    def forward(self, x):\n{body}")
    report = (await client.trace(file, "Net()", capture=capture)).only
    assert (report.outcome, report.reason) == ("unchecked", NO_OBJECTS)


async def test_the_result_of_a_missing_function_says_nothing(client: Client) -> None:
    operator = (
        "class Op(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        return fx_lsp_missing.run(x.data)\n"
    )
    body = "        return Op.apply(self.linear(x))\n"
    text = f"import fx_lsp_missing\n{HEAD}    def forward(self, x):\n{body}\n\n{operator}"
    report = (await client.trace(client.write("missing.py", text), "Net()", capture="export")).only
    assert (report.outcome, report.failures) == ("unchecked", ())


async def test_a_guess_that_takes_too_much_memory_says_nothing_about_the_capture(client: Client) -> None:
    body = "        if x.sum() > 1e9:\n            return x\n        return x.new_ones(1 << 40).sum()\n"
    report = (
        await client.trace(
            client.write("huge.py", f"{HEAD}    def forward(self, x):\n{body}"), "Net()", capture="export"
        )
    ).only
    assert (report.outcome, report.reason) == ("unchecked", TOO_LARGE)


@pytest.mark.parametrize("capture", ["export", "compile"])
async def test_each_capture_gets_a_program_that_was_never_called(client: Client, capture: Capture) -> None:
    text = (
        f"{HEAD}    calls = 0\n\n    def forward(self, x):\n        self.calls += 1\n"
        "        if self.calls > 1:\n            print(x.tolist())\n        return self.linear(x)\n"
    )
    report = (await client.trace(client.write("counts.py", text), "Net()", capture=capture)).only
    assert (report.outcome, report.failures) == ("traced", ())


@pytest.mark.parametrize("capture", ["export", "compile"])
async def test_code_for_an_accelerator_runs_on_the_cpu(client: Client, capture: Capture) -> None:
    report = await captured(client, "x = x.cuda()\nreturn self.linear(x) + torch.arange(4, device='cuda')", capture)
    assert (report.outcome, report.failures, report.notices) == ("traced", (), ())


async def test_a_program_asks_for_an_accelerator_behind_a_break(client: Client) -> None:
    report = await captured(client, "if x.sum() > 0:\n    x = x.cuda()\nprint(x)\nreturn x.cuda()", "compile")
    assert [text_at(one.chain[-1]) for one in report.failures] == ["x.sum() > 0", "print(x)"]


COUNTING = """\
    calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > 1:
            print(x.tolist())
        return self.linear(x)
"""


async def test_a_program_that_names_an_accelerator_was_never_called_either(client: Client) -> None:
    file = client.write("counts.py", f"{HEAD}{COUNTING}\n\nDEVICE = 'cuda'\n")
    report = (await client.trace(file, "Net()", capture="compile")).only
    assert (report.outcome, report.failures) == ("traced", ())


async def test_a_mode_that_redirects_nothing_does_not_change_what_torch_says(client: Client) -> None:
    text = f"import numpy as np\n{HEAD}    size = np.prod([2, 3])\n    device = 'cuda'\n\n    def forward(self, x):\n"
    lines = ["x = self.linear(x)", "if self.size > 0:", "    x = x * 2", "return x"]
    file = client.write("numbers.py", text + "".join(f"        {line}\n" for line in lines))
    report = (await client.trace(file, "Net()", capture="compile")).only
    assert [(one.kind, text_at(one.chain[-1])) for one in report.failures] == [("graph-break", "self.size > 0")]


async def test_a_lack_of_memory_is_no_limit_of_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    from fx_lsp.agent.capturing import export_capture

    exported = export_capture.exported

    def short_of_memory(root: Any, given: Input, sizes: Any) -> Any:
        if sizes is not None:
            raise MemoryError
        return exported(root, given, sizes)

    monkeypatch.setattr(export_capture, "exported", short_of_memory)
    with pytest.raises(MemoryError):
        export_capture.limits_of_batch(torch.nn.Linear(4, 4), Input((torch.randn(3, 4),)))


@pytest.mark.parametrize(
    ("capture", "body", "outcome", "unfinished"),
    [
        (
            "export",
            "while type(x.shape[0]) is not int:\n    pass\nreturn self.linear(x)",
            "traced",
            "the export with a dynamic batch took longer than 2 seconds",
        ),
        (
            "compile",
            "if x.shape[0] != 3:\n    for _ in range(10**9):\n        x = x + 1\nreturn self.linear(x)",
            "traced",
            "the search for recompilations took longer than 2 seconds",
        ),
        (
            "export",
            "if x.sum() > 0:\n    return x\nwhile True:\n    pass",
            "failed",
            "the search for further failures took longer than 2 seconds",
        ),
        (
            "export",
            "if x.sum() > 0:\n    return x\nimport os\nos._exit(3)",
            "failed",
            "the search for further failures ended because its process exited with status 3",
        ),
    ],
)
async def test_a_limit_after_the_verdict_leaves_the_verdict(
    client: Client, capture: Capture, body: str, outcome: Outcome, unfinished: str
) -> None:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    file = client.write("net.py", f"{HEAD}    def forward(self, x):\n{lines}")
    target = target_of(file, "Net()", inputs=Snippet("(torch.randn(3, 4),)", 1))
    report = (await client.trace(file, target, capture=capture, limits=Limits(seconds=2))).only
    assert (report.outcome, report.dynamic_batch, report.unfinished) == (outcome, None, unfinished)
    assert report.partial is False


async def test_a_limit_leaves_the_further_failures_that_were_found_before(client: Client) -> None:
    body = "if x.sum() > 0:\n    while True:\n        pass\nreturn x + float(x.sum())"
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    file = client.write("net.py", f"{HEAD}    def forward(self, x):\n{lines}")
    target = target_of(file, "Net()", inputs=Snippet("(torch.randn(3, 4),)", 1))
    report = (await client.trace(file, target, capture="export", limits=Limits(seconds=2))).only
    assert report.unfinished == "the search for further failures took longer than 2 seconds"
    assert [text_at(failure.chain[-1]) for failure in report.failures] == ["x.sum() > 0", "float(x.sum())"]


async def test_a_capture_leaves_the_processor_to_traces(client: Client) -> None:
    body = "import os\nraise RuntimeError(f'niceness {os.getpriority(os.PRIO_PROCESS, 0)}')"
    trace, export = await captured(client, body, "fx"), await captured(client, body, "export")
    told = (f"{report.reason}{[failure.error for failure in report.failures]}" for report in (trace, export))
    of_trace, of_export = (int(re.findall(r"niceness (-?\d+)", text)[0]) for text in told)
    assert of_export == min(of_trace + LESS_URGENT, 19)


RESULT = """\
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Result:
    scores: torch.Tensor


torch.export.register_dataclass(Result)


class Net(nn.Module):
    def forward(self, x):
        return Result(x + 1)


raise ValueError("the rest of the file is not run")
"""


async def test_what_a_file_registers_is_known_even_if_its_import_fails(client: Client) -> None:
    file = client.write("registered.py", RESULT)
    target = target_of(file, "Net()", inputs=Snippet("(torch.randn(3, 4),)", 1))
    report = (await client.trace(file, target, capture="export")).only
    assert (report.outcome, report.failures) == ("traced", ())
    unregistered = client.write("not_registered.py", RESULT.replace("torch.export.register_dataclass(Result)", ""))
    target = target_of(unregistered, "Net()", inputs=Snippet("(torch.randn(3, 4),)", 1))
    report = (await client.trace(unregistered, target, capture="export")).only
    assert [failure.kind for failure in report.failures] == ["unsupported-output"]


@pytest.mark.parametrize("capture", ["export", "compile"])
@pytest.mark.parametrize(
    ("condition", "failing"),
    [
        ("self.mean is None or x.any()", "x.any()"),
        ("self.mean is not None and not x.any()", "x.any()"),
        ("x.any() and x.all()", "x.any()"),
    ],
)
async def test_the_part_of_a_condition_that_fails_is_marked(
    client: Client, condition: str, failing: str, capture: Capture
) -> None:
    report = await captured(client, f"if {condition}:\n    x = x + 1\nreturn x", capture)
    assert text_at(report.failures[0].chain[-1]) == failing


@pytest.mark.parametrize(
    "body",
    [
        "self.linear.weight.data = self.linear.weight.data * 2\nreturn self.linear(x)",
        "x = x.detach().requires_grad_()\nreturn torch.autograd.grad(self.linear(x).sum(), x)[0]",
    ],
)
async def test_an_export_that_takes_a_tensor_without_values_for_a_constant_fails(client: Client, body: str) -> None:
    report = await captured(client, body)
    assert (report.outcome, [failure.kind for failure in report.failures]) == ("failed", ["export-error"])


async def test_a_capture_leaves_torch_unchanged_for_later_traces(client: Client) -> None:
    await captured(client, "return x * 2")
    file = client.write(
        "chance.py",
        """
        import torch
        from torch.distributions import Poisson

        class Net(torch.nn.Module):
            def forward(self, x):
                return Poisson(torch.ones(1)).log_prob(x)  # torch.compile switches the check of x off for good
        """,
    )
    report = (await client.trace(file, target_of(file, "Net()"))).only
    assert [failure.error for failure in report.failures] == [
        "ValueError: The value argument to log_prob must be a Tensor"
    ]
