"""What a program costs, compared with torch's own counters and with what the CPU really allocates."""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from fx_lsp.agent.messages import Costs, ModuleCosts, Recipe, Snippet, Span, Target, Trace
from tests.agent.client import PATIENT, Client

pytestmark = pytest.mark.asyncio(loop_scope="session")

MODEL = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x))) + x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, stride=4)
        self.block = Block(8)
        self.blocks = nn.ModuleList([Block(8), Block(8)])
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.head = nn.Linear(8, 5)
        self.tied = nn.Linear(8, 5, dtype=torch.float32)
        self.tied.weight = self.head.weight
        self.tied.bias.requires_grad = False
        self.unused = nn.Linear(2, 2)

    def forward(self, x):
        x = self.block(self.block(self.stem(x)))
        for block in self.blocks:
            x = block(x)
        x = self.encoder(x.flatten(2).transpose(1, 2))
        return self.head(x) @ self.tied(x).transpose(1, 2)

Net()(torch.zeros(5, 3, 16, 24))
"""


async def count(client: Client, text: str, root: str, inputs: str = "") -> Costs | None:
    """What ``root`` costs in a file, for ``inputs`` if any are given; None if there is no report."""
    file = client.write("model.py", text)
    target = Target("key", root, Span(file, 1, 0, 1, 0), Recipe(Snippet(root, 1)))
    await client.trace(file, target)  # starts the process
    request = Trace(file, (target,), roots=(str(client.root),), limits=PATIENT, inputs=inputs)
    answers = client.agent.count(request)
    async with contextlib.aclosing(answers):
        found = [costs async for costs in answers]
    return found[-1] if found else None


def load(text: str) -> ModuleType:
    """The module that ``text`` defines, in this process."""
    module = ModuleType("model_by_hand")
    sys.modules[module.__name__] = module
    exec(text, vars(module))
    return module


def by_path(costs: Costs) -> dict[str, ModuleCosts]:
    return {module.path: module for module in costs.modules}


@pytest.fixture(scope="module")
def net() -> torch.nn.Module:
    made: torch.nn.Module = load(MODEL).Net()
    return made


async def test_parameters_and_buffers_are_those_of_the_module(client: Client, net: torch.nn.Module) -> None:
    costs = await count(client, MODEL, "Net()")
    assert costs is not None
    assert [module.path for module in costs.modules] == [path for path, _ in net.named_modules()]
    for path, module in net.named_modules():
        told = by_path(costs)[path]
        assert told.type == type(module).__name__
        assert told.parameters.count == sum(parameter.numel() for parameter in module.parameters()), path
        assert told.trainable == sum(p.numel() for p in module.parameters() if p.requires_grad), path
        assert told.buffers.count == sum(buffer.numel() for buffer in module.buffers()), path
        assert sum(told.parameters.bytes.values()) == sum(p.nbytes for p in module.parameters()), path
    root = costs.modules[0]
    assert root.trainable == root.parameters.count - 5, "the bias of `tied`"
    assert root.buffers.bytes == {"float32": 3 * 2 * 8 * 4, "int64": 3 * 8}


SHARED = """\
import torch
from torch import nn

class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x)

class Outer(nn.Module):
    def __init__(self, leaf, inner):
        super().__init__()
        self.leaf = leaf
        self.inner = inner
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(self.inner(self.leaf(x)))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        leaf, inner = nn.Linear(8, 8), Inner()
        self.first = Outer(leaf, inner)
        self.second = Outer(leaf, inner)
        self.items = nn.Sequential(nn.Linear(8, 8), leaf)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.other = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.other.linear1 = self.encoder.linear1

    def forward(self, x):
        x = self.second(self.second(self.first(x)))
        for item in self.items:
            x = item(x)
        return self.other(self.encoder(x))

