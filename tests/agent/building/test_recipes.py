"""Which of a class's recipes is used, what is told of it, and which failures are believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.agent.messages import Report, Trace
from fx_lsp.documents.documents import Documents
from fx_lsp.targets import find_targets
from fx_lsp.targets.workspace_recipes import WorkspaceRecipes
from tests.agent.client import PATIENT, Client

pytestmark = pytest.mark.asyncio(loop_scope="session")

HEAD = """\
from torch import nn

class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        if width == 13:
            raise ValueError("unlucky")
        self.width = width
        self.layer = nn.Linear(width, width)

    def forward(self, x, mask=None):
        {forward}
"""


async def reports(client: Client, rest: str = "", forward: str = "return self.layer(x)") -> dict[str, Report]:
    """The last report on each class, by name."""
    text = HEAD.format(forward=forward) + rest
    file = client.write("net.py", text)
    targets = find_targets(file, text)
    assert targets
    told = {}
    async for answer in client.agent.trace(
        Trace(file=file, targets=targets, roots=(str(client.root),), limits=PATIENT)
    ):
        if isinstance(answer, Report):
            told[answer.target.partition(":")[2]] = answer
    return told


@pytest.mark.parametrize(
    ("rest", "recipe", "line", "intent"),
    [
        ("", "Layer(width=64)", None, "assumed"),
        ("layers = [Layer(5)]\n", "Layer(5)", 13, "inferred"),
        ("def make(width=6):\n    return Layer(width)\n", "Layer(width)", 14, "inferred"),
        (
            "def make(n=6):\n    for width in range(1, n):\n        pass\n    return Layer(width)\n",
            "make()",
            13,
            "inferred",
        ),
        ("layers = lambda: [Layer(13), Layer(4)]\n", "Layer(4)", 13, "inferred"),
        ("layers = lambda: [Layer(13)]\n", "Layer(width=64)", None, "assumed"),
    ],
)
async def test_the_first_recipe_that_builds_is_used_and_reported(
    client: Client, rest: str, recipe: str, line: int | None, intent: str
) -> None:
    report = (await reports(client, rest))["Layer"]
    assert (report.outcome, report.recipe, report.intent) == ("traced", recipe, intent)
    assert (report.recipe_span.line if report.recipe_span else None) == line


async def test_a_submodule_of_a_built_module_beats_invented_arguments(client: Client) -> None:
    host = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList(Layer(width) for width in (4, 8))

    def forward(self, x):
        return self.stages[1](self.stages[0](x))
"""
    report = (await reports(client, host))["Layer"]
    assert (report.outcome, report.recipe, report.intent) == ("traced", "Net().stages[0]", "inferred")


async def test_a_part_fails_where_its_host_does(client: Client) -> None:
    host = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer(4)

    def forward(self, x):
        return self.layer(x)
