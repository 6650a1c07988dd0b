"""optimization against torch.fx: the same code, modules and results."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.experimental.optimization as theirs
from torch import nn

import fxcore.experimental.optimization as ours
from fxcore._symbolic_trace import Tracer, symbolic_trace
from tests.core.code_text import code_of
from tests.ids import same_everywhere
from tests.zoo import torchvision

BOTH: list[tuple[Any, Any]] = [(symbolic_trace, ours), (torch.fx.symbolic_trace, theirs)]


class Blocks(nn.Module):
    """Convolutions, linear layers and norms that fuse, and some that don't."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(2, 2, 1)
        self.norm1 = nn.BatchNorm1d(2)
        self.conv3 = nn.Conv3d(2, 2, 1)
        self.norm3 = nn.BatchNorm3d(2)
        self.nested = nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2), nn.ReLU(), nn.Dropout())
        self.untracked = nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2, track_running_stats=False))
        self.linear = nn.Linear(4, 2)
        self.norm = nn.BatchNorm1d(2)
        self.shared = nn.Conv2d(2, 2, 1)
        self.shared_norm = nn.BatchNorm2d(2)

    def forward(self, x: torch.Tensor) -> Any:
        a = self.norm1(self.conv1(x.flatten(2)))
        b = self.norm3(self.conv3(x.unsqueeze(-1)))
        c = self.untracked(self.nested(x))
        d = self.norm(self.linear(x.flatten(1)[:, :4]))
        e = self.shared(x)
        return a, b, c, d, self.shared_norm(e) + e


class Residual(nn.Module):
    """Two stretches that can run in MKL-DNN's layout, with an addition in the first and something else between."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
        self.left = nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU(), nn.Dropout())
        self.right = nn.Conv2d(4, 4, 1)
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> Any:
        x = self.stem(x)
        x = torch.relu(self.left(x) + self.right(x) + x)
        x = self.norm(torch.sin(x) + x)
        return self.linear(x.mean((2, 3)))


def trained(model: nn.Module) -> nn.Module:
    """The model in eval mode, its norms with statistics that aren't those of a new norm."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d) and module.track_running_stats:
            assert module.running_mean is not None
            assert module.running_var is not None
            module.running_mean.uniform_(-1, 1)
            module.running_var.uniform_(0.5, 2)
    return model.eval()


def agree(mine: Any, reference: Any, model: nn.Module, x: torch.Tensor) -> None:
    assert code_of(mine) == code_of(reference)
    assert [(n, type(m)) for n, m in mine.named_modules()][1:] == [(n, type(m)) for n, m in reference.named_modules()][
        1:
    ]
    torch.testing.assert_close(mine(x), reference(x), rtol=0, atol=0)
    torch.testing.assert_close(mine(x), model(x), rtol=1e-3, atol=1e-3)


SMALL, IMAGE = (3, 2, 4, 4), (1, 3, 64, 64)


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (Blocks, SMALL),
        (torchvision.models.resnet18, IMAGE),
        (torchvision.models.mobilenet_v3_small, IMAGE),
        (torchvision.models.vgg11_bn, IMAGE),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_fusing(build: Callable[[], nn.Module], shape: tuple[int, ...]) -> None:
    model, x = trained(build()), torch.rand(shape)
    mine, reference = ours.fuse(model), theirs.fuse(model)
    agree(mine, reference, model, x)
    count = sum("norm" in name.lower() for name in map(str, map(type, mine.modules())))
    assert count < sum("norm" in name.lower() for name in map(str, map(type, model.modules())))


def test_fusing_leaves_the_model_alone() -> None:
    model = trained(Blocks())
    before = copy.deepcopy(model.state_dict())
    ours.fuse(model)
    torch.testing.assert_close(dict(model.state_dict()), dict(before))
    traced = symbolic_trace(model)
    assert ours.fuse(traced, no_trace=True).conv1 is not traced.conv1
    assert ours.fuse(traced, inplace=True, no_trace=True).conv1 is traced.conv1


def test_dropout() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(), nn.Sequential(nn.Dropout(0.1), nn.ReLU())).eval()
    agree(ours.remove_dropout(model), theirs.remove_dropout(model), model, torch.rand(2, 3))
    assert "dropout" not in ours.remove_dropout(model).code


