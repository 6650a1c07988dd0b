"""What is changed about invented arguments after the program has raised an error."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
import pytest
import torch
from torch import nn

from fx_lsp.agent.building.build import own_error
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.inventing.argument_synthesis import CannotInvent, InventedRoot, invent_arguments
from fx_lsp.agent.inventing.invented_values import LARGE, InventedModule
from fx_lsp.agent.tracing.doubtful_failures import condition_of


def invented(cls: type) -> InventedRoot:
    """An instance of the class with invented arguments."""
    tracer = tracer_for(None, (InventedModule,))
    return invent_arguments(cls, globals(), partial(own_error, tracer, None), on_meta=True)


class Narrow(nn.Module):
    """A layer that needs more than a width."""

    def __init__(self, width: int, *, kernel: int) -> None:
        super().__init__()
        self.width = width
        self.conv = nn.Conv1d(width, width, kernel)


class Wide(nn.Module):
    """A layer that needs only a width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.linear = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        return self.linear(x)


LAYERS: dict[str, Callable[..., nn.Module]] = {"a_narrow": Narrow, "b_wide": Wide}


def layer_of(choice: Any, width: int) -> Any:
    """The layer that a configuration chooses; None if there is no configuration."""
    if choice is None:
        return None
    return LAYERS[choice](width)


class TestWhatAProgramKnowsByName:
    def test_another_name_is_tried_if_the_first_leads_nowhere(self) -> None:
        class Net(nn.Module):
            def __init__(self, layer: Any) -> None:
                super().__init__()
                self.layer = layer_of(layer, 8)

            def forward(self, x: Any) -> Any:
                return self.layer(x)

        assert isinstance(invented(Net).root.layer, Wide)

    def test_an_option_that_is_none_is_given_although_that_ends_in_an_earlier_error(self) -> None:
        class Net(nn.Module):
            def __init__(self, width: int, layer: Any = None) -> None:
                super().__init__()
                self.layer = layer_of(layer, width)
                self.head = nn.Linear(self.layer.width, 2)

            def forward(self, x: Any) -> Any:
                return self.head(self.layer(x))

        assert isinstance(invented(Net).root.layer, Wide)


class TestLists:
    def test_an_index_that_is_out_of_range_becomes_0_in_all_items(self) -> None:
        class Pyramid(nn.Module):
            def __init__(self, levels: Any, nodes: Any) -> None:
                super().__init__()
                self.layers = nn.ModuleList(
                    nn.Linear(levels[origin], node["width"]) for node in nodes for origin in node["sources"]
                )

            def forward(self, x: Any) -> Any:
                return [layer(x) for layer in self.layers]

        assert len(invented(Pyramid).root.layers) > 1

    def test_the_items_of_a_list_are_alike(self) -> None:
        class Stages(nn.Module):
            def __init__(self, stages: Any) -> None:
                super().__init__()
                for stage in stages:
                    assert stage["width"] % 3 == 0
                self.count = len(stages)

            def forward(self, x: Any) -> Any:
                return x

        assert invented(Stages).root.count > 1

    def test_all_items_have_to_pass_the_same_check(self) -> None:
        class Net(nn.Module):
            def __init__(self, widths: Any) -> None:
                super().__init__()
                self.norms = nn.ModuleList()
                for at in range(2):
                    self.norms.append(nn.GroupNorm(7, widths[at]))

            def forward(self, x: Any) -> Any:
                return [norm(x) for norm in self.norms]

        assert all(norm.num_channels % 7 == 0 for norm in invented(Net).root.norms)

    def test_all_items_are_keys_of_the_same_table(self) -> None:
        class Net(nn.Module):
            def __init__(self, losses: Any) -> None:
                super().__init__()
                self.losses = losses

            def forward(self, x: Any) -> Any:
                known = {"l1": x.abs, "squared": x.square}
                for loss in self.losses:
                    assert loss in known, f"there is no loss {loss}"
                return [known[loss]() for loss in self.losses]

        assert set(invented(Net).root.losses) == {"l1"}


