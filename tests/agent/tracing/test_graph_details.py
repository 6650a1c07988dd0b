"""What the agent tells of a traced program beside its report."""

import contextlib

import pytest

from fx_lsp.agent.messages import Details, Recipe, Snippet, Span, Target, Trace
from tests.agent.client import PATIENT, Client, text_at

pytestmark = pytest.mark.asyncio(loop_scope="session")

MODEL = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.scale = nn.Parameter(torch.ones(width, 1, 1))

    def forward(self, x):
        y = self.conv(x) * self.scale
        return x + y, y

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, stride=4)
        self.block = Block(8)
        self.unused = nn.Linear(2, 2)

    def forward(self, x, mask=None):
        size = x.shape[0]
        both, y = self.block(self.stem(x))
        flat = both.flatten(2).transpose(1, 2)
        return flat.reshape(size, -1), y.nonzero()

Net()(torch.zeros(5, 3, 16, 24))
"""


async def describe(client: Client, text: str, root: str) -> Details | None:
    """The details of what ``root`` yields in a file; None where there are none."""
    file = client.write("model.py", text)
    target = Target("key", root, Span(file, 1, 0, 1, 0), Recipe(Snippet(root, 1)))
    await client.trace(file, target)  # starts the process
    answers = client.agent.describe(Trace(file, (target,), roots=(str(client.root),), limits=PATIENT))
    async with contextlib.aclosing(answers):
        found = [details async for details in answers]
    assert [details.input for details in found[:-1]] in ([], [""]), "first without values"
    return found[-1] if found else None


async def test_nodes_are_described_with_their_places_and_values(client: Client) -> None:
    details = await describe(client, MODEL, "Net()")
    assert details is not None
    nodes = {node.name: node for node in details.nodes}
    lines = MODEL.splitlines()

    def text(span: Span | None) -> str:
        return lines[span.line - 1][span.col : span.end_col] if span else ""

    conv = nodes["block_conv"]
    assert (conv.op, conv.target, conv.module, conv.scope) == ("call_module", "block.conv", "Conv2d", "block")
    assert (conv.inputs, conv.users) == (("stem",), ("mul",))
    assert text(conv.span) == "self.conv(x)"
    assert text(nodes["mul"].span) == "self.conv(x) * self.scale"
    assert nodes["mul"].scope == "block"
    assert nodes["flatten"].scope == ""
    assert nodes["x"].span is None
    assert details.input == "x: [5, 3, 16, 24]", "of the call in the file"
    assert details.symbols == {"b": 5, "h": 16, "w": 24}
    assert {name: nodes[name].value for name in ("x", "getitem", "block_conv", "flatten", "transpose", "reshape")} == {
        "x": "[b, 3, h, w] float32",
        "getitem": "b",
        "block_conv": "[b, 8, h/4, w/4] float32",
        "flatten": "[b, 8, h*w/16] float32",
        "transpose": "[b, h*w/16, 8] float32",
        "reshape": "[b, h*w/2] float32",
    }
    assert (conv.shape, conv.dtype) == (("b", "8", "h/4", "w/4"), "float32")
    assert (nodes["nonzero"].value, nodes["nonzero"].shape) == ("", None), "only data could tell"
    assert nodes["mask"].value == "None"


async def test_nodes_know_their_lines_in_the_generated_forward(client: Client) -> None:
    details = await describe(client, MODEL, "Net()")
    report = (await client.trace(str(client.root / "model.py"), "Net()")).only
    assert details is not None
    code = report.code.splitlines()
    for node in details.nodes:
        if node.op not in ("placeholder", "output"):
            assert node.line is not None
            assert code[node.line - 1].strip().startswith(f"{node.name} = ")
    assert report.parameters == (3 * 4 * 4 + 1) * 8 + (8 * 9 + 1) * 8 + 8 + 6


async def test_modules_come_in_the_order_of_their_calls_with_the_parameters_first_used_there(client: Client) -> None:
    details = await describe(client, MODEL, "Net()")
    assert details is not None
    calls = [(call.path, call.type, call.depth, [use.name for use in call.parameters]) for call in details.order]
    assert calls == [
        ("", "Net", 0, []),
        ("stem", "Conv2d", 1, ["stem.weight", "stem.bias"]),
        ("block", "Block", 1, ["block.scale"]),
        ("block.conv", "Conv2d", 2, ["block.conv.weight", "block.conv.bias"]),
    ]
    assert [use.count for use in details.order[1].parameters] == [384, 8]
    block = details.order[2]
    assert block.value == "([b, 8, h/4, w/4] float32, [b, 8, h/4, w/4] float32)"
    line = MODEL.splitlines().index("        both, y = self.block(self.stem(x))") + 1
    assert block.span is not None
    assert (block.span.line, block.span.col, block.span.end_col) == (line, 18, 42)


async def test_an_instance_of_the_file_keeps_its_parameters_when_it_has_run_on_meta(client: Client) -> None:
    text = "from torch import nn\n\nnet = nn.Sequential(nn.Conv2d(3, 8, 4), nn.ReLU())\n"
    details = await describe(client, text, "net")
    assert details is not None
    assert details.input != ""
    assert [use.name for use in details.order[1].parameters] == ["0.weight", "0.bias"]


async def test_a_function_has_no_module_calls_and_an_invented_input(client: Client) -> None:
    details = await describe(client, "import torch\n\ndef f(x, y):\n    return torch.relu(x) + y\n", "f")
    assert details is not None
    assert details.order == ()
    assert details.input == "x: [3, 8], y: [3, 8]"
    assert [node.value for node in details.nodes][-1] == "[b, t] float32"


async def test_a_size_that_is_fixed_by_the_program_is_a_number(client: Client) -> None:
    text = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.position = nn.Parameter(torch.zeros(1, 16, 4))

    def forward(self, x):
        return x + self.position

Net()(torch.zeros(2, 16, 4))
"""
    details = await describe(client, text, "Net()")
    assert details is not None
    assert details.symbols == {"b": 2}
    assert [node.value for node in details.nodes][-1] == "[b, 16, 4] float32"