def test_subgraph() -> None:
    class Chain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            return (self.linear(x).relu() + y).sigmoid()

    model = Chain()
    modules = []
    for trace, module in BOTH:
        nodes = {node.name: node for node in trace(model).graph.nodes}
        inside = [nodes["linear"], nodes["relu"], nodes["add"]]
        modules.append(module.extract_subgraph(model, inside, [nodes["x"], nodes["y"]], [nodes["relu"], nodes["add"]]))
    assert code_of(modules[0]) == code_of(modules[1])
    x, y = torch.rand(3), torch.rand(3)
    torch.testing.assert_close(modules[0](x, y), modules[1](x, y))


CONFIGURATIONS: list[dict[str, Any] | None] = [
    None,
    {"mkldnn_layout_optimize": False},
    {"conv_bn_fuse": False},
    {"remove_dropout": False},
    {"mkldnn_layout_optimize": {"heuristic": lambda graph: True}},
    {"mkldnn_layout_optimize": {"heuristic": lambda graph: len(graph.nodes) % 2 == 0}},
]


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=same_everywhere)
def test_inference(configuration: dict[str, Any] | None) -> None:
    model = trained(Residual())
    x = torch.rand(1, 3, 8, 8)
    agree(
        ours.optimize_for_inference(model, configuration), theirs.optimize_for_inference(model, configuration), model, x
    )


def test_inference_of_a_torchvision_model() -> None:
    model = trained(torchvision.models.squeezenet1_1())
    x = torch.rand(1, 3, 64, 64)
    agree(ours.optimize_for_inference(model), theirs.optimize_for_inference(model), model, x)


def test_numbers_among_the_operands() -> None:
    class AddsOne(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.sin(x) + 1

    x = torch.rand(3)
    torch.testing.assert_close(ours.optimize_for_inference(AddsOne())(x), torch.sin(x) + 1)
    with pytest.raises(AttributeError):  # torch.fx takes every operand for a node
        theirs.optimize_for_inference(AddsOne())


def test_own_tracer() -> None:
    class NoRelu(Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return not isinstance(m, nn.ReLU) and super().is_leaf_module(m, module_qualified_name)

    model = trained(Residual())
    optimized: Any = ours.optimize_for_inference(model, tracer=NoRelu)
    assert "relu" in optimized.code
    x = torch.rand(1, 3, 8, 8)
    torch.testing.assert_close(optimized(x), model(x), rtol=1e-3, atol=1e-3)


def test_autotuner() -> None:
    model = trained(Residual())
    x = torch.rand(1, 3, 8, 8)
    tuned = ours.gen_mkl_autotuner([x], iters=1)
    verdicts: list[bool] = []

    def heuristic(graph: ours.MklSubgraph) -> bool:
        verdicts.append(tuned(graph))
        return verdicts[-1]

    optimized = ours.optimize_for_inference(model, {"mkldnn_layout_optimize": {"heuristic": heuristic}})
    torch.testing.assert_close(optimized(x), model(x), rtol=1e-3, atol=1e-3)
    assert verdicts


def test_bad_configuration() -> None:
    values: list[Any] = [True, {}, None]
    for value in values:
        with pytest.raises(RuntimeError):
            ours.optimize_for_inference(nn.ReLU(), {"mkldnn_layout_optimize": value})
        with pytest.raises(RuntimeError):
            theirs.optimize_for_inference(nn.ReLU(), {"mkldnn_layout_optimize": value})
    with pytest.raises(AssertionError):
        ours.optimize_for_inference(nn.Sequential(nn.Linear(2, 2, dtype=torch.double)))


def test_union_find() -> None:
    sets = [module.UnionFind(10) for module in (ours, theirs)]
    for each in sets:
        for number in range(9):
            each.make_set(number)
        for pair in [(0, 1), (2, 3), (1, 3), (5, 6), (6, 7), (0, 7), (4, 4)]:
            each.join(*pair)
    assert [sets[0].find(number) for number in range(9)] == [sets[1].find(number) for number in range(9)]
    with pytest.raises(AssertionError):
        sets[0].find(9)


def test_module_pattern() -> None:
    model = nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2), nn.ReLU())
    for trace, module in BOTH:
        traced = trace(model)
        modules = dict(traced.named_modules())
        matches = [
            module.matches_module_pattern((nn.Conv2d, nn.BatchNorm2d), node, modules) for node in traced.graph.nodes
        ]
        assert matches == [False, False, True, False, False]