Net()(torch.zeros(2, 4, 8))
"""


async def test_a_submodule_that_several_modules_contain_counts_in_those_that_call_it(client: Client) -> None:
    costs = await count(client, SHARED, "Net()")
    assert costs is not None
    own = load(SHARED).Net().to("meta")
    with FlopCounterMode(display=False) as counter:
        own(torch.zeros(2, 4, 8, device="meta"))
    torchs = {name: sum(counts.values()) for name, counts in counter.get_flop_counts().items()}
    told = by_path(costs)
    for path in ("first", "second", "first.linear", "second.linear", "encoder", "other"):
        assert told[path].flops == torchs[f"Net.{path}"], path
    # Torch names what is shared after the last module that contains it, and `Module.named_modules` after the first.
    for path, torchs_path in (
        ("first.inner", "second.inner"),
        ("first.leaf", "items.1"),
        ("encoder.linear1", "other.linear1"),
    ):
        assert told[path].flops == torchs[f"Net.{torchs_path}"], path
    assert told["items"].flops == torchs["Net.items.0"], "it is not called, and its other item is named after `first`"
    assert told["first"].activations == 3 * 4 * 2 * 4 * 8


async def test_operations_are_counted_for_the_input_that_is_asked_for(client: Client) -> None:
    costs = await count(client, MODEL, "Net()", "(torch.zeros(2, 3, 32, 32))")
    assert costs is not None
    assert costs.input == "x: [2, 3, 32, 32]"
    own = load(MODEL).Net().to("meta")
    with FlopCounterMode(display=False) as counter:
        own(torch.zeros(2, 3, 32, 32, device="meta"))
    assert costs.modules[0].flops == counter.get_total_flops()
    refused = await count(client, MODEL, "Net()", "(torch.zeros(2, 5, 32, 32))")
    assert refused is not None
    assert (refused.input, refused.modules[0].flops) == ("", None), "no other input is taken instead"


async def test_operations_are_those_that_torch_counts(client: Client, net: torch.nn.Module) -> None:
    costs = await count(client, MODEL, "Net()")
    assert costs is not None
    assert costs.input == "x: [5, 3, 16, 24]"
    own = load(MODEL).Net().to("meta")
    with FlopCounterMode(display=False) as counter:
        own(torch.zeros(5, 3, 16, 24, device="meta"))
    told = by_path(costs)
    assert told[""].flops == counter.get_total_flops()
    compared = 0
    for name, counts in counter.get_flop_counts().items():
        path = name.removeprefix("Net").removeprefix(".")
        if name != "Global":
            assert told[path].flops == sum(counts.values()), path
            compared += 1
    assert compared > 5
    assert told["block"].flops == 2 * (told["blocks.0"].flops or 0), "it is called twice"
    assert told["blocks"].flops == told["block"].flops, "a list has what its items have"
    assert told["unused"].flops is None
    assert sum(node.flops for node in costs.nodes) == told[""].flops


async def test_operators_without_a_formula_are_named_with_the_size_of_their_results(client: Client) -> None:
    costs = await count(client, MODEL, "Net()")
    assert costs is not None
    uncounted = {operator.name: operator for operator in costs.uncounted}
    assert (uncounted["aten.relu"].calls, uncounted["aten.native_layer_norm"].calls) == (5, 2)
    assert uncounted["aten.relu"].elements == 4 * 5 * 8 * 4 * 6 + 5 * 24 * 16
    assert not {"aten.view", "aten.transpose", "aten.mm", "aten.convolution", "aten.empty"} & uncounted.keys()


CHAIN = """\
import torch
from torch import nn

class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        a = x + self.scale          # 64 bytes
        b = a.view(2, 8).t()        # a view
        c = self.act(b)             # in place
        d, e = torch.split(a * 2, 2)  # 64 bytes, which two names share
        f = torch.cat([d, e, e])    # 96 bytes, with the 64 of the two
        return f.sum()              # 4 bytes

