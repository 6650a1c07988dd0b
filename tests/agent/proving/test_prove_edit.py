"""What is proven of an edit, and what is refuted."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from textwrap import indent

import pytest

from fx_lsp.agent.messages import Limits, Prove, Snippet
from fx_lsp.agent.proving.failure_matching import FoundFailures, Place, check_places, edited_lines
from fx_lsp.agent.proving.run_in_child import ProofEnded
from tests.agent.client import PATIENT, Client, target_of
from tests.agent.proving.edits import MERGE, PROVEN, REFUTED, UNTRIED, Edit, program, prove

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("edit", PROVEN.values(), ids=PROVEN)
async def test_an_edit_that_fixes_the_failure_and_changes_nothing_else_is_proven(client: Client, edit: Edit) -> None:
    proof = await prove(client, edit)
    assert proof.verdict == "proven", proof.reason


async def test_a_branch_that_is_moved_unchanged_need_not_be_reached(client: Client) -> None:
    branch = "if (x.sum() - 1e9).abs() < 1:\n    y = x * 2\nelse:\n    y = x - 1"
    before = program(f"{branch}\nreturn y")
    helper = f'torch.fx.wrap("_y")\n\ndef _y(x):\n{indent(branch, "    ")}\n    return y\n\n'
    after = program("y = _y(x)\nreturn y", before=helper)
    proof = await prove(client, Edit(before, before, after))
    assert proof.verdict == "proven", proof.reason
    assert "none of them reaches line" in proof.reason
    assert proof.reason.endswith("whose code is unchanged")


async def test_a_proof_tells_what_gets_a_gradient_of_zeros_instead_of_none(client: Client) -> None:
    branch = "if x.sum() > 0:\n    return x * self.scale\nreturn x"
    before = program(branch, init="self.scale = torch.nn.Parameter(torch.ones(()))")
    old = indent(branch, " " * 8).strip()
    proof = await prove(client, Edit(before, old, "return torch.where(x.sum() > 0, x * self.scale, x)"))
    assert proof.verdict == "proven", proof.reason
    assert proof.reason.endswith(", but `scale` gets a gradient of zeros instead of none")


async def test_a_proof_mentions_that_a_view_became_a_copy(client: Client) -> None:
    text = program("return x[: len(x)]")
    proof = await prove(client, Edit(text, "x[: len(x)]", "x[: x.size(0)].clone()"))
    assert proof.verdict == "proven", proof.reason
    assert proof.reason.endswith(", but it returns a copy of what was a view of an input")


async def test_a_proof_mentions_that_no_graph_was_compared(client: Client) -> None:
    text = program("y = x / len(x)\nreturn y * int(y.sum())")
    proof = await prove(client, Edit(text, "len(x)", "x.size(0)"))
    assert proof.verdict == "proven", proof.reason
    assert proof.reason.endswith(", but tracing fails elsewhere, so that no graph was compared")


@pytest.mark.parametrize(("edit", "reason"), REFUTED.values(), ids=REFUTED)
async def test_an_edit_that_changes_something_is_refuted(client: Client, edit: Edit, reason: str) -> None:
    proof = await prove(client, edit)
    assert proof.verdict == "refuted", proof.reason
    assert reason in proof.reason


@pytest.mark.parametrize(("edit", "reason"), UNTRIED.values(), ids=UNTRIED)
async def test_an_undecided_fix_is_never_called_proven(client: Client, edit: Edit, reason: str) -> None:
    proof = await prove(client, edit)
    assert (proof.verdict, reason in proof.reason) == ("untried", True), proof.reason


async def test_a_fix_is_tried_on_unsaved_text(client: Client) -> None:
    file = client.write("net.py", "this is not Python")
    text = program("return x / len(x)")
    target = target_of(file, "Net()")
    failures = (await client.trace(file, target, overlays={file: text})).only.failures
    edited = {file: text.replace("len(x)", "x.size(0)")}
    roots = (str(client.root),)
    proof = await client.agent.prove(Prove(file, target, target, failures, {file: text}, edited, roots, PATIENT))
    assert proof.verdict == "proven", proof.reason


async def test_an_edit_of_another_file_of_the_workspace(client: Client) -> None:
    helper = client.write("helper.py", "def scale(x):\n    return x / len(x)\n")
    file = client.write("net.py", "import torch\nfrom helper import scale\n\ndef model(x):\n    return scale(x)\n")
    target = target_of(file, "model")
    failures = (await client.trace(file, target)).only.failures
    for new, verdict in (("x.size(0)", "proven"), ("x.size(1)", "refuted")):
        edited = {helper: f"def scale(x):\n    return x / {new}\n"}
        roots = (str(client.root),)
        proof = await client.agent.prove(Prove(file, target, target, failures, {}, edited, roots, PATIENT))
        assert proof.verdict == verdict, proof.reason


async def test_a_parameter_fixed_by_the_edit_is_fixed_for_both_programs(client: Client) -> None:
    text = "def model(x, double):\n    if double:\n        return x * 2\n    return x\n"
    edit = Edit(text, "def model", "def model", root="model")
    fixed = target_of(str(client.root / "net.py"), "model", concrete_args=Snippet("{'double': True}", 1))
    proof = await prove(client, edit, edited_target=fixed)
    assert proof.verdict == "proven", proof.reason


async def test_code_excluded_by_a_fixed_parameter_need_not_run(client: Client) -> None:
    text = "def model(x, mask=None):\n    if mask is not None:\n        x = x * len(mask)\n    return x * 2\n"
    edit = Edit(text, "def model", "def model", root="model")
    fixed = target_of(str(client.root / "net.py"), "model", concrete_args=Snippet("{'mask': None}", 1))
    proof = await prove(client, edit, edited_target=fixed)
    assert proof.verdict == "proven", proof.reason


async def test_inputs_with_equal_sizes_prove_nothing_about_a_size(client: Client) -> None:
    """The embedding accepts few numbers, so that inputs of other sizes are hard to find."""
    init = "self.lin, self.hours = torch.nn.Linear(16, 8), torch.nn.Embedding(24, 8)"
    text = program("return self.lin(x) / len(x[0]) + self.hours(x.long()).sum(2)", init)
    proof = await prove(client, Edit(text, "len(x[0])", "x.size(2)"))
    assert proof.verdict != "proven", proof.reason


async def test_a_graph_that_needs_an_input_is_not_run_without_it(client: Client) -> None:
    text = program(
        "y = self.lin(x) / len(x)\nreturn y if mask is None else y.masked_fill(mask.unknown(), 0.0)",
        "self.lin = torch.nn.Linear(16, 8)",
    )
    text = text.replace("forward(self, x)", "forward(self, x, mask)")
    proof = await prove(client, Edit(text, "len(x)", "x.size(0)"))
    assert (proof.verdict, proof.lacks_inputs) == ("untried", True), proof.reason


@pytest.mark.parametrize("own", [True, False])
async def test_the_inputs_need_not_reach_changes_for_other_targets(client: Client, *, own: bool) -> None:
    text = program("return self.lin(x) / len(x)", "self.lin = torch.nn.Linear(16, 8)")
    text += "\n\ndef of_another_target(y):\n    return y / sum(y)\n"
    file = client.write("net.py", text)
    target = target_of(file, "Net()")
    failures = (await client.trace(file, target)).only.failures
    part = text.replace("len(x)", "x.size(0)")
    edited = {file: part.replace("y / sum(y)", "y / y.sum()")}
    request = Prove(file, target, target, failures, {}, edited, (str(client.root),), PATIENT)
    if own:
        request = dataclasses.replace(request, own_part={file: part})
    proof = await client.agent.prove(request)
    assert proof.verdict == ("proven" if own else "untried"), proof.reason


async def test_a_program_that_hangs_is_not_proven(client: Client) -> None:
    text = program("if len(x) > 0:\n    while type(x) is torch.Tensor:\n        pass\nreturn x")
    file = client.write("net.py", text)
    target = target_of(file, "Net()")
    failures = (await client.trace(file, target)).only.failures
    edited = {file: text.replace("len(x)", "x.size(0)")}
    roots = (str(client.root),)
    proof = await client.agent.prove(Prove(file, target, target, failures[:1], {}, edited, roots, Limits(seconds=2)))
    assert proof.verdict != "proven"


ONE, OTHER = "len(x)", "len(y)"
BOTH, RENAMED = "len(x) == len(y)", "x.size(0) == len(y)"


def found(*lines: tuple[Place, int], complete: bool = True) -> FoundFailures:
    places = frozenset((place, "net.py", line) for place, line in lines)
    counted = Counter(place for place, _ in lines)
    return FoundFailures(counted, counted, places, complete, doubtful=False)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (found((ONE, 1)), found(), None),
        (found((ONE, 1)), found((ONE, 2)), "tracing still fails at `len(x)`"),
        (found((ONE, 1), (ONE, 3)), found((ONE, 4)), None),
        (found((ONE, 2), complete=False), found((ONE, 3)), None),
        (found((ONE, 2), complete=False), found((ONE, 2)), "tracing still fails at `len(x)`"),
        (found((ONE, 1), complete=False), found((ONE, 3)), "tracing still fails at `len(x)`"),
        (found((ONE, 2)), found((ONE, 3)), "tracing still fails at `len(x)`"),
        (found((ONE, 1)), found((OTHER, 3)), "after the edit, tracing fails at `len(y)`"),
        (found((ONE, 1), complete=False), found((OTHER, 3)), None),
        (found((ONE, 1), complete=False), found((OTHER, 2)), "after the edit, tracing fails at `len(y)`"),
        (found((ONE, 1), (BOTH, 1)), found((RENAMED, 2)), None),
        (found((ONE, 1)), found((RENAMED, 2)), None),
        (found((ONE, 1), (BOTH, 1)), found((RENAMED, 3)), f"after the edit, tracing fails at `{RENAMED}`"),
        (
            found((ONE, 1), (BOTH, 1)),
            found((RENAMED, 2), ("bool(x)", 2)),
            "after the edit, tracing fails at `bool(x)`",
        ),
    ],
    ids=[
        *(
            "gone",
            "moved",
            "one of two",
            "the second behind",
            "in its line",
            "the line is there",
            "all was seen",
            "another",
            "behind the end of what was seen",
            "in the edit itself",
        ),
        *("what contained it", "what could not be reached", "elsewhere", "something else"),
    ],
)
async def test_fixed_failures_are_gone_and_no_new_ones_appear(
    before: FoundFailures, after: FoundFailures, reason: str | None
) -> None:
    edited = {("net.py", 2)}
    if reason is None:
        check_places(before, after, Counter([ONE]), edited, edited, {ONE, BOTH})
    else:
        with pytest.raises(ProofEnded) as settled:
            check_places(before, after, Counter([ONE]), edited, edited, {ONE, BOTH})
        assert (settled.value.verdict, settled.value.reason) == ("refuted", reason)


@pytest.mark.parametrize(
    ("after", "is_new"),
    [
        ("x.size(0) == y.size(0)", False),
        ("x.size(0) < y.size(0)", True),
        (BOTH, True),  # in which nothing was mended
    ],
)
async def test_an_expression_is_not_new_if_several_of_its_parts_were_mended(after: str, *, is_new: bool) -> None:
    edited = {("net.py", 2)}
    with pytest.raises(ProofEnded) if is_new else contextlib.nullcontext():
        check_places(
            found((ONE, 2), (OTHER, 2)), found((after, 2)), Counter([ONE, OTHER]), edited, edited, {ONE, OTHER, BOTH}
        )


@pytest.mark.parametrize(
    ("failures", "lines", "are_met"),
    [
        (found((ONE, 2)), [2], True),
        (found((ONE, 2)), [7], False),
        (found((ONE, 2), (ONE, 7)), [7], True),
        (found((ONE, 2)), [], True),
        (found((OTHER, 2)), [2], False),
    ],
    ids=["the same", "another one of the same text", "one of two", "it is not known where", "something else"],
)
async def test_whether_a_program_meets_a_failure(failures: FoundFailures, lines: list[int], *, are_met: bool) -> None:
    assert failures.include(Counter([ONE]), [(ONE, "net.py", line) for line in lines]) == are_met


async def test_edited_lines_are_those_of_the_new_text() -> None:
    assert edited_lines("a\nb\nc\n", "a\nx\ny\nc\n") == {2, 3}
    assert edited_lines("a\nb\n", "a\n") == set()


PART = f"""
import torch
from torch import nn
{MERGE}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList(nn.Conv2d(a, b, 1) for a, b in ((3, 3), (3, 5), (5, 7)))
        self.merge = Merge(4)

    def forward(self, x):
        maps = []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        return self.merge({{"maps": maps, "gates": {{"all": x.mean()}}}})
