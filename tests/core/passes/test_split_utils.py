"""split_utils against torch.fx: the same parts, names and results."""

import contextlib
import io
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.passes.split_utils as theirs
import torch.fx.passes.splitter_base as their_splitter

import fxcore.passes.split_utils as ours
import fxcore.passes.splitter_base as our_splitter
from fxcore._symbolic_trace import symbolic_trace
from tests.core.code_text import codes_of
from tests.zoo import torchvision


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(3))
        self.inner = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
        self.list = torch.nn.ModuleList([torch.nn.Linear(3, 3)])

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        a = self.inner(x) * self.scale
        b = self.list[0](y) * self.scale
        c = torch.cat([a, b])
        return {"sum": c.sum() + a, "parts": (a, b), "scale": self.scale}


def tag(module: Any, size: int) -> list[str]:
    calls = [node for node in module.graph.nodes if node.op.startswith("call_")]
    for index, node in enumerate(calls):
        node.tag = f"part_{index // size}"
    return list(dict.fromkeys(node.tag for node in calls))


@pytest.mark.parametrize("return_tuple", [False, True])
@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_split(size: int, return_tuple: bool) -> None:
    model = Model()
    mine, reference = symbolic_trace(model), torch.fx.symbolic_trace(model)
    options: dict[str, Any] = {"return_fqn_mapping": True, "return_tuple": return_tuple}
    result: Any = ours.split_by_tags(mine, tag(mine, size), **options)
    their_result: Any = theirs.split_by_tags(reference, tag(reference, size), **options)
    (split, names), (expected, expected_names) = result, their_result
    assert codes_of(split) == codes_of(expected)
    assert names == expected_names
    assert list(split.state_dict()) == list(expected.state_dict())
    x, y = torch.rand(2, 3), torch.rand(2, 3)
    torch.testing.assert_close(split(x, y), model(x, y), rtol=0, atol=0)


@pytest.mark.parametrize("name", ["resnet18", "squeezenet1_1"])
def test_torchvision_models(name: str) -> None:
    model = getattr(torchvision.models, name)(weights=None).eval()
    mine, reference = symbolic_trace(model), torch.fx.symbolic_trace(model)
    split: Any = ours.split_by_tags(mine, tag(mine, 13))
    expected: Any = theirs.split_by_tags(reference, tag(reference, 13))
    assert codes_of(split) == codes_of(expected)
    image = torch.rand(1, 3, 64, 64)
    torch.testing.assert_close(split(image), model(image), rtol=0, atol=0)


def test_nodes_need_tags_in_order() -> None:
    traced = symbolic_trace(Model())
    with pytest.raises(AssertionError, match="does not have tag"):
        ours.split_by_tags(traced, ["part_0"])
    tags = tag(traced, 2)
    with pytest.raises(AssertionError, match="later tag"):
        ours.split_by_tags(traced, tags[::-1])
    with pytest.raises(KeyError):
        ours.split_by_tags(traced, tags[1:])


def test_dotted_attributes() -> None:
    for module in (ours, theirs):
        model = Model()
        assert module.getattr_recursive(model, "inner.0.weight") is model.inner[0].weight
        assert module.getattr_recursive(model, "list.0") is model.list[0]
        assert module.getattr_recursive(model, "list.append") is None
        assert module.getattr_recursive(model, "inner.7.weight") is None
        module.setattr_recursive(model, "inner.0.extra", 3)
        assert model.inner[0].extra == 3
        module.setattr_recursive(model, "extra", 4)
        assert model.extra == 4


def sizes(x: torch.Tensor, y: torch.Tensor) -> Any:
    a = x + 1
    rows = a.size(0)
    more = rows * 2
    b = y.reshape(more, -1)
    c = b + x.size(1)
    return c.relu(), a, more


@pytest.mark.parametrize("cut", range(1, 7))
@pytest.mark.parametrize("users", [1, 2])
def test_values_that_are_no_tensors_move(cut: int, users: int) -> None:
    placements = []
    both: list[tuple[Any, Any, Any]] = [
        (symbolic_trace, our_splitter, ours),
        (torch.fx.symbolic_trace, their_splitter, theirs),
    ]
    for trace, splitter, utils in both:
        traced = trace(sizes)
        for node in traced.graph.nodes:
            tensor = node.target not in ("size",) and "mul" not in node.name
            node.meta["type"] = torch.Tensor if tensor else int
        calls = [node for node in traced.graph.nodes if node.op.startswith("call_")]
        parts = [calls[:cut], calls[cut : cut + users], calls[cut + users :]]
        subgraphs = [splitter.Subgraph(is_acc=i != 1, nodes=part) for i, part in enumerate(parts)]
        with contextlib.redirect_stdout(io.StringIO()):
            utils.move_non_tensor_nodes_on_boundary(subgraphs)
        placements.append([{node.name for node in subgraph.nodes} for subgraph in subgraphs])
    assert placements[0] == placements[1]


def test_a_non_tensor_node_moves_over_the_boundary() -> None:
    traced: Any = symbolic_trace(sizes)
    for node in traced.graph.nodes:
        node.meta["type"] = int if node.target == "size" or "mul" in node.name else torch.Tensor
    calls = [node for node in traced.graph.nodes if node.op.startswith("call_")]
    subgraphs = [our_splitter.Subgraph(True, calls[:3]), our_splitter.Subgraph(False, calls[3:])]
    ours.move_non_tensor_nodes_on_boundary(subgraphs)
    assert [node.name for node in subgraphs[0].nodes] == ["add"]
