"""Arguments that satisfy checks of several values, of shapes, of classes and of types."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

import fxcore
from fx_lsp.agent.building.build import own_error
from fx_lsp.agent.inventing.argument_synthesis import CannotInvent, invent_arguments


def made(constructor: Callable[..., None], forward: Callable[..., Any] | None = None) -> str:
    """The call that builds a module of a class with this constructor."""

    @functools.wraps(constructor)
    def init(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        nn.Module.__init__(self)
        constructor(self, *args, **kwargs)

    def doubled(self: Any, x: Any) -> Any:
        return x * 2

    cls = type("M", (nn.Module,), {"__init__": init, "forward": forward or doubled, "__module__": __name__})
    tracer = fxcore.Tracer()
    return invent_arguments(cls, globals(), partial(own_error, tracer, None), on_meta=False).shown


def lists_of_one_length(self: Any, dim_in: Any, dim_out: Any, kernel: Any) -> None:
    assert len({len(dim_in), len(dim_out), len(kernel)}) == 1
    self.convs = nn.ModuleList(nn.Conv2d(*one) for one in zip(dim_in, dim_out, kernel, strict=True))


def a_count_of_lists(self: Any, num_of_layers: Any, heads: Any, features: Any) -> None:
    assert num_of_layers == len(heads) == len(features) - 1
    self.layers = nn.ModuleList(nn.Linear(features[i] * heads[i], features[i + 1]) for i in range(num_of_layers))


def a_shape(self: Any, num_continuous: Any, mean_std: Any) -> None:
    assert mean_std.shape == (num_continuous, 2)
    self.register_buffer("mean_std", mean_std)


def alike_shapes(self: Any, low: Any, high: Any, dim: int = 3) -> None:
    if low.shape != high.shape or high.shape != (dim,):
        raise ValueError
    self.register_buffer("scale", (high - low) / 2)


def a_rank(self: Any, weights: Any) -> None:
    if weights.dim() != 2:
        raise ValueError
    self.linear = nn.Linear(weights.size(1), weights.size(0))


def a_mask(self: Any, adj: Any) -> None:
    self.mask = adj > 0
    self.edges = nn.Parameter(torch.zeros(len(self.mask.nonzero())))


def one_of_two_classes(self: Any, conv_op: Any) -> None:
    if conv_op == nn.Conv2d:
        self.pool = nn.MaxPool2d(2)
    elif conv_op == nn.Conv3d:
        self.pool = nn.MaxPool3d(2)
    else:
        raise ValueError(conv_op)


def the_same_class(self: Any, conv_op: Any) -> None:
    if conv_op is not nn.Conv3d:
        raise ValueError(conv_op)
    self.conv = conv_op(3, 3, 3)


def a_subclass(self: Any, block: Any) -> None:
    if not issubclass(block, nn.Conv2d):
        raise TypeError(block)
    self.conv = block(3, 3, 3)


def the_name_of_a_class(self: Any, space: Any) -> None:
    kind = space.__class__.__name__
    if kind == "Discrete":
        self.head = nn.Linear(8, space.n)
    elif kind == "Box":
        self.head = nn.Linear(8, space.shape[0])
    else:
        raise NotImplementedError(kind)


def a_string(self: Any, arch: Any) -> None:
    assert isinstance(arch, str)
    self.layers = nn.ModuleList(nn.Linear(8, 8) for part in arch.split("+"))


def the_last_layer_of_an_encoder(self: Any, base_encoder: Any, dim: Any) -> None:
    self.encoder = base_encoder(num_classes=dim)
    width = self.encoder.fc.weight.shape[1]
    self.encoder.fc = nn.Sequential(nn.Linear(width, width), nn.ReLU(), self.encoder.fc)


def counts_without_names(self: Any, N: Any, X: Any, R: Any) -> None:
    self.blocks = nn.ModuleList(
        nn.Sequential(nn.Conv1d(N, N, 1), nn.ReLU(), nn.BatchNorm1d(N), nn.Conv1d(N, N, 3, dilation=2**x))
        for _ in range(R)
        for x in range(X)
    )


def a_width_of_an_extractor(self: Any, feature_extractor: Any) -> None:
    self.head = nn.Linear(feature_extractor.feature_size, 2)


def a_name_that_a_loop_binds_again(self: Any, dim: Any, dims: Any) -> None:
    assert len(dims) == dim * 2
    assert all(dim % 4 == 0 for dim in dims)
    self.linear = nn.Linear(dim, len(dims))


def a_number_of_any_class(self: Any, scale: Any) -> None:
    self.is_number = scale in (float, int) or scale == torch.Tensor
    self.scale = scale * 2


def a_layer_of_several(self: Any, backbone: Any) -> None:
    self.head = nn.Linear(backbone().classifier[-1].in_features, 2)


class Proxied:
    """An object of which nothing can be read outside of a context."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        raise RuntimeError("outside of a context")

    def get(self, name: Any) -> int:
        return 8