class TestObjects:
    def test_settings_that_are_changed_before_they_are_read(self) -> None:
        class Net(nn.Module):
            def __init__(self, layer: Any) -> None:
                super().__init__()
                layer["dropout"] = 0.0
                self.linear = nn.Linear(layer["width"], 4)

            def forward(self, x: Any) -> Any:
                return self.linear(x)

        assert invented(Net).root.linear.out_features == 4

    def test_a_module_has_settings_that_have_to_agree(self) -> None:
        class Wrapper(nn.Module):
            def __init__(self, model: Any) -> None:
                super().__init__()
                self.model = model
                sizes = model.config.image_size
                assert isinstance(sizes, (list, tuple))
                assert len(sizes) == 2
                self.head = nn.Linear(model.config.width, model.config.width // model.config.heads)

            def forward(self, x: Any) -> Any:
                return self.head(self.model(x))

        assert isinstance(invented(Wrapper).root.model, InventedModule)

    def test_a_module_loses_its_head(self) -> None:
        class Features(nn.Module):
            def __init__(self, backbone: nn.Module) -> None:
                super().__init__()
                self.backbone = backbone
                if hasattr(self.backbone, "fc"):
                    del self.backbone.fc

            def forward(self, x: Any) -> Any:
                return self.backbone(x)

        assert isinstance(invented(Features).root.backbone, InventedModule)

    def test_a_class_that_the_program_only_keeps_for_later(self) -> None:
        class Net(nn.Module):
            def __init__(self, norm: Any) -> None:
                super().__init__()
                self.norm = partial(norm, eps=1e-3)(8)

            def forward(self, x: Any) -> Any:
                return self.norm(x)

        assert isinstance(invented(Net).root.norm, nn.LayerNorm)


class TestNames:
    def test_a_device_has_a_type(self) -> None:
        class Net(nn.Module):
            def __init__(self, device: Any, other: torch.device) -> None:
                super().__init__()
                assert device.type == other.type == "cpu"
                self.linear = nn.Linear(4, 4, device=device)

            def forward(self, x: Any) -> Any:
                return self.linear(x)

        assert invented(Net).shown == "Net(device='cpu', other=device(…))"

    def test_a_number_that_is_also_compared_with_a_string(self) -> None:
        class Net(nn.Module):
            def __init__(self, dropout: Any) -> None:
                super().__init__()
                self.is_fixed = dropout == "fixed"
                self.dropout = nn.Dropout(dropout)

            def forward(self, x: Any) -> Any:
                return self.dropout(x)

        assert invented(Net).root.dropout.p == 0.0


class TestKeywords:
    def test_a_keyword_that_a_check_asks_for(self) -> None:
        class Net(nn.Module):
            def __init__(self, layer: Any, *args: Any, **kwargs: Any) -> None:
                super().__init__()
                assert "stride" in kwargs.keys()  # noqa: SIM118 (as programs have it)
                self.stride = kwargs.pop("stride")
                self.layer = layer(*args, **kwargs)

            def forward(self, x: Any) -> Any:
                return self.layer(x) * self.stride

        assert invented(Net).root.stride > 0

    def test_a_text_that_is_compared_in_lower_case(self) -> None:
        class Net(nn.Module):
            def __init__(self, encoder_type: str) -> None:
                super().__init__()
                if encoder_type.lower() != "gated_conv":
                    raise ValueError("unknown type")
                self.linear = nn.Linear(4, 4)

            def forward(self, x: Any) -> Any:
                return self.linear(x)

        assert invented(Net).shown == "Net(encoder_type='gated_conv')"

    def test_a_default_that_the_program_does_not_accept(self) -> None:
        class Net(nn.Module):
            def __init__(self, depth: int, drop_path: Any = 0.0) -> None:
                super().__init__()
                self.layers = nn.ModuleList(nn.Dropout(drop_path[at]) for at in range(2))

            def forward(self, x: Any) -> Any:
                for layer in self.layers:
                    x = layer(x)
                return x

        assert len(invented(Net).root.layers) == 2


class TestClasses:
    def test_what_is_called_for_a_module_is_a_class(self) -> None:
        class Net(nn.Module):
            def __init__(self, width: int, activation: nn.Module) -> None:
                super().__init__()
                self.linear = nn.Linear(width, width)
                self.activation = activation()

            def forward(self, x: Any) -> Any:
                return self.activation(self.linear(x))

        assert isinstance(invented(Net).root.activation, nn.Module)


@dataclasses.dataclass
class ShapeSpec:
    channels: Any = None
    stride: Any = None


class TestMappings:
    def test_objects_by_name(self) -> None:
        class Net(nn.Module):
            def __init__(self, input_shape: dict[str, ShapeSpec], width: int) -> None:
                super().__init__()
                shapes = sorted(input_shape.items(), key=lambda item: item[1].stride)
                if not shapes:
                    raise ValueError("input_shape cannot be empty")
                channels = [shape.channels for _, shape in shapes]
                self.layers = nn.ModuleDict(
                    {name: nn.Conv2d(c, width, 1) for (name, _), c in zip(shapes, channels, strict=True)}
                )

            def forward(self, features: dict[str, Any]) -> Any:
                return sum(layer(features[name]) for name, layer in self.layers.items())

        assert len(invented(Net).root.layers) == 2

    def test_a_list_of_objects(self) -> None:
        class Net(nn.Module):
            def __init__(self, input_shape: list[ShapeSpec]) -> None:
                super().__init__()
                (channels,) = {shape.channels for shape in input_shape}
                self.conv = nn.Conv2d(channels, 4, 1)

            def forward(self, x: Any) -> Any:
                return self.conv(x)

        assert invented(Net).root.conv.in_channels > 0


class TestFlags:
    def test_a_branch_that_needs_what_is_missing_is_left(self) -> None:
        def require_fairscale() -> None:
            raise ImportError("Please install fairscale.")

        class Net(nn.Module):
            def __init__(self, cfg: Any) -> None:
                super().__init__()
                self.linear = nn.Linear(cfg.dim, cfg.dim)
                if cfg.checkpoint_activations and cfg.dim:
                    require_fairscale()

            def forward(self, x: Any) -> Any:
                return self.linear(x)

        assert invented(Net).root.linear.in_features > 0

    def test_a_comparison_is_no_flag(self) -> None:
        class Net(nn.Module):
            def __init__(self, depth: int) -> None:
                super().__init__()
                if depth > 0:
                    self.layer = Wide()  # type: ignore[call-arg]

            def forward(self, x: Any) -> Any:
                return x

        with pytest.raises(CannotInvent):
            invented(Net)


class TestWeights:
    def test_large_ones_are_filled_only_in_what_is_traced(self) -> None:
        filled = []

        class Net(nn.Module):
            def __init__(self, width: int) -> None:
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(LARGE))
                nn.init.normal_(self.weight)
                filled.append(bool(self.weight.any()))
                self.linear = nn.Linear(width, width)

            def forward(self, x: Any) -> Any:
                return self.linear(x)

        tracer = tracer_for(None, (InventedModule,))
        root = invent_arguments(Net, globals(), partial(own_error, tracer, None), on_meta=False).root
        assert filled == [False, True]
        assert root.weight.any()