"""


async def test_a_part_is_tried_on_what_the_whole_calls_it_with(client: Client) -> None:
    file = str(client.root / "net.py")
    part = dataclasses.replace(target_of(file, "Net()"), symbol="Merge")
    part = dataclasses.replace(part, recipe=dataclasses.replace(part.recipe, is_host=True))
    for new, verdict in (("merged.size(0)", "proven"), ("merged.size(1)", "refuted")):
        edit = Edit(PART, "len(merged)", new)
        alone = await prove(client, dataclasses.replace(edit, root="Merge(4)"))
        assert (alone.verdict, alone.lacks_inputs) == ("untried", True), alone.reason
        proof = await prove(client, edit, target=part)
        assert proof.verdict == verdict, proof.reason
        assert ("as a part of `Net()`" in proof.reason) == (verdict == "proven")


async def test_inputs_of_the_whole_are_searched_for(client: Client) -> None:
    """None of the first guesses suits the whole, which takes images of one size only."""
    whole = PART.replace(
        "self.merge = ", "size = 1, 3, 6, 10; self.places = nn.Parameter(torch.zeros(size)); self.merge = "
    )
    whole = whole.replace("        maps = []", "        x = x + self.places\n        maps = []")
    part = dataclasses.replace(target_of(str(client.root / "net.py"), "Net()"), symbol="Merge")
    part = dataclasses.replace(part, recipe=dataclasses.replace(part.recipe, is_host=True))
    proof = await prove(client, Edit(whole, "len(merged)", "merged.size(0)"), target=part)
    assert proof.verdict == "proven", proof.reason


async def test_a_function_that_rounds_differently_from_call_to_call(client: Client) -> None:
    text = program(
        """
        steps = torch.linalg.lstsq(x[:, :-1], x[:, 1:]).solution
        assert x.shape[1] > 1
        return torch.bmm(x[:, -1:], steps)
        """
    )
    draws = "torch._assert(x.shape[1] > 1, ''); torch.rand(1)"
    checks = {"torch._assert(x.shape[1] > 1, '')": "proven", "x = x * 1.01": "refuted", draws: "refuted"}
    for check, verdict in checks.items():
        proof = await prove(client, Edit(text, "assert x.shape[1] > 1", check))
        assert proof.verdict == verdict, proof.reason


RARE = """
def halved(x):
    if x.dim() < 20:
        return x / 2
    return x / len(x)