def an_object_that_can_not_be_read(self: Any, kind: Any, depth: Any) -> None:
    self.width = Proxied().get(kind)
    if depth != 3:
        raise ValueError(depth)


def two_vocabularies(self: Any, words: Any, tags: Any) -> None:
    self.emission = nn.Linear(8, len(tags))
    self.embedding = nn.Embedding(len(words), 8, padding_idx=words["<pad>"] % 8)
    self.start = tags["<start>"]


@pytest.mark.parametrize(
    ("constructor", "shown"),
    [
        (lists_of_one_length, "M(dim_in=[64, 64, 64, 64], dim_out=[64, 64, 64, 64], kernel=[3, 3, 3, 3])"),
        (a_count_of_lists, "M(num_of_layers=2, heads=[4, 4], features=[64, 64, 64])"),
        (a_shape, "M(num_continuous=2, mean_std=torch.ones((2, 2)))"),
        (alike_shapes, "M(low=torch.ones((3,)), high=torch.ones((3,)))"),
        (a_rank, "M(weights=torch.ones((64, 64)))"),
        (a_mask, "M(adj=torch.ones((64, 64)))"),
        (one_of_two_classes, "M(conv_op=Conv3d)"),
        (the_same_class, "M(conv_op=Conv3d)"),
        (a_subclass, "M(block=Conv2d)"),
        (the_name_of_a_class, "M(space=…)"),
        (a_string, "M(arch='')"),
        (the_last_layer_of_an_encoder, "M(base_encoder=…, dim=64)"),
        (counts_without_names, "M(N=2, X=2, R=2)"),
        (a_width_of_an_extractor, "M(feature_extractor=…)"),
        (two_vocabularies, "M(words=…, tags=…)"),
        (a_name_that_a_loop_binds_again, "M(dim=2, dims=[64, 64, 64, 64])"),
        (a_number_of_any_class, "M(scale=2)"),
        (a_layer_of_several, "M(backbone=…)"),
        (an_object_that_can_not_be_read, "M(kind=64, depth=3)"),
    ],
)
def test_checks_show_what_is_wanted(constructor: Callable[..., None], shown: str) -> None:
    assert made(constructor) == shown


class Registry:
    """As in mmcv."""

    def __init__(self) -> None:
        self.name = "blocks"
        self.classes: dict[str, type] = {}

    def get(self, name: str) -> Any:
        return self.classes.get(name)


class Block(nn.Linear):
    def __init__(self, depth: Any, width: Any) -> None:
        super().__init__(depth, width)


REGISTRY = Registry()
REGISTRY.classes["Block"] = Block


def test_a_class_is_found_in_a_registry_and_gets_its_arguments() -> None:
    def constructor(self: Any, backbone: Any) -> None:
        given = backbone.copy()
        kind = given.pop("type")
        cls = REGISTRY.get(kind)
        if cls is None:
            raise KeyError(f"{kind} is not in the {REGISTRY.name} registry")
        self.backbone = cls(**given)

    assert made(constructor) == "M(backbone=…)"


def test_what_only_bounds_are_read_of_is_a_slice_where_an_operation_receives_it() -> None:
    def constructor(self: Any, parts: Any) -> None:
        self.parts = parts
        self.heads = nn.ModuleDict({name: nn.Linear(one.stop - one.start, 8) for name, one in parts.items()})

    def forward(self: Any, x: Any) -> Any:
        return [self.heads[name](x[:, one]) for name, one in self.parts.items()]

    assert made(constructor, forward) == "M(parts=…)"


def test_settings_that_an_operation_receives_are_no_slice() -> None:
    def constructor(self: Any, config: Any) -> None:
        self.mode, self.config = config.step, config
        self.linear = nn.Linear(8, 8)

    def forward(self: Any, x: Any) -> Any:
        return torch.add(self.linear(x), self.config)

    assert made(constructor, forward) == "M(config=…)"


@pytest.mark.parametrize("rank", [9, 2**31])
def test_no_tensor_is_made_that_needs_much_memory(rank: int) -> None:
    def constructor(self: Any, table: Any) -> None:
        if table.dim() != rank:
            raise ValueError(rank)

    with pytest.raises(CannotInvent):
        made(constructor)


def test_a_check_that_nothing_passes_ends_the_search() -> None:
    def constructor(self: Any, first: Any, second: Any) -> None:
        assert len(first) + len(second) == -1

    with pytest.raises(CannotInvent):
        made(constructor)