class Head(nn.Module):
    """What most heads of a toolbox share."""

    def __init__(
        self, in_channels: Any, channels: int, *, num_classes: int, in_index: Any = -1, select: str | None = None
    ) -> None:
        super().__init__()
        if select is not None:
            assert isinstance(in_channels, list | tuple)
            assert isinstance(in_index, (list, tuple))
            assert len(in_channels) == len(in_index)
            in_channels = sum(in_channels)
        self.select = select
        self.layer = nn.Linear(in_channels, channels)
        self.classes = nn.Linear(channels, num_classes)

    def forward(self, x: Any) -> Any:
        return self.classes(self.layer(x))


class PlainHead(Head):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)


class ListHead(Head):
    def __init__(self, width: int, **kwargs: Any) -> None:
        super().__init__(select="all", **kwargs)
        self.width = width


class ParticularHead(Head):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if self.select != "all":
            raise ValueError("this head needs select='all'")


def test_what_a_base_requires_by_keyword_is_given_together_with_the_rest() -> None:
    assert invented(PlainHead).shown == "PlainHead(in_channels=64, channels=64, num_classes=10)"


def test_a_check_may_want_a_list_in_place_of_a_default() -> None:
    shown = invented(ListHead).shown
    sizes = "in_channels=[64, 64, 64, 64], channels=64, num_classes=10, in_index=[0, 0, 0, 0]"
    assert shown == f"ListHead(width=64, {sizes})"


