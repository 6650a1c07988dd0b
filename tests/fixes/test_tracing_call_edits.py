"""What is changed of the calls that trace a program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.fixes import Fix, TextChange, concrete_args, fixes_for, leaf_module
from fx_lsp.targets import find_targets
from tests.fixes.fixing import INPUTS, Program, applied, same

FLAGGED = """\
import torch.fx
from torch import fx, nn


class Net(nn.Module):
    def forward(self, x, flag=False, mode="sum", *, scale: int = 3):
        if {test}:
            return x * 2
        return x + scale


def build() -> Net:
    return Net()


def export():
    net = Net()
    return fx.symbolic_trace({call})
"""


@pytest.mark.parametrize(
    ("test", "call", "fixed", "title"),
    [
        ("flag", "net", 'net, concrete_args={"flag": False}', "Trace with flag=False"),
        ("not flag", "Net().eval()", 'Net().eval(), concrete_args={"flag": False}', "Trace with flag=False"),
        ('mode == "max"', "net", 'net, concrete_args={"mode": "sum"}', 'Trace with mode="sum"'),
        ("scale > 3", "net", 'net, concrete_args={"scale": 3}', "Trace with scale=3"),
        ("flag", "build()", 'build(), concrete_args={"flag": False}', "Trace with flag=False"),
        (
            "flag",
            'net, concrete_args={"mode": "max"}',
            'net, concrete_args={"mode": "max", "flag": False}',
            "Trace with flag=False",
        ),
    ],
)
def test_a_flag_is_fixed_where_the_module_is_traced(
    test: str, call: str, fixed: str, title: str, tmp_path: Path
) -> None:
    bad, good = (FLAGGED.format(test=test, call=text) for text in (call, fixed))
    (fix,) = Program(tmp_path, bad).fixes_at_calls(concrete_args.fixes)
    assert fix.title == title
    assert applied(bad, fix.changes) == good
    mended = Program(tmp_path, good)
    traced = mended.namespace["export"]()
    given = (False, "max" if "max" in call else "sum")
    assert all(same(traced(*inputs, *given), mended.root(*inputs, *given)) for inputs in INPUTS)


WITH_OPTIONAL = """\
import torch
import torch.fx
from torch import fx, nn


class Net(nn.Module):
    def forward(self, x, mask=None, scale=None, unused=None):
        x = x / len(x)
        if mask is not None:
            x = x.masked(mask)
        return x if scale is None else x * scale


def export():
    return fx.symbolic_trace(Net())
"""


def combined(program: Program) -> list[Fix]:
    return [fix for fix in program.fixes_at_calls(fixes_for) if ", and trace with" in fix.title]


def test_an_edit_is_offered_together_with_a_trace_without_the_optional_inputs(tmp_path: Path) -> None:
    program = Program(tmp_path, WITH_OPTIONAL)
    first, (fix,) = program.fixes_at_calls(fixes_for)[0], combined(program)
    assert fix.title == f"{first.title}, and trace with mask=None, scale=None"
    assert fix.changes[1:] == first.changes
    assert 'Net(), concrete_args={"mask": None, "scale": None}' in applied(WITH_OPTIONAL, fix.changes)
    mended = Program(tmp_path, applied(WITH_OPTIONAL, fix.changes))
    traced = mended.namespace["export"]()
    assert all(same(traced(*inputs, None, None), mended.root(*inputs)) for inputs in INPUTS)


def test_what_the_call_already_leaves_out_is_not_repeated(tmp_path: Path) -> None:
    text = WITH_OPTIONAL.replace("Net())", 'Net(), concrete_args={"mask": None})')
    (fix,) = combined(Program(tmp_path, text))
    assert fix.title.endswith(", and trace with scale=None")
    assert 'concrete_args={"mask": None, "scale": None}' in applied(text, fix.changes)
    assert not combined(Program(tmp_path, text.replace("None})", 'None, "scale": None})')))


def test_without_a_call_a_directive_leaves_them_out_unless_the_edit_changes_that_place(tmp_path: Path) -> None:
    text = WITH_OPTIONAL[: WITH_OPTIONAL.index("def export")]
    program = Program(tmp_path, text)
    (fix,) = combined(program)
    assert "# fx: concrete_args(mask=None, scale=None)\nclass Net" in applied(text, fix.changes)
    at = fix.changes[0].span
    same_place = Fix("Edit the class", (TextChange(replace(at, end_line=at.line + 1), "class Net(nn.Module):\n"),))
    assert not program.fixes(lambda failure, read: concrete_args.without_optional(same_place, failure, read, ()))


def test_a_class_without_optional_inputs_has_no_such_choice(tmp_path: Path) -> None:
    text = WITH_OPTIONAL.replace("mask=None, scale=None, unused=None", "unused=None, mask=0, scale=None")
    assert "scale" in combined(Program(tmp_path, text))[0].title
    assert not combined(Program(tmp_path, text.replace("scale=None", "scale=1")))


def test_a_required_flag_is_fixed_to_the_first_string_that_it_is_compared_with(tmp_path: Path) -> None:
    bad = """\