async def test_without_inputs_no_values_are_reported(client: Client) -> None:
    details = await describe(client, "def f(x):\n    return x.frobnicate()\n", "f")
    assert details is not None
    assert (details.input, details.symbols) == ("", {})
    assert [node.value for node in details.nodes] == ["", "", ""]


async def test_a_target_that_cannot_be_built_has_no_details(client: Client) -> None:
    assert await describe(client, "def f(x):\n    return x\n", "f(1 / 0)") is None


async def test_concrete_args_are_part_of_the_input(client: Client) -> None:
    text = "def f(x, flag):\n    return x + 1 if flag else x.reshape(-1)\n"
    file = client.write("model.py", text)
    recipe = Recipe(Snippet("f", 1), concrete_args=Snippet("{'flag': False}", 1))
    target = Target("key", "f", Span(file, 1, 0, 1, 0), recipe)
    await client.trace(file, target)
    found = [details async for details in client.agent.describe(Trace(file, (target,), limits=PATIENT))]
    details = found[-1]
    assert details.input == "x: [3, 8], flag: False"
    assert details.nodes[-1].value == "[b*t] float32"


FAILING = """\
import torch
from torch import nn

class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return -x
        return x * len(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.gate = Gate()

    def forward(self, x):
        x = self.gate(self.stem(x))
        x[0] = 1
        return torch.zeros(x.size(0), 4) + nn.ReLU()(x)

class Alone(nn.Module):
    def __init__(self, gate):
        super().__init__()
        self.gate = gate

    def forward(self, x):
        y = torch.relu(x)
        if y.mean() > 0:
            y = y + 1
        return y * 2
"""