"""
WRAPPED = 'import torch.fx\n\ntorch.fx.wrap("halved")\n'


async def test_a_wrapped_function_with_a_branch_that_no_input_takes(client: Client) -> None:
    """What happens in the function is not changed: it is enough that the inputs reach the call."""
    proof = await prove(client, Edit(program("return halved(x)", before=RARE), "import torch.fx\n", WRAPPED), at="len")
    assert proof.verdict == "proven", proof.reason


async def test_a_wrapped_function_that_no_input_reaches(client: Client) -> None:
    body = "if x.dim() < 20:\n    return x\nreturn halved(x)"
    before = "def halved(x):\n    return x / len(x)"
    proof = await prove(client, Edit(program(body, before=before), "import torch.fx\n", WRAPPED), at="len")
    assert proof.verdict == "untried"
    assert "no input was found that reaches line 12" in proof.reason


async def test_a_wrapped_function_that_is_changed_in_such_a_branch(client: Client) -> None:
    text = program("return halved(x)", before=RARE)
    changed = text.replace("import torch.fx\n", WRAPPED).replace("x / len(x)", "x / len(x) * 2")
    proof = await prove(client, Edit(text, text, changed), at="len")
    assert proof.verdict == "untried"
    assert "no input was found that reaches line" in proof.reason


async def test_an_instance_that_only_the_rest_of_a_script_creates(client: Client) -> None:
    """The class is built instead, as in the trace that found the failure."""
    text = program("return x / len(x)") + "\nnet = None\n"
    file = client.write("net.py", text)
    failures = (await client.trace(file, "Net()")).only.failures
    made = target_of(file, "Net()").recipe
    target = dataclasses.replace(target_of(file, "net"), key="instance:net", symbol="Net", fallbacks=(made,))
    edited, roots = {file: text.replace("len(x)", "x.size(0)")}, (str(client.root),)
    proof = await client.agent.prove(Prove(file, target, target, failures, {}, edited, roots, PATIENT))
    assert proof.verdict == "proven", proof.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return x / len(x)", "    x = x * 2\n    return x / len(x)"),
        ("def halved", "def len(x):\n    return 7\n\ndef halved"),
        ("class Net", "halved = lambda x: x / 2\n\nclass Net"),
        ("class Net", "K = 3\n\nclass Net"),
        ("torch.fx.wrap(", "len = torch.numel\n\ntorch.fx.wrap("),
    ],
    ids=["the body", "a name that it uses", "the function", "another name", "before the call"],
)
async def test_a_wrap_with_another_change_needs_inputs_that_reach_the_failing_line(
    client: Client, old: str, new: str
) -> None:
    text = program("return halved(x)", before=RARE)
    wrapped = text.replace("import torch.fx\n", WRAPPED)
    assert old in wrapped
    proof = await prove(client, Edit(text, text, wrapped.replace(old, new)), at="len")
    assert proof.verdict != "proven", proof.reason


async def test_a_wrap_in_whose_function_no_input_reaches_the_failing_line_says_so(client: Client) -> None:
    proof = await prove(client, Edit(program("return halved(x)", before=RARE), "import torch.fx\n", WRAPPED), at="len")
    assert proof.reason.endswith("none of them reaches line 7, whose code is unchanged")


async def test_an_input_that_was_specified_is_tried_at_its_own_size(client: Client) -> None:
    edit = Edit(program("return x / len(x)"), "x / len(x)", "x[:, :, :100] / x.size(0)")
    target = target_of("net.py", "Net()", inputs=Snippet("(torch.randn(2, 3, 256, 256),)", 1))
    proof = await prove(client, edit, target=target)
    assert proof.verdict == "refuted", proof.reason


async def test_the_size_of_another_tensor_is_not_the_same(client: Client) -> None:
    text = program("return x.sum() * len(y) + z.sum()").replace("self, x", "self, x, y, z")
    proof = await prove(client, Edit(text, "len(y)", "z.size(0)"))
    assert proof.verdict == "refuted", proof.reason


async def test_what_is_built_in_another_way_after_the_edit_is_not_compared(client: Client) -> None:
    text = program("return x / len(x)") + "\nnet = Net()\n"
    file = client.write("net.py", text)
    failures = (await client.trace(file, "net")).only.failures
    target = dataclasses.replace(target_of(file, "net"), fallbacks=(target_of(file, "Net()").recipe,))
    edited = {file: text.replace("len(x)", "x.size(0)").replace("net = Net()", "net = None")}
    proof = await client.agent.prove(Prove(file, target, target, failures, {}, edited, (str(client.root),), PATIENT))
    assert (proof.verdict, proof.reason) == ("untried", "the edited code can't be built in the same way")


async def test_the_third_argument_of_a_function_that_is_run_alone_may_be_a_list(client: Client) -> None:
    before = "def pick(a, b, sizes):\n    return a, b, sizes, len(sizes)"
    text = program("y = pick(x, x, x)\nreturn y[2].no_such_thing()", before=before)
    file = client.write("net.py", text)
    target, edited = target_of(file, "Net()"), {file: text.replace("len(sizes)", "sizes.size(0)")}
    failures = tuple(failure for failure in (await client.trace(file, target)).only.failures if failure.kind == "len")
    request = Prove(file, target, target, failures, {}, edited, (str(client.root),), PATIENT, function_only=True)
    proof = await client.agent.prove(request)
    assert proof.verdict == "refuted", proof.reason


HALF_DIFFERENTIABLE = """
    @torch.fx.wrap
    def rounded(y):
        if y.numel() % 2:
            z = y.exp()
            z += 1  # the gradient of the exponential needs what this overwrites
            return z
        return y
"""


async def test_a_gradient_that_is_lost_is_noticed_though_some_inputs_have_none(client: Client) -> None:
    text = program(
        "x = rounded(x * self.w)\nreturn x / len(x)", "self.w = torch.nn.Parameter(torch.ones(()))", HALF_DIFFERENTIABLE
    )
    old = "rounded(x * self.w)\n        return x / len(x)"
    proof = await prove(client, Edit(text, old, "rounded(x * self.w.detach())\n        return x / x.shape[0]"))
    assert proof.verdict != "proven", proof.reason


@pytest.mark.parametrize(("calls", "inputs"), [(500, 14), (700, 11)])
async def test_a_program_of_many_calls_is_run_on_fewer_inputs(client: Client, calls: int, inputs: int) -> None:
    text = program(f"y = x / len(x)\nfor _ in range({calls}):\n    y = y + 1\nreturn y")
    proof = await prove(client, Edit(text, "len(x)", "x.shape[0]"))
    assert proof.verdict == "proven", proof.reason
    assert f"{inputs} inputs" in proof.reason