"""
    told = await reports(client, host, forward="return self.layer(x) if x.sum() > 0 else x")
    assert [told[name].outcome for name in ("Layer", "Net")] == ["failed", "failed"]
    assert told["Layer"].failures[0].chain[-1] == told["Net"].failures[0].chain[-1]


async def test_what_a_traced_value_refuses_is_a_real_failure(client: Client) -> None:
    report = (await reports(client, forward="return self.layer(x) if x.sum() > 0 else x"))["Layer"]
    assert (report.outcome, report.intent, report.failures[0].kind) == ("failed", "assumed", "control-flow")


async def test_an_undefined_name_is_reported_despite_invented_arguments(client: Client) -> None:
    report = (await reports(client, forward="return self.layer(x) * scale"))["Layer"]
    assert (report.outcome, report.failures[0].kind) == ("failed", "exception")


@pytest.mark.parametrize(
    "forward",
    ["return self.layer(x) + {}[self.width]", "raise RuntimeError(f'{self.width} is too large')"],
)
async def test_an_error_of_the_program_may_stem_from_invented_arguments(client: Client, forward: str) -> None:
    report = (await reports(client, forward=forward))["Layer"]
    assert (report.outcome, report.failures) == ("unchecked", ())
    assert "invented" in report.reason
    known = (await reports(client, "layers = [Layer(5)]\n", forward))["Layer"]
    assert (known.outcome, known.failures[0].kind) == ("failed", "exception")


async def test_optional_inputs_are_omitted_where_no_call_is_known(client: Client) -> None:
    forward = "return self.layer(x) if mask is None else self.layer(x) * len(mask)"
    report = (await reports(client, forward=forward))["Layer"]
    assert (report.outcome, report.reason) == ("traced", "without its optional inputs")
    known = (await reports(client, "layers = [Layer(5)]\n", forward))["Layer"]
    assert (known.outcome, known.failures[0].kind) == ("failed", "len")


@pytest.mark.parametrize(
    ("by_default", "outcome"),
    [('raise ValueError("what is x?")', "failed"), ("x = torch.unique(self.known)", "out-of-memory")],
    ids=["no device helps", "only the meta device fails"],
)
async def test_a_failure_at_an_optional_input_counts_if_the_cpu_has_no_room_for_the_module(
    client: Client, by_default: str, outcome: str
) -> None:
    file = client.write(
        "large.py",
        f"""
        import torch
        from torch import nn

        class Large(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.layer = nn.Linear(100_000, 100_000)
                self.known = torch.zeros(3)

            def forward(self, x=None, flag=None):
                if x is None:
                    {by_default}
                return self.layer(x) if flag else x
        """,
    )
    report = (await client.trace(file, *find_targets(file, Path(file).read_text()) or ())).only
    kind = "control-flow" if outcome == "failed" else "memory-limit"
    assert (report.outcome, [failure.kind for failure in report.failures]) == (outcome, [kind])


async def test_an_input_that_is_optional_only_by_name_is_not_omitted(client: Client) -> None:
    forward = "y = nn.functional.interpolate(mask, scale_factor=2)\n        return self.layer(x) if y.sum() > 0 else x"
    report = (await reports(client, forward=forward))["Layer"]
    assert (report.outcome, report.failures[0].kind) == ("failed", "control-flow")


HOLDER = """\
from torch import nn
from net import Layer

class Holder(nn.Module):
    def __init__(self, names{default}):
        super().__init__()
        self.names = names
        self.layer = Layer(len(self.names))

    def forward(self, x):
        return self.layer(x)
"""


PLAIN = HEAD.format(forward="return self.layer(x)")


async def seen_elsewhere(client: Client, text: str = PLAIN, **files: str) -> Report:
    """The last report on the class `Layer` of ``text`` in a workspace that has these files, too."""
    file = client.write("net.py", text)
    for name, content in files.items():
        client.write(name.replace("__", "."), content)
    elsewhere = WorkspaceRecipes(lambda: [str(client.root)], Documents().text)
    targets = elsewhere.completed(file, find_targets(file, text) or ())
    request = Trace(file=file, targets=targets, roots=(str(client.root),), limits=PATIENT)
    told = [answer async for answer in client.agent.trace(request) if isinstance(answer, Report)]
    return [report for report in told if report.target == "class:Layer"][-1]


async def test_another_file_shows_how_it_is_built_and_is_linked_to(client: Client) -> None:
    shown = "# Layers\n```python\nfrom net import Layer\nwidth = 6\nlayer = Layer(width)\n```\n"
    report = await seen_elsewhere(client, README__md=shown)
    assert (report.outcome, report.intent, report.recipe) == ("traced", "inferred", "Layer(width)")
    assert report.recipe_span is not None
    assert report.recipe_span.file == str(client.root / "README.md")
    assert (report.recipe_span.line, report.recipe_span.col) == (5, 8)


async def test_a_recipe_from_another_file_that_fails_is_skipped(client: Client) -> None:
    shown = "from net import Layer\nfrom nowhere import width\nLayer(width)\nLayer(13)\n"
    report = await seen_elsewhere(client, use__py=shown)
    assert (report.outcome, report.intent, report.recipe) == ("traced", "assumed", "Layer(width=64)")


@pytest.mark.parametrize(
    ("default", "recipe", "intent"),
    [("=(1, 2)", "Holder().layer", "inferred"), ("", "Layer(width=64)", "assumed")],
)
async def test_a_module_of_another_file_can_be_the_host(client: Client, default: str, recipe: str, intent: str) -> None:
    report = await seen_elsewhere(client, model__py=HOLDER.format(default=default))
    assert (report.outcome, report.intent, report.recipe) == ("traced", intent, recipe)


SECRETIVE = """\
from torch import nn

class Secret:
    def __init__(self, *, word):
        if word != "open":
            raise ValueError(word)

class Layer(nn.Module):
    def __init__(self, secret):
        super().__init__()
        if hash(type(secret)) != hash(Secret):
            raise ValueError("not the one")

    def forward(self, x):
        return x + 1
"""


async def test_host_arguments_are_invented_where_those_of_the_class_cannot_be(client: Client) -> None:
    holder = HOLDER.format(default="").replace("import Layer", "import Layer, Secret")
    holder = holder.replace("self.names = names", "self.names = Secret(word='open')").replace(
        "len(self.names)", "self.names"
    )
    report = await seen_elsewhere(client, SECRETIVE, model__py=holder)
    assert (report.outcome, report.intent, report.recipe) == ("traced", "assumed", "Holder(names=64).layer")


async def test_a_class_that_fails_alone_may_trace_within_its_host(client: Client) -> None:
    text = HEAD.format(forward="return x if mask is None else x[mask > 0] if mask > 1 else x")
    holder = HOLDER.format(default="=(1, 2)").replace("Layer(len(self.names))", "Layer(5)")
    report = await seen_elsewhere(client, text, model__py=holder)
    assert (report.outcome, report.intent, report.recipe) == ("traced", "inferred", "Holder().layer")


DISTRIBUTED = """
import torch
import torch.distributed as dist

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4 * dist.get_world_size(), 4)

    def forward(self, x):
        return self.layer(x)

class Asks(torch.nn.Module):
    def forward(self, x):
        return x.cos() if dist.is_initialized() else x.sin()
"""


async def test_a_constructor_that_asks_for_a_process_group_gets_one_of_one_process(client: Client) -> None:
    reports = (await client.trace(client.write("net.py", DISTRIBUTED), "Net()", "Asks()")).reports
    assert [report.outcome for report in reports.values()] == ["traced", "traced"]
    assert "sin" in reports["Asks()"].code  # no other target has it


async def test_a_class_whose_condition_does_not_hold_is_skipped(client: Client) -> None:
    rest = "\nif not nn:\n    class Other(nn.Module):\n        def forward(self, x):\n            return x\n"
    assert (await reports(client, rest))["Other"].outcome == "skipped"