import torch
from torch import fx, nn


class Net(nn.Module):
    def forward(self, x, mode: str):
        if mode == "norm":
            return x - x.mean()
        elif mode == "denorm":
            return x + x.mean()
        raise NotImplementedError


def export():
    net = Net()
    return fx.symbolic_trace(net)
"""
    (fix,) = Program(tmp_path, bad).fixes_at_calls(concrete_args.fixes)
    assert fix.title == 'Trace with mode="norm"'
    assert 'symbolic_trace(net, concrete_args={"mode": "norm"})' in applied(bad, fix.changes)


@pytest.mark.parametrize(
    ("test", "call"),
    [
        ("x.sum() > 0", "net"),
        ("flag", "net, {}"),
        ("flag", "net, concrete_args={}"),
        ("flag", "net, concrete_args=given"),
    ],
)
def test_no_flag_is_fixed_where_the_call_has_no_place_for_it(test: str, call: str, tmp_path: Path) -> None:
    assert Program(tmp_path, FLAGGED.format(test=test, call=call)).fixes_at_calls(concrete_args.fixes) == []


OPTIONAL = """\
import torch
from torch import fx, nn


class Blend(nn.Module):
    def forward(self, x, mask):
        if mask is None:
            return x
        return x * len(mask)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blend = Blend()

    def forward(self, x, mask=None):
        return self.blend(x, mask)


def export():
    net = Net()
    return fx.symbolic_trace({call})
"""


@pytest.mark.parametrize("call", ["net", "net, concrete_args=None", "net, None"])
def test_an_optional_input_is_left_out_where_it_fails_further_in(call: str, tmp_path: Path) -> None:
    program = Program(tmp_path, OPTIONAL.format(call=call))
    (fix,) = program.fixes_at_calls(concrete_args.fixes)
    assert fix.title == "Trace with mask=None"
    mended = Program(tmp_path, applied(program.source, fix.changes))
    assert mended.namespace["export"]()(torch.ones(2), None).tolist() == [1, 1]


OTHER_METHODS = """\
    def keep(self, mask):
        self.mask = mask

    def scaled(self, x, *rest):
        return x * len(x) if self.mask else x

    def named(self, x, **rest):
        return x if rest["mask"] is None else x * len(x)

    def passed(self, x, mask):
        return x * len(x)