Chain()(torch.zeros(4, 4))
"""


async def test_views_share_memory_and_each_value_is_freed_after_its_last_use(client: Client) -> None:
    costs = await count(client, CHAIN, "Chain()")
    assert costs is not None
    assert [(node.name, node.bytes) for node in costs.nodes if node.bytes] == [
        ("add", 64),
        ("mul", 64),
        ("cat", 96),
        ("sum_1", 4),
    ]
    root = costs.modules[0]
    assert (root.activations, root.peak) == (64 + 64 + 96 + 4, 64 + 96)


async def test_operators_that_write_in_place_take_no_memory(client: Client) -> None:
    text = """\
    import torch
    from torch import nn

    class Net(nn.Module):
        def forward(self, x):
            y = x * 2
            y += x
            z = y + x
            z @= y
            return z

    Net()(torch.zeros(4, 4))
    """
    costs = await count(client, text, "Net()")
    assert costs is not None
    assert [(node.name, node.bytes) for node in costs.nodes] == [("mul", 64), ("add", 0), ("add_1", 64), ("matmul", 64)]


async def test_attention_is_laid_out_as_by_the_fused_kernels(client: Client) -> None:
    text = """\
    import torch
    from torch import nn

    class Net(nn.Module):
        def forward(self, q):
            merged = nn.functional.scaled_dot_product_attention(q, q, q).transpose(1, 2).flatten(2)
            return merged.sum()

    Net()(torch.zeros(2, 3, 4, 5))
    """
    costs = await count(client, text, "Net()")
    assert costs is not None
    assert [node.bytes for node in costs.nodes] == [480, 0, 0, 4]
    assert "aten.new_empty" not in [operator.name for operator in costs.uncounted], "the program does not call it"


async def test_a_program_that_changes_the_shape_of_its_input_is_counted_for_the_shape_that_it_gets(
    client: Client,
) -> None:
    text = """\
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 1)

        def forward(self, x):
            return self.conv(x.unsqueeze_(0))

    Net()(torch.zeros(3, 8, 8))
    """
    costs = await count(client, text, "Net()")
    assert costs is not None
    assert (costs.input, costs.reason) == ("x: [3, 8, 8]", "")
    assert costs.modules[0].flops == 2 * 3 * 4 * 8 * 8


async def test_a_program_without_operations_takes_no_memory(client: Client) -> None:
    text = """\
    import torch
    from torch import nn

    class Net(nn.Module):
        def forward(self, x):
            return x

    Net()(torch.zeros(3))
    """
    costs = await count(client, text, "Net()")
    assert costs is not None
    root = costs.modules[0]
    assert (root.flops, root.activations, root.peak) == (0, 0, 0)


async def test_what_needs_data_is_said_to_be_unknown(client: Client) -> None:
    text = """\
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 4)
            self.second = nn.Linear(2, 2)

        def forward(self, x):
            return self.second(self.first(x).nonzero().float())

    Net()(torch.zeros(3, 4))
    """
    costs = await count(client, text, "Net()")
    assert costs is not None
    assert costs.unknown[:2] == ("nonzero", "float_1")
    told = by_path(costs)
    assert told["first"].flops == 2 * 3 * 4 * 4
    assert "second" in costs.unknown


async def test_a_custom_kernel_is_named(client: Client) -> None:
    text = """\
    import torch
    from torch import nn

    @torch.library.custom_op("costs::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    @twice.register_fake
    def _(x):
        return torch.empty_like(x)

    torch.fx.wrap("twice")

    class Net(nn.Module):
        def forward(self, x):
            return torch.ops.costs.twice(x) @ x

    Net()(torch.zeros(3, 3))
    """
    costs = await count(client, text, "Net()")
    assert costs is not None
    assert [(operator.name, operator.elements) for operator in costs.uncounted] == [("costs.twice", 9)]
    assert costs.modules[0].flops == 2 * 27


async def test_without_an_input_only_parameters_are_told(client: Client) -> None:
    text = """\
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 4)

        def forward(self, x):
            return self.linear(x.of.no_tensor)
    """
    costs = await count(client, text, "Net()")
    assert costs is not None
    assert costs.reason == "fx-lsp found no example input that the model accepts"
    assert costs.modules[0].parameters.count == 16
    assert costs.modules[0].flops is costs.modules[0].activations is costs.modules[0].peak is None


async def test_a_model_whose_parameters_have_no_shapes_yet_traces_and_is_not_counted(client: Client) -> None:
    text = """\
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.LazyLinear(3)

        def forward(self, x):
            return self.head(x)
    """
    costs = await count(client, text, "Net()")
    assert costs is not None
    assert costs.modules == ()
    assert costs.reason == "some of its parameters get their shapes only when the model is called"


async def test_a_model_with_a_missing_part_is_not_counted(client: Client) -> None:
    text = """\
    from torch import nn
    from missing_package import Backbone

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = Backbone()
            self.head = nn.Linear(3, 4)

        def forward(self, x):
            return self.head(self.backbone(x))
    """
    costs = await count(client, text, "Net()")
    assert costs is not None
    assert costs.modules == ()
    assert costs.reason.startswith("it was traced only up to `missing_package.Backbone`")


async def test_a_model_that_fails_costs_nothing_known(client: Client) -> None:
    text = """\
    from torch import nn

    class Net(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x
    """
    assert await count(client, text, "Net()") is None