def test_an_option_that_a_class_insists_on_may_lead_to_an_earlier_error_first() -> None:
    shown = invented(ParticularHead).shown
    assert "select='all'" in shown
    assert "in_index=[" in shown


class Windows(nn.Module):
    def __init__(self, width: int, window: Any = 7) -> None:
        super().__init__()
        assert isinstance(window, tuple)
        self.layer = nn.Linear(width, len(window))

    def forward(self, x: Any) -> Any:
        return self.layer(x)


def test_a_check_may_want_a_tuple() -> None:
    assert invented(Windows).shown.startswith("Windows(width=64, window=(")


class Grouped(nn.Module):
    def __init__(self, channels: int, group: int) -> None:
        super().__init__()
        if channels % group != 0:
            raise ValueError(f"channels must be divisible by group, but got {channels} and {group}")
        self.conv = nn.Conv2d(channels, channels, 1, groups=group)


class Stages(nn.Module):
    """Its defaults do not suit one another."""

    def __init__(self, kernel: int, channels: int = 64, groups: Any = (3, 6)) -> None:
        super().__init__()
        self.stages = nn.Sequential(*(Grouped(channels * 2**at, group) for at, group in enumerate(groups)))

    def forward(self, x: Any) -> Any:
        return self.stages(x)


def test_a_check_may_want_another_number_than_the_default_of_that_name() -> None:
    assert invented(Stages).shown == "Stages(kernel=3, channels=3)"


class Attributes(dict[str, Any]):
    """Settings whose names are read as attributes, as many programs define them."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"no {name} here")


class Copies(nn.Module):
    """Copies its settings before it reads them."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        settings = Attributes({name.lower(): value for name, value in config.STEM.items()})
        self.layer = nn.Linear(settings.width, Attributes(config.HEAD.items()).classes)


def test_a_name_that_a_copy_of_the_settings_lacks() -> None:
    assert isinstance(invented(Copies).root, Copies)


class Clusters(nn.Module):
    """Copies a list whose items must increase up to one that another argument limits."""

    def __init__(self, classes: int, cutoffs: Any) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if cutoffs != sorted(set(cutoffs)) or min(cutoffs) <= 0 or max(cutoffs) >= classes - 1:
            raise ValueError("these are no cutoffs")
        cutoffs.append(classes)
        self.layer = nn.Linear(len(cutoffs), classes)

    def forward(self, x: Any) -> Any:
        return self.layer(x)


def test_a_check_may_want_a_list_whose_items_increase() -> None:
    assert invented(Clusters).shown == "Clusters(classes=10, cutoffs=[1, 2, 3, 4])"


class Lengths(nn.Module):
    """Its defaults can't be used, and one of them alone gets it no further."""

    def __init__(self, width: int, query: Any = None, memory: Any = None) -> None:
        super().__init__()
        self.layer = nn.Linear(width, query + memory)

    def forward(self, x: Any) -> Any:
        return self.layer(x)


def test_options_that_are_none_are_given_together() -> None:
    assert invented(Lengths).shown == "Lengths(width=64, query=64, memory=64)"


class Padded(nn.Module):
    """Accepts lists of Python's own type, and no others."""

    def __init__(self, width: int, sizes: Any, kernel: Any = 3) -> None:
        super().__init__()
        if type(kernel) not in (list, tuple):
            kernel = int(kernel)
        if type(width) is self.unwanted() or type(sizes) is not list:
            raise TypeError("these are no sizes")
        self.layer = nn.Conv1d(width, sizes[0], kernel[0])

    def unwanted(self) -> type:
        """What must not be called by anybody else."""
        if hasattr(self, "was_asked"):
            raise SystemExit
        self.was_asked = True
        return dict

    def forward(self, x: Any) -> Any:
        return self.layer(x)


def test_values_of_an_exact_type() -> None:
    assert invented(Padded).shown == "Padded(width=64, sizes=[32, 32, 32, 32], kernel=[3, 3])"