"""


@pytest.mark.parametrize(
    ("further_in", "is_offered"),
    [
        ("if mask is None:\n            return x\n        return x * len(x)", True),
        ("return x * len(x) if mask is None else x * len(mask)", True),
        ("return (\n            x * len(x)\n            if mask is not None\n            else x\n        )", True),
        ("given = mask is not None\n        return x * len(x) if given else x", True),
        ("for mask in mask or [x]:\n            x = x * len(x)\n        return x", True),
        ("self.mask = mask\n        return self.scaled(x)", True),
        ("self.keep(mask)\n        return self.scaled(x)", True),
        ("sizes = [1, 2] if mask is None else x\n        return x * len(sizes)", True),
        ("scaled = [self.scaled, abs][mask is None]\n        return scaled(x)", True),
        (
            "try:\n            x += mask\n        except TypeError:\n            return x\n        return x * len(x)",
            True,
        ),
        (
            "while True:\n            x = x * len(x)\n            if mask is None:\n                return x",
            True,
        ),
        ("return self.named(x, mask=mask)", True),
        ("return self.scaled(*[x, mask])", True),
        ("x = x * len(x)\n        return x + mask", False),
        ("if self.training:\n            x = x + 1\n        x = x * len(x)\n        return x + mask", False),
        ("half: torch.Tensor = mask / 2\n        half += 1\n        x = x * len(x)\n        return x + half", False),
        ("for _ in range(2):\n            x = x * len(x)\n        return x + mask", False),
        (
            "if self.training:\n            x = x * len(x)\n        else:\n            x = -mask\n        return x",
            False,
        ),
        ("x = self.passed(x, mask)\n        return x if mask is None else -x", False),
    ],
)
def test_an_optional_input_that_decides_nothing_is_not_left_out(
    further_in: str, tmp_path: Path, *, is_offered: bool
) -> None:
    text = OPTIONAL.format(call="net").replace(
        "if mask is None:\n            return x\n        return x * len(mask)", further_in
    )
    text = text.replace("class Net", f"{OTHER_METHODS}\n\nclass Net")
    assert bool(Program(tmp_path, text).fixes_at_calls(concrete_args.fixes)) == is_offered


@pytest.mark.parametrize(
    ("forward", "default", "title"),
    [
        ("self.blend(x, mask)", "3", "Trace with mask=3"),
        ("self.blend(x, mask=mask == 1)", "-1", "Trace with mask=-1"),
        ("self.blend(x, mask * 2)", "0.5", "Trace with mask=0.5"),
        ("self.blend(x + mask, x)", "3", None),
        ("self.blend(x, x.new_ones(2)) * mask", "3", None),
    ],
)
def test_a_flag_is_fixed_for_what_fails_further_in_if_it_is_passed_on(
    forward: str, default: str, title: str | None, tmp_path: Path
) -> None:
    text = OPTIONAL.format(call="net").replace("mask=None", f"mask={default}").replace("self.blend(x, mask)", forward)
    found = Program(tmp_path, text).fixes_at_calls(concrete_args.fixes)
    assert [fix.title for fix in found] == ([title] if title else [])


@pytest.mark.parametrize("above", ["", "# What it is.\n", "# What it is.\n@functools.cache\n"])
def test_a_flag_is_fixed_by_a_comment_where_nothing_traces_the_module(above: str, tmp_path: Path) -> None:
    text = FLAGGED.format(test="flag", call="net").replace("symbolic_trace", "Graph")
    bad = "import functools\n" + text.replace("class Net", f"{above}class Net")
    (fix,) = Program(tmp_path, bad).fixes_at_calls(concrete_args.fixes)
    good = applied(bad, fix.changes)
    said = "# fx: concrete_args(flag=False)\n"
    place = f"{above.partition('@')[0]}{said}{''.join(above.partition('@')[1:])}class Net"
    assert good == bad.replace(f"{above}class Net", place)
    (target,) = find_targets("model.py", good) or ()
    assert target.recipe.concrete_args is not None
    assert target.recipe.concrete_args.source == "dict(flag=False)"
    assert Program(tmp_path, good.replace("flag:", "mode != 'sum':")).fixes_at_calls(concrete_args.fixes) == []


BLOCKS = """\
import torch
from torch import fx, nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        if x.shape[1] > 3:
            return self.layer(x[..., :4])
        return self.layer(x[..., :4]) * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())

    def forward(self, x, scale=2):
        return self.blocks(x) * scale


HOW
"""
TRACER = """\
class LeafTracer(fx.Tracer):
    def is_leaf_module(self, m, module_qualified_name):
        return isinstance(m, Block) or super().is_leaf_module(m, module_qualified_name)