async def test_details_of_a_failing_target_name_its_failing_nodes(client: Client) -> None:
    details = await describe(client, FAILING, "Net()")
    assert details is not None
    assert details.outcome == "failed"
    report = (await client.trace(str(client.root / "model.py"), "Net()")).only
    failing = {failure.chain[-1].span: text_at(failure.chain[-1]) for failure in report.failures}
    told = {node.name: [failing[span] for span in node.fails] for node in details.nodes}
    assert {name: spans for name, spans in told.items() if spans} == {
        "gt": ["x.sum() > 0"],
        "stem": ["len(x)"],
        "setitem": ["x[0]"],
        "zeros": ["torch.zeros(x.size(0), 4)"],
        "_unregistered_0": ["nn.ReLU()(x)"],
    }
    assert list(told)[-1] == "output", "it goes on past them all"
    assert {node.value for node in details.nodes} == {""}
    assert {node.line for node in details.nodes} == {None}
    assert [(call.path, call.type) for call in details.order] == [("", "Net"), ("stem", "Linear"), ("gate", "Gate")]
    assert [use.name for use in details.order[1].parameters] == ["stem.weight", "stem.bias"]


async def test_details_of_a_failing_target_with_invented_arguments_go_on_past_its_failures(client: Client) -> None:
    file = client.write("model.py", FAILING)
    recipe = Recipe(Snippet("Alone", 1), made_up=True)
    target = Target("key", "Alone", Span(file, 21, 6, 21, 11), recipe, intent="assumed", symbol="Alone")
    request = Trace(file, (target,), roots=(str(client.root),), limits=PATIENT)
    found = [details async for details in client.agent.describe(request)][-1]
    assert [(node.name, bool(node.fails)) for node in found.nodes] == [
        ("x", False),
        ("relu", False),
        ("mean", False),
        ("gt", True),
        ("mul", False),
        ("output", False),
    ]


async def test_a_target_traced_within_a_host_is_described_too(client: Client) -> None:
    text = """\
import torch
from torch import nn

class Part(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.width = settings["widths"][1] // settings["heads"]
        self.linear = nn.Linear(self.width, 2)

    def forward(self, x):
        return self.linear(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part({"widths": [1, 8], "heads": 2})

    def forward(self, x):
        return self.part(x)
"""
    file = client.write("model.py", text)
    net = Target("net", "Net", Span(file, 13, 6, 13, 9), Recipe(Snippet("Net()", 1)), symbol="Net")
    made_up = Recipe(Snippet("Part", 1), made_up=True)
    part = Target("part", "Part", Span(file, 4, 6, 4, 10), made_up, intent="assumed", symbol="Part")
    request = Trace(file, (net, part), roots=(str(client.root),), limits=PATIENT)
    found = {details.target: details async for details in client.agent.describe(request)}
    assert [node.name for node in found["part"].nodes] == ["x", "linear", "output"]


async def details_for(client: Client, inputs: str) -> Details:
    """The last details of `Net` for the given inputs."""
    file = client.write("model.py", MODEL)
    target = Target("key", "Net()", Span(file, 1, 0, 1, 0), Recipe(Snippet("Net()", 1)))
    await client.trace(file, target)  # starts the process
    request = Trace(file, (target,), roots=(str(client.root),), limits=PATIENT, inputs=inputs)
    async with contextlib.aclosing(client.agent.describe(request)) as answers:
        return [details async for details in answers][-1]


async def test_values_are_for_the_input_that_is_asked_for(client: Client) -> None:
    details = await details_for(client, "(torch.rand(1, 3, 32, 8), mask=None)")
    assert (details.input, details.problem) == ("x: [1, 3, 32, 8], mask: None", "")
    values = {node.name: node.value for node in details.nodes}
    assert details.symbols == {"b": 1, "h": 32, "w": 8}
    assert values["block_conv"] == "[b, 8, h/4, w/4] float32"


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ("(rand(1))", "the input can't be evaluated: NameError: name 'rand' is not defined"),
        ("(torch.rand(1, 3), 1, 2)", "the model does not accept it: TypeError: too many positional arguments"),
        ("(torch.rand(1, 4, 16, 16))", "the model does not accept it, at `stem`: RuntimeError: "),
    ],
)
async def test_an_input_that_can_not_be_used_is_explained_and_no_other_is_taken(
    client: Client, inputs: str, problem: str
) -> None:
    details = await details_for(client, inputs)
    assert details.problem.startswith(problem)
    assert details.input == ""
    assert not any(node.value for node in details.nodes)