class Wrapping(nn.Module):
    """Calls the parts of another model, of which it first reads a size."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.head = nn.Linear(model.encoder.width, 2)

    def forward(self, x: Any) -> Any:
        return self.head(self.model.encoder(self.model.stem(x)))


def test_an_object_whose_parts_are_called_is_a_module() -> None:
    root = invented(Wrapping).root
    assert [name for name, _ in root.named_modules()] == ["", "model", "model.encoder", "model.stem", "head"]
    assert condition_of(root) == ""


class Activated(nn.Module):
    """Calls a part of its settings."""

    def __init__(self, cfg: Any) -> None:
        super().__init__()
        self.cfg = cfg
        self.head = nn.Linear(cfg.width, 2)

    def forward(self, x: Any) -> Any:
        return self.cfg.act(self.head(x))


def test_settings_whose_parts_are_called_are_a_module_on_a_condition() -> None:
    condition = "if what it calls of `cfg` is a function or a registered module"
    assert condition_of(invented(Activated).root) == condition


class Choosing(nn.Module):
    """Calls a part of its settings, and reads one that means something else in a module."""

    def __init__(self, settings: Any) -> None:
        super().__init__()
        self.settings = settings
        self.head = nn.Linear(settings.width, 2)

    def forward(self, x: Any) -> Any:
        x = self.head(self.settings.stem(x))
        return x.half() if self.settings.half else x


def test_settings_named_like_attributes_of_modules_belong_to_no_module() -> None:
    assert [name for name, _ in invented(Choosing).root.named_modules()] == ["", "head"]


@dataclasses.dataclass
class Sizes:
    """Settings that OmegaConf would check."""

    width: int = "???"  # type: ignore[assignment]
    depth: int = 2


class Configured(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.layer = nn.Linear(sizes.width, sizes.depth)

    def forward(self, x: Any) -> Any:
        return self.layer(x)


def test_a_mandatory_setting_gets_a_value() -> None:
    assert invented(Configured).root.layer.in_features == 64


class Pairs(nn.Module):
    """Combines each item of one list with each of another."""

    def __init__(self, inner: Any, outer: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a + b, c + d) for (a, b) in inner.sizes for (c, d) in outer.sizes)

    def forward(self, x: Any) -> Any:
        return [layer(x) for layer in self.layers]


def test_a_loop_in_a_loop_may_want_items_of_another_length_in_both_lists() -> None:
    assert len(invented(Pairs).root.layers) == 16


class OfDictionary(nn.Module):
    """A module that takes its settings only from a dictionary."""

    def __init__(self, head: Any) -> None:
        super().__init__()
        if not isinstance(head, dict):
            raise TypeError(f"a dictionary is expected, not {type(head)}")
        options = head.copy()
        options.setdefault("bias", False)
        options.update(device="meta")
        self.kind = options.pop("type")
        self.linear = nn.Linear(options["width"], len(options), bias=options["bias"], device=options["device"])

    def forward(self, x: Any) -> Any:
        return self.linear(x)


def test_settings_that_have_to_be_a_dictionary() -> None:
    root = invented(OfDictionary).root
    assert (root.linear.in_features > 1, root.linear.bias, root.linear.weight.device.type) == (True, None, "meta")


@pytest.mark.parametrize("name", ["math.no_such_name", "numpy.int"])
def test_few_changes_are_tried_for_a_name_that_a_python_module_lacks(name: str) -> None:
    widths = []

    class Net(nn.Module):
        def __init__(self, width: Any, depth: Any) -> None:
            super().__init__()
            widths.append(width)
            self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
            self.dtype = eval(name, {"math": math, "numpy": numpy})

    with pytest.raises(CannotInvent):
        invented(Net)
    assert len(widths) == 1


class OfMode(nn.Module):
    def __init__(self, mode: Any) -> None:
        super().__init__()
        if mode not in ("old", "new"):
            raise ValueError(mode)
        if mode == "old":
            self.scale = numpy.float(2)  # type: ignore[attr-defined]


class OfDepth(nn.Module):
    def __init__(self, depth: Any) -> None:
        super().__init__()
        if depth != 1:
            self.scale = numpy.float(2)  # type: ignore[attr-defined]


class OfActivation(nn.Module):
    def __init__(self, kind: Any = "swish", activation: Any = None) -> None:
        super().__init__()
        self.activation = activation or getattr(torch, kind)


@pytest.mark.parametrize("cls", [OfMode, OfDepth, OfActivation])
def test_arguments_lead_around_a_name_that_a_python_module_lacks(cls: type[nn.Module]) -> None:
    assert isinstance(invented(cls).root, cls)