"""


@pytest.mark.parametrize(
    ("how", "mended"),
    [
        (
            "def export():\n    traced = fx.symbolic_trace(Net())\n    return traced.graph",
            TRACER + "def export():\n    tracer = LeafTracer()\n    graph = tracer.trace(Net())\n"
            "    traced = fx.GraphModule(tracer.root, graph)\n    return traced.graph",
        ),
        (
            "# For others.\ndef export():\n    graph = Net()\n    return fx.symbolic_trace(graph, {'scale': 2}).graph",
            TRACER + "# For others.\ndef export():\n    graph = Net()\n    tracer = LeafTracer()\n"
            "    graph_2 = tracer.trace(graph, {'scale': 2})\n    return fx.GraphModule(tracer.root, graph_2).graph",
        ),
        (
            TRACER.replace("Block", "nn.ReLU") + "def export():\n    return LeafTracer().trace(Net())",
            TRACER.replace("Block", "(nn.ReLU, Block)") + "def export():\n    return LeafTracer().trace(Net())",
        ),
    ],
)
def test_a_class_becomes_a_leaf(how: str, mended: str, tmp_path: Path) -> None:
    bad, good = (BLOCKS.replace("HOW", text) for text in (how, mended))
    (fix,) = Program(tmp_path, bad).fixes_at_calls(leaf_module.fixes)
    assert fix.title == "Trace with Block as a leaf"
    assert applied(bad, fix.changes) == good
    graph = Program(tmp_path, good).namespace["export"]()
    assert [node.target for node in graph.nodes if node.op == "call_module"] == ["blocks.0", "blocks.1"]


def test_the_class_is_imported_from_where_it_is(tmp_path: Path) -> None:
    package = tmp_path / "net" / "parts"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    own, other = str(tmp_path / "export.py"), str(package / "block.py")
    text = "import torch\n\nfrom net import Net\n\ntraced = torch.fx.symbolic_trace(Net())\n"
    chain = (Step("Net.forward", Span(own, 3, 0, 3, 1)), Step("Block.forward", Span(other, 1, 0, 1, 1)))
    call = Span(own, 5, 9, 5, 39)
    (fix,) = leaf_module.fixes(Failure("control-flow", "", chain), {own: text}.get, [call])
    mended = applied(text, fix.changes)
    assert "from net import Net\nimport net.parts.block\n" in mended
    assert "isinstance(m, net.parts.block.Block) or" in mended


def test_the_module_around_one_that_nobody_registered_may_become_a_leaf_too(tmp_path: Path) -> None:
    file = str(tmp_path / "export.py")
    text = "import torch\n\ntraced = torch.fx.symbolic_trace(Net())\n"
    names = ("Net.forward", "Block.forward", "Features.forward")
    chain = tuple(Step(name, Span(file, 3, 0, 3, 1)) for name in names)
    for kind, expected in (("not-a-submodule", ["Features", "Block"]), ("control-flow", ["Features"])):
        found = leaf_module.fixes(Failure(kind, "", chain), {file: text}.get, [Span(file, 3, 9, 3, 39)])
        assert [fix.title for fix in found] == [f"Trace with {name} as a leaf" for name in expected]


def test_no_leaf_where_the_tracing_call_is_not_a_plain_statement(tmp_path: Path) -> None:
    text = BLOCKS.replace("HOW", "exports = [lambda: fx.symbolic_trace(Net())]")
    assert Program(tmp_path, text).fixes_at_calls(leaf_module.fixes) == []


def test_a_class_becomes_a_leaf_by_a_directive_where_nothing_traces_the_module(tmp_path: Path) -> None:
    bad = BLOCKS.replace("HOW", "def build():\n    return Net()")
    (fix,) = Program(tmp_path, bad).fixes_at_calls(leaf_module.fixes)
    assert fix.title == "Trace with Block as a leaf"
    good = applied(bad, fix.changes)
    assert good == bad.replace("class Net", "# fx: leaf(Block)\nclass Net")
    targets = {target.key: target for target in find_targets("model.py", good) or ()}
    leaves = targets["class:Net"].recipe.leaves
    assert leaves is not None
    assert leaves.source == "(lambda *leaves: leaves)(Block)"
    assert Program(tmp_path, good).fixes_at_calls(leaf_module.fixes) == []


def test_the_root_does_not_become_a_leaf(tmp_path: Path) -> None:
    text = BLOCKS.replace("HOW", "def export():\n    return fx.symbolic_trace(Net())")
    text = text.replace("return self.blocks(x) * scale", "return x if x.sum() > 0 else x * scale")
    assert Program(tmp_path, text).fixes_at_calls(leaf_module.fixes) == []


@pytest.mark.parametrize(
    ("test", "is_first"), [("mask == 1", True), ("mask.shape[0] == len(x)", False), ("mask[0] == 1", False)]
)
def test_what_checks_a_tensor_keeps_the_input_first(test: str, tmp_path: Path, *, is_first: bool) -> None:
    check = f"        assert {test}\n        return x + mask\n"
    text = OPTIONAL.format(call="net").replace("        return self.blend(x, mask)\n", check)
    program = Program(tmp_path, text.replace("len(x)", "2"))
    titles = [fix.title for fix in program.fixes_at_calls(fixes_for)]
    assert "Check with torch._assert" in titles
    assert (titles[0] == "Trace with mask=None") == is_first
    assert (titles[1] == "Trace with mask=None") != is_first
