"""The arguments that fx-lsp invents for a class: use decides what they are like, then annotations and names."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import importlib
import os
import types
import typing
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import nn

from fx_lsp.agent.building.build import own_error
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.inventing import argument_synthesis
from fx_lsp.agent.inventing.argument_kinds import number_for
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan
from fx_lsp.agent.inventing.argument_synthesis import CannotInvent, invent_arguments
from fx_lsp.agent.inventing.invented_values import InventedModule, InventedSettings, Probe
from fx_lsp.agent.inventing.plan_memory import PlanMemory
from fx_lsp.agent.inventing.written_settings import WrittenSettings
from fx_lsp.agent.missing.named_files import configuration_files


def made(cls: type) -> str:
    """The call that is found to build the class."""
    tracer = tracer_for(None, (InventedModule,))
    return invent_arguments(cls, globals(), partial(own_error, tracer, None), on_meta=True).shown


def module(constructor: Callable[..., None], forward: Callable[..., Any] | None = None) -> type:
    """A module's class with this constructor."""

    def init(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        nn.Module.__init__(self)
        constructor(self, *args, **kwargs)

    init.__wrapped__ = constructor  # type: ignore[attr-defined]
    return type("M", (nn.Module,), {"__init__": init, "forward": forward or (lambda self, x: x)})


class TestByAnnotation:
    class Mode(enum.Enum):
        FAST = 1
        SLOW = 2

    @dataclasses.dataclass
    class Sizes:
        width: int
        depth: int = 3

    @pytest.mark.parametrize(
        ("annotation", "shown"),
        [
            (int, "64"),
            (bool, "False"),
            (str, "''"),
            (float, "64.0"),
            (Any, "64"),
            (int | None, "64"),
            (Literal["sum", "mean"], "'sum'"),
            (Mode, "Mode(…)"),
            (list[int], "[64, 64, 64, 64]"),
            (tuple[int, bool], "(64, False)"),
            (Sequence[str], "['', '', '', '']"),
            (Callable[..., nn.Module], "…"),
            (type[nn.Module], "…"),
            (nn.Module, "…"),
            (torch.Tensor, "torch.ones((64,))"),
            (Sizes, "Sizes(…)"),
            ("int", "64"),
            ("nowhere.Known", "64"),
        ],
    )
    def test_a_parameter_is_what_it_is_annotated_with(self, annotation: Any, shown: str) -> None:
        def constructor(self: Any, thing: Any) -> None: ...

        constructor.__annotations__ = {"thing": annotation}
        assert made(module(constructor)) == f"M(thing={shown})"


class TestByName:
    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("dim", "64"),
            ("in_channels", "64"),
            ("num_heads", "4"),
            ("head_dim", "16"),
            ("dropout", "0.0"),
            ("eps", "1e-05"),
            ("timesteps", "16"),
            ("num_chs", "64"),
            ("kernel_size", "3"),
            ("pool_size", "4"),
            ("stride", "1"),
            ("use_bias", "False"),
            ("activation", "'relu'"),
            ("num_classes", "10"),
            ("num_atom_type", "2"),
            ("config", "…"),
            ("device", "'cpu'"),
        ],
    )
    def test_a_parameter_is_what_its_name_says(self, name: str, shown: str) -> None:
        namespace: dict[str, Any] = {}
        exec(f"def constructor(self, {name}): ...", namespace)
        assert made(module(namespace["constructor"])) == f"M({name}={shown})"


class Residual(nn.Module):
    def __init__(self, layer: int, d_input: int, d_model: int, alpha: float = 1.0) -> None:
        super().__init__()
        self.layer, self.alpha = layer, alpha
        self.project = nn.Linear(d_input, d_model)

    def forward(self, x: Any) -> Any:
        return self.project(x) * self.alpha


class Decaying(Residual):
    def __init__(self, *args: Any, power: float = 0.5) -> None:
        super().__init__(*args)
        self.alpha = self.layer**-power


class Named(Residual):
    def __init__(self, name: str, *args: Any) -> None:
        super().__init__(*args)
        self.name = name


class TestPassedOn:
    """Arguments that a constructor only passes on to that of its base class."""

    def test_positional_ones_are_those_that_the_base_class_requires(self) -> None:
        assert made(Decaying) == "Decaying(64, 64, 64)"

    def test_they_come_after_the_own_ones(self) -> None:
        assert made(Named) == "Named('', 64, 64, 64)"


class TestUnpackedSettings:
    def test_settings_have_what_the_constructor_that_they_are_unpacked_for_requires(self) -> None:
        def constructor(self: Any, config: Any) -> None:
            self.residual = Residual(**config.residual)
            self.width = config.residual["d_model"]

        assert made(module(constructor, lambda self, x: self.residual(x))) == "M(config=…)"


class TestByUse:
    """Use goes before names."""

    def test_what_is_called_in_the_constructor_makes_modules(self) -> None:
        def constructor(self: Any, attn: Any, norm_layer: Any, act_layer: Any) -> None:
            self.parts = nn.Sequential(attn(3, heads=2), norm_layer(8), act_layer(inplace=True))

        assert made(module(constructor)) == "M(attn=…, norm_layer=LayerNorm, act_layer=ReLU)"

    def test_what_is_called_in_forward_is_a_module(self) -> None:
        def constructor(self: Any, fn: Any) -> None:
            self.fn = fn

        assert made(module(constructor, lambda self, x: self.fn(x) + 1)) == "M(fn=…)"

    def test_what_is_asked_for_its_parameters_is_a_module(self) -> None:
        def constructor(self: Any, net: Any) -> None:
            self.device = next(net.parameters()).device

        assert made(module(constructor)) == "M(net=…)"

    def test_what_has_to_be_a_tuple_is_one(self) -> None:
        def constructor(self: Any, depth: Any) -> None:
            assert isinstance(depth, tuple)

        assert made(module(constructor)) == "M(depth=(2, 2))"

    def test_what_is_put_among_modules_is_one(self) -> None:
        def constructor(self: Any, head: Any) -> None:
            self.all = nn.ModuleList([nn.Linear(2, 2), head])

        assert made(module(constructor)) == "M(head=…)"

    def test_what_is_iterated_is_a_list_as_long_as_it_is_unpacked(self) -> None:
        def constructor(self: Any, width: Any, pair: Any) -> None:
            self.layers = nn.ModuleList([nn.Linear(one, one) for one in width])
            self.first, self.second, self.third = pair

        assert made(module(constructor)) == "M(width=[64, 64, 64, 64], pair=[64, 64, 64])"

    def test_what_is_compared_with_a_text_is_that_text(self) -> None:
        def constructor(self: Any, kind: Any, mode: Any) -> None:
            if kind == "layer":
                self.norm = nn.LayerNorm(3)
            if mode not in ("sum", "mean"):
                raise ValueError(mode)

        assert made(module(constructor)) == "M(kind='layer', mode='sum')"

    def test_what_has_attributes_and_items_is_a_settings_object(self) -> None:
        def constructor(self: Any, given: Any) -> None:
            self.layer = nn.Linear(given.model.width, given["classes"])
            self.blocks = nn.ModuleList(nn.Linear(2, 2) for _ in range(given.depth))

        assert made(module(constructor)) == "M(given=…)"

    def test_a_number_that_does_not_fit_is_changed(self) -> None:
        def constructor(self: Any, ratio: Any, dim: Any) -> None:
            assert 0 < ratio < 1
            assert dim % 256 == 0

        assert made(module(constructor)) == "M(ratio=0.5, dim=256)"

    def test_what_may_be_left_out_is_given_where_it_may_not(self) -> None:
        def constructor(self: Any, dim: Any, image_size: Any = None, other: Any = None) -> None:
            assert image_size is not None

        assert made(module(constructor)) == "M(dim=64, image_size=32)"

    def test_a_base_asks_for_more(self) -> None:
        class Base(nn.Module):
            def __init__(self, width: int) -> None:
                super().__init__()
                self.layer = nn.Linear(width, width)

        class Derived(Base):
            def __init__(self, depth: int, **more: Any) -> None:
                super().__init__(**more)

            def forward(self, x: Any) -> Any:
                return self.layer(x)

        assert made(Derived) == "Derived(depth=2, width=64)"

    def test_what_is_asked_to_start_with_a_text_does(self) -> None:
        def constructor(self: Any, model_name: str) -> None:
            assert model_name.startswith("resnet")

        assert made(module(constructor)) == "M(model_name='resnet')"

    def test_what_does_something_is_not_done_to_learn_from_it(self) -> None:
        built, taken = [], []

        def modes() -> set[str]:
            taken.append(1)
            return {"sum"}

        def constructor(self: Any, mode: str) -> None:
            built.append(1)
            assert mode in modes()

        with contextlib.suppress(CannotInvent):
            made(module(constructor))
        assert len(taken) == len(built)

    def test_any_text_starts_with_an_empty_one(self) -> None:
        def constructor(self: Any, model_name: str, name_prefix: str) -> None:
            assert model_name.startswith(name_prefix)

        assert made(module(constructor)) == "M(model_name='', name_prefix='')"

    def test_what_a_base_takes_is_given_where_an_error_names_it(self) -> None:
        class Base(nn.Module):
            def __init__(self, width: int, depth: int = 0) -> None:
                super().__init__()
                assert depth > 0, "the depth must be given"

        class Derived(Base):
            def __init__(self, **more: Any) -> None:
                super().__init__(**more)

            def forward(self, x: Any) -> Any:
                return x

        assert made(Derived) == "Derived(width=64, depth=2)"

    def test_what_a_base_may_do_without_is_given_where_the_class_may_not(self) -> None:
        class Base(nn.Module):
            def __init__(self, width: int = 0, rate: Any = None, l_max: Any = None) -> None:
                super().__init__()
                assert width > 0
                self.length = l_max

        class Derived(Base):
            def __init__(self, **more: Any) -> None:
                super().__init__(**more)
                assert self.length is not None

            def forward(self, x: Any) -> Any:
                return x

        assert made(Derived) == "Derived(width=64, l_max=64)"

    def test_keywords_have_the_prefixes_that_are_taken_off_them(self) -> None:
        def constructor(self: Any, **more: Any) -> None:
            self.encoder = _layer_of(ENCODER, more)
            self.decoder = _layer_of(DECODER, more)

        assert made(module(constructor)) == "M(enc_width=64, dec_width=64)"

    def test_a_tensor_is_made_of_a_list_of_numbers(self) -> None:
        def constructor(self: Any, levels: Any) -> None:
            self.register_buffer("levels", torch.tensor(levels))
            self.count = len(levels)

        assert made(module(constructor)) == "M(levels=[2, 2, 2, 2])"

    def test_all_items_of_a_list_are_unpacked_alike(self) -> None:
        def constructor(self: Any, blocks: Any) -> None:
            self.blocks = [(first, second) for first, second in blocks]

        assert made(module(constructor)) == "M(blocks=[[2, 2], [2, 2], [2, 2], [2, 2]])"


ZEROS = torch.zeros(3)
ENCODER = "enc_"
DECODER = "dec_"


def _layer_of(prefix: str, keywords: dict[str, Any]) -> nn.Module:
    def make(width: int) -> nn.Module:
        return nn.Linear(width, width)

    return make(**{name.removeprefix(prefix): value for name, value in keywords.items() if name.startswith(prefix)})


class TestByTheError:
    @pytest.mark.parametrize("known", [{"tiny": 1, "small": 2}, {"tiny", "small"}, ["small", "tiny"]])
    def test_a_text_is_one_of_those_that_it_is_looked_up_in(self, known: Any) -> None:
        def constructor(self: Any, name: str) -> None:
            if isinstance(known, dict):
                self.size = known[name]
            else:
                assert name in known

        assert made(module(constructor)) in ("M(name='small')", "M(name='tiny')")

    def test_to_look_for_what_it_may_be_looked_up_in_misuses_nothing(self) -> None:
        def constructor(self: Any, name: str, size: Any) -> None:
            if str(name) != "small":
                raise ValueError("use 'small'")
            self.size = "x" if size in ("small", "tiny") else 2 if name in size else size

        assert made(module(constructor)) == "M(name='small', size='small')"

    def test_an_object_that_is_asked_for_gets_what_it_needs(self) -> None:
        class Inner(nn.Module):
            def __init__(self, **more: Any) -> None:
                super().__init__()
                self.layer = nn.Linear(**more)

        def constructor(self: Any, outer: Any) -> None:
            assert isinstance(outer.inner, Inner)

        assert made(module(constructor)) == "M(outer=…)"

    @pytest.mark.parametrize(("asks", "off"), [(True, "False"), ("imagenet", "None")])
    def test_weights_that_can_t_be_had_are_not_asked_for(self, asks: Any, off: str) -> None:
        def constructor(self: Any, classes: int, mode: str = "fast", encoder_weights: Any = asks) -> None:
            if encoder_weights:
                raise FileNotFoundError("weights")

        assert made(module(constructor)) == f"M(classes=10, encoder_weights={off})"

    def test_a_tensor_for_a_default_is_no_switch(self) -> None:
        def constructor(self: Any, width: int, mean: Any = ZEROS) -> None:
            if width != 1:
                raise ValueError("the width must be 1")

        assert made(module(constructor)) == "M(width=1)"

    def test_a_class_may_name_a_module_that_there_is_not(self) -> None:
        def constructor(self: Any, **sizes: Any) -> None:
            nn.Linear(**sizes)

        cls = module(constructor)
        cls.__module__ = "nowhere"
        assert made(cls) == "M(in_features=64, out_features=64)"

    def test_what_is_asked_to_be_of_a_class_is_of_it(self) -> None:
        class Inner(nn.Module):
            def __init__(self, width: int) -> None:
                super().__init__()
                self.layer = nn.Linear(width, width)

        def constructor(self: Any, net: Any) -> None:
            assert isinstance(net, (Inner, nn.LSTM)), "only these"

        assert made(module(constructor)) == "M(net=Inner())"

    def test_numbers_of_one_list_are_changed_together(self) -> None:
        def constructor(self: Any, levels: list[int]) -> None:
            assert all(level == 8 for level in levels)

        assert made(module(constructor)) == "M(levels=[8, 8, 8, 8])"

    def test_a_list_has_as_many_items_as_the_error_says(self) -> None:
        def constructor(self: Any, depths: list[int]) -> None:
            if len(depths) != 7:
                raise ValueError("depths must have 7 items")

        assert made(module(constructor)) == "M(depths=[2, 2, 2, 2, 2, 2, 2])"

    @pytest.mark.parametrize(
        "message", ["must be one of tiny, small, got {}", "unknown {!r}, available: ['tiny', 'small']", "use 'tiny'"]
    )
    def test_a_text_is_one_that_the_error_names(self, message: str) -> None:
        def constructor(self: Any, model_name: str) -> None:
            known = {"tiny", "small"}
            if not known.intersection([str(model_name)]):
                raise ValueError(message.format(str(model_name)))

        assert made(module(constructor)) == "M(model_name='tiny')"

    def test_a_text_is_a_member_of_the_enumeration_that_is_made_of_it(self) -> None:
        class Way(enum.Enum):
            NEAREST = "nearest"
            LINEAR = "linear"

        def constructor(self: Any, interp_mode: str) -> None:
            self.way = Way(str(interp_mode))

        assert made(module(constructor)) == "M(interp_mode='nearest')"

    def test_a_list_with_one_module_has_nothing_else(self) -> None:
        def constructor(self: Any, layers: list[Any]) -> None:
            self.layers = layers
            layers[0].eval()

        assert made(module(constructor)) == "M(layers=[…, …, …, …])"


def test_an_array_attribute_does_not_make_a_value_settings() -> None:
    def constructor(self: Any, width: Any) -> None:
        self.layer = nn.Linear(width if not hasattr(width, "ndim") else width.shape[0], 2)

    assert made(module(constructor)) == "M(width=64)"


def test_iterating_over_invented_settings_ends() -> None:
    def constructor(self: Any, layers: dict[str, str]) -> None:
        self.known = set(layers)

    assert made(module(constructor)) == "M(layers=[2, 2])"


def test_the_built_module_holds_no_probes() -> None:
    class Net(nn.Module):
        def __init__(self, width: Any, names: Any, config: Any) -> None:
            super().__init__()
            self.width, self.names, self.depth = width, list(names), config.depth

        def forward(self, x: Any) -> Any:
            return x.view(self.width)

    root = invent_arguments(Net, {}, lambda root: None, on_meta=True).root
    values = [root.width, *root.names, root.depth]
    assert [type(value) for value in values] == [int] * len(values)
    assert not any(isinstance(value, Probe | InventedSettings) for value in values)


def test_all_that_a_check_refuses_as_none_is_passed_at_once() -> None:
    class M(nn.Module):
        def __init__(self, *, conv: nn.Module | None = None, norm: nn.Module | None = None) -> None:
            super().__init__()
            self.conv, self.norm = conv, norm
            assert all(part is not None for part in (self.conv, self.norm))

        def forward(self, x: Any) -> Any:
            return x

    assert made(M) == "M(conv=…, norm=…)"


def test_where_a_check_accepts_none_that_is_tried_first() -> None:
    tries = []

    def constructor(self: Any, width: int, norm_cfg: Any, act_cfg: Any) -> None:
        tries.append(width)
        assert norm_cfg is None or isinstance(norm_cfg, dict)
        if act_cfg is not None and not isinstance(act_cfg, dict):
            raise TypeError("act_cfg")

    assert made(module(constructor)) == "M(width=64, norm_cfg=None, act_cfg=None)"
    assert len(tries) == 4, "two refused, one accepted, and that one again without probes"


def test_a_part_is_never_given_memory() -> None:
    devices = []

    class Part(nn.Module):
        def __init__(self, width: int = 4096) -> None:
            super().__init__()
            self.layer = nn.Linear(width, width)
            devices.append(self.layer.weight.device.type)

    def constructor(self: Any, part: Part) -> None:
        self.part = part

    constructor.__annotations__["part"] = Part
    assert made(module(constructor)) == "M(part=Part())"
    assert set(devices) == {"meta"}


@pytest.mark.parametrize(
    "compute",
    [
        lambda layer, width: layer(torch.linspace(0, 1, width)),
        lambda layer, width: layer.weight.sum().item(),
        lambda layer, width: layer.weight.tolist(),
    ],
)
def test_a_constructor_that_computes_with_its_weights_is_left_to_the_cpu(compute: Callable[..., Any]) -> None:
    tries = []

    def constructor(self: Any, width: int) -> None:
        tries.append(width)
        self.result = compute(nn.Linear(width, width), width)

    with pytest.raises(CannotInvent):
        made(module(constructor))
    assert len(tries) == 1


def test_a_failed_invention_reports_what_the_constructor_raised() -> None:
    def constructor(self: Any, key: Any) -> None:
        raise LookupError("never")

    with pytest.raises(CannotInvent) as caught:
        made(module(constructor))
    assert isinstance(caught.value.__cause__, LookupError)


def test_large_modules_are_built_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = []

    def constructor(self: Any, first: Any, second: Any, third: Any) -> None:
        builds.append(first)
        self.parts = nn.ModuleList(nn.Identity() for _ in range(10))
        raise ValueError(first, second, third)

    monkeypatch.setattr(argument_synthesis, "MOST_MODULES", 35)
    with pytest.raises(CannotInvent):
        made(module(constructor))
    assert len(builds) == 4


def test_settings_of_the_workspace_are_tried_after_a_long_search_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def constructor(self: Any, cfg: Any) -> None:
        self.parts = nn.ModuleList(nn.Identity() for _ in range(10))
        if str(cfg.NET.KIND) + str(int(cfg.NET.WIDTH)) != "plain6":
            raise ValueError

    def written(names: Collection[str]) -> Iterator[WrittenSettings]:
        yield WrittenSettings([(("NET", "WIDTH"), 6), (("NET", "KIND"), "plain")])

    monkeypatch.setattr(argument_synthesis, "MOST_MODULES", 35)
    tracer = tracer_for(None, (InventedModule,))
    root = invent_arguments(module(constructor), {}, partial(own_error, tracer, None), written, on_meta=True)
    assert root.shown == "M(cfg=…)"


def with_settings(cls: type, values: dict[str, Any], asked: list[str] | None = None) -> Any:
    """The module that is built if the workspace writes ``values``; ``asked`` receives the names that are looked for."""

    def written(names: Collection[str]) -> Iterator[WrittenSettings]:
        (asked if asked is not None else []).extend(sorted(names))
        yield WrittenSettings(((name,), value) for name, value in values.items())

    tracer = tracer_for(None, (InventedModule,))
    return invent_arguments(cls, {}, partial(own_error, tracer, None), written, on_meta=True).root


class TestDecisiveSettings:
    class Net(nn.Module):
        def __init__(self, cfg: Any) -> None:
            super().__init__()
            self.is_checked = cfg["is_checked"]
            self.count = cfg["train"].count
            self.clip = cfg.get("clip")
            self.mode = cfg["mode"]
            self.layer = nn.Linear(cfg["width"], cfg["width"])

        def forward(self, x: Any) -> Any:
            if self.is_checked or self.clip > 0 or self.count == 3:
                x = x + 1
            return self.layer(x if self.mode == "plain" else -x)

    def test_the_program_decides_by_what_the_workspace_writes(self) -> None:
        asked: list[str] = []
        settings = {"is_checked": True, "count": 1, "clip": 0.5, "mode": "rich", "width": 8}
        root = with_settings(self.Net, settings, asked)
        assert (root.is_checked, root.clip) == (True, 0.5)
        assert root.mode == "plain"  # which is what the program compares it with
        assert asked == ["clip", "is_checked"]  # `count` is not reached

    def test_what_it_does_not_decide_by_stays_small(self) -> None:
        root = with_settings(self.Net, {"width": 8, "is_checked": False, "clip": 10_000})
        assert (root.is_checked, root.clip, root.layer.in_features) == (False, 64, 64)

    @pytest.mark.parametrize("value", ["${other}", "???", [1, 2], {"a": 1}])
    def test_what_is_no_switch_is_left_out(self, value: Any) -> None:
        assert with_settings(self.Net, {"clip": value}).clip == 64

    def test_what_the_program_refuses_is_not_taken(self) -> None:
        class Refusing(self.Net):  # type: ignore[name-defined, misc]
            def forward(self, x: Any) -> Any:
                if self.is_checked:
                    raise ValueError
                return super().forward(x)

        root = with_settings(Refusing, {"clip": 0, "is_checked": True})
        assert (root.clip, root.is_checked) == (0, False)

    def test_a_program_that_decides_by_nothing_reads_no_files(self) -> None:
        asked: list[str] = []
        with_settings(module(lambda self, cfg: setattr(self, "layer", nn.Linear(cfg.a, cfg.b))), {"a": 8}, asked)
        assert not asked


def test_numbers_whose_sum_is_iterated_become_lists_together() -> None:
    def constructor(self: Any, width: Any, encoder_repeats: Any, decoder_repeats: Any, factor: Any) -> None:
        self.layers = nn.ModuleList(nn.Linear(width, factor * n) for n in (encoder_repeats + decoder_repeats))

    shown = made(module(constructor))
    assert shown == "M(width=64, encoder_repeats=[1, 1, 1, 1], decoder_repeats=[1, 1, 1, 1], factor=2)"


def test_the_argument_that_a_failing_statement_used_is_changed_first() -> None:
    builds = []

    def constructor(self: Any, a: Any, b: Any, wanted: Any) -> None:
        builds.append((int(a), int(b)))
        half = wanted * 3 // 2
        self.first = nn.Linear(a, b)
        self.second = nn.Conv2d(half, 64, 1, groups=64)

    assert made(module(constructor)) == "M(a=64, b=64, wanted=128)"
    assert set(builds) == {(64, 64)}


def test_a_value_that_the_program_then_refuses_is_not_kept() -> None:
    def constructor(self: Any, depth: Any) -> None:
        if depth == int(depth):
            raise LookupError("never")
        self.layers = nn.ModuleList(nn.Identity() for _ in range(depth))

    with pytest.raises(CannotInvent) as caught:
        made(module(constructor))
    assert isinstance(caught.value.__cause__, LookupError)  # not the TypeError that 0.5 is no integer


def test_a_number_that_the_forward_counts_to_is_an_integer() -> None:
    def constructor(self: Any, threshold: Any) -> None:
        self.threshold = threshold

    def forward(self: Any, x: Any) -> Any:
        for _ in range(self.threshold):
            x = x + 1
        return x

    assert made(module(constructor, forward)) == "M(threshold=1)"


def test_a_string_that_is_evaluated_holds_numbers() -> None:
    def constructor(self: Any, window_sizes: Any) -> None:
        self.layers = nn.ModuleList(nn.Conv1d(3, 3, size) for size in eval(window_sizes))

    assert made(module(constructor)) == "M(window_sizes='[4, 4, 4, 4]')"


def test_a_value_whose_submodule_is_replaced_is_a_module() -> None:
    def constructor(self: Any, backbone: Any) -> None:
        backbone.fc = nn.Identity()
        self.backbone = backbone

    assert made(module(constructor)) == "M(backbone=…)"


def test_a_value_that_receives_a_number_is_an_object_of_settings() -> None:
    def constructor(self: Any, width: Any) -> None:
        width.depth = 3
        self.layer = nn.Linear(width.depth, 4)

    assert made(module(constructor)) == "M(width=…)"


def test_an_invented_module_has_weights_and_no_bias() -> None:
    def constructor(self: Any, body: Any) -> None:
        self.body = body
        for part in body.modules():
            nn.init.zeros_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)

    assert made(module(constructor)) == "M(body=…)"


def test_a_type_of_typing_that_is_asked_for() -> None:
    def constructor(self: Any, image_size: Any) -> None:
        assert isinstance(image_size, typing.Sequence)
        self.height, self.width = image_size

    assert made(module(constructor)) == "M(image_size=[32, 32])"


def test_a_path_is_a_string() -> None:
    def constructor(self: Any, folder: Any) -> None:
        self.name = os.fspath(folder)

    assert made(module(constructor)) == "M(folder='')"


def test_a_string_of_numbers_is_one_number() -> None:
    def constructor(self: Any, sizes: Any) -> None:
        self.layers = nn.ModuleList(nn.Linear(int(size), 2) for size in sizes.split(","))

    assert made(module(constructor)) == "M(sizes='32')"


def test_an_optional_argument_is_given_where_none_has_no_such_attribute() -> None:
    def constructor(self: Any, width: Any, first: Any = None, cfg: Any = None, last: Any = None) -> None:
        self.layer = nn.Linear(width, cfg.width)

    assert made(module(constructor)) == "M(width=64, cfg=…)"


def test_keywords_are_found_as_attributes() -> None:
    def constructor(self: Any, **kwargs: Any) -> None:
        self.hparams = types.SimpleNamespace(**kwargs)
        self.layer = nn.Linear(self.hparams.in_features, self.hparams.num_classes)

    def forward(self: Any, x: Any) -> Any:
        return self.layer(x) * self.hparams.scale

    assert made(module(constructor, forward)) == "M(in_features=64, num_classes=10, scale=2)"


def test_a_string_is_changed_to_one_that_the_forward_accepts() -> None:
    def constructor(self: Any, task_name: Any) -> None:
        self.is_classification = task_name == "classification"
        self.task_name = task_name

    def forward(self: Any, x: Any) -> Any:
        if self.task_name == "forecast":
            return x
        raise ValueError("only forecasts")

    assert made(module(constructor, forward)) == "M(task_name='forecast')"


def test_a_configuration_that_names_a_class_creates_an_unknown_module() -> None:
    def constructor(self: Any, encoder_config: Any) -> None:
        if "target" not in encoder_config:
            raise KeyError("Expected key `target` to instantiate.")
        home, name = encoder_config["target"].rsplit(".", 1)
        cls = getattr(importlib.import_module(home), name)
        self.encoder = cls(**encoder_config.get("params", {}))

    cls = module(constructor)
    root = invent_arguments(cls, {}, lambda root: None, on_meta=True).root
    assert isinstance(root.encoder, InventedModule)


def test_an_attribute_that_a_configuration_lacks_is_added() -> None:
    class NetConfig:
        width = 8

    def constructor(self: Any, config: NetConfig) -> None:
        self.layer = nn.Linear(config.width, config.num_experts)  # type: ignore[attr-defined]

    root: Any = invent_arguments(module(constructor), {"NetConfig": NetConfig}, lambda root: None, on_meta=True).root
    assert (root.layer.in_features, root.layer.out_features) == (8, 4)


def test_a_list_that_is_indexed_by_its_own_items_is_a_mapping() -> None:
    def constructor(self: Any, heads: Any) -> None:
        self.names = list(heads)
        for head in heads:
            setattr(self, head, nn.Linear(8, heads[head]))

    cls = module(constructor)
    root = invent_arguments(cls, {}, lambda root: None, on_meta=True).root
    assert [root.get_submodule(name).out_features for name in root.names] == [64, 64]


def tiny_backbone(in_planes: int, **options: Any) -> nn.Module:
    """What the next test looks up by its name."""
    return nn.Linear(in_planes, 4)


def test_a_name_that_is_looked_up_in_a_namespace_is_of_something_that_takes_the_arguments() -> None:
    def constructor(self: Any, backbone: Any) -> None:
        self.backbone = globals()[backbone](in_planes=4, pretrained=False)

    assert made(module(constructor)) == "M(backbone='tiny_backbone')"


def test_a_text_that_is_evaluated_and_called_names_something_that_takes_the_arguments() -> None:
    def constructor(self: Any, settings: Any) -> None:
        self.backbone = eval(settings.kind)(in_planes=4, pretrained=False)

    assert (
        invent_arguments(module(constructor), globals(), lambda root: None, on_meta=True).root.backbone.out_features
        == 4
    )


def test_a_name_that_is_looked_up_in_a_module_has_a_text_that_the_program_mentions() -> None:
    def constructor(self: Any, block: Any) -> None:
        self.block = getattr(nn, block)(8, 8)
        self.is_recurrent = "RNNCell" in block

    assert made(module(constructor)) == "M(block='RNNCell')"


def test_a_build_that_never_ends_is_given_up_and_tried_with_smaller_numbers() -> None:
    def constructor(self: Any, width: int, copies: int) -> None:
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(copies**3)])

    assert made(module(constructor)) == "M(width=64, copies=2)"


def test_what_is_called_behind_a_failure_is_a_module() -> None:
    class Wrapper(nn.Module):
        def __init__(self, width: Any, fn: Any) -> None:
            super().__init__()
            self.width, self.fn = width, fn

        def forward(self, x: Any) -> Any:
            return self.fn(x) if x.sum() > 0 else x * self.width

    assert made(Wrapper) == "Wrapper(width=64, fn=…)"


def test_a_function_is_called_with_invented_arguments() -> None:
    def make(name: str, width: int, depth: int = 2) -> Any:
        if name not in ("small", "large"):
            raise ValueError(name)
        return nn.Sequential(*(nn.Linear(width, width) for _ in range(depth)))

    factory: Any = make
    built = invent_arguments(factory, {}, lambda root: None, on_meta=True)
    assert (type(built.root), built.shown) == (nn.Sequential, "make(name='small', width=64)")


def test_what_is_named_a_module_is_one() -> None:
    def constructor(self: Any, module: Any) -> None:
        self.module = module
        self.module.weight.data /= 2.0

    assert made(module(constructor)) == "M(module=…)"


def test_a_file_that_has_to_exist_is_one_of_the_workspace(tmp_path: Path) -> None:
    for name, text in {"data.yaml": "8", "configs/wide.cfg": "16\n\n", "configs/net.cfg": "4"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def constructor(self: Any, config_path: Any) -> None:
        self.layer = nn.Linear(int(Path(config_path).read_text()), 2)

    files = partial(configuration_files, folders=[str(tmp_path)], near=str(tmp_path / "net.py"))
    cls = module(constructor)
    root: Any = invent_arguments(cls, {}, lambda root: None, files=files, on_meta=True).root
    assert root.layer.in_features == 4


@pytest.fixture
def unused_number() -> Iterator[None]:
    """Free the number that is tried first: the test opens it, and would read and close a file of this process."""
    number = int(number_for("cfgfile"))
    try:
        kept = os.dup(number)
    except OSError:  # there is none
        yield
        return
    os.close(number)
    yield
    os.dup2(kept, number)
    os.close(kept)


@pytest.mark.usefixtures("unused_number")
def test_a_number_that_is_opened_is_a_file_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "net.cfg").write_text("4")

    def constructor(self: Any, cfgfile: Any) -> None:
        with open(cfgfile) as file:  # noqa: PTH123
            self.layer = nn.Linear(int(file.read()), 2)

    files = partial(configuration_files, folders=[str(tmp_path)], near=str(tmp_path / "net.py"))
    root: Any = invent_arguments(module(constructor), {}, lambda root: None, files=files, on_meta=True).root
    assert root.layer.in_features == 4


def test_a_program_may_end_itself_for_an_option_that_it_does_not_know() -> None:
    def constructor(self: Any, arch: Any) -> None:
        if arch == 85:
            self.layer = nn.Linear(8, 8)
        else:
            raise SystemExit

    assert made(module(constructor)) == "M(arch=85)"


def test_no_option_may_keep_a_program_from_ending_itself() -> None:
    def constructor(self: Any, arch: Any) -> None:
        raise SystemExit(arch)

    with pytest.raises(CannotInvent):
        made(module(constructor))


def test_a_class_takes_the_keywords_that_it_is_given() -> None:
    def constructor(self: Any, norm_layer: Any, act_layer: Any) -> None:
        self.layers = nn.Sequential(norm_layer(8, momentum=0.1), act_layer(negative_slope=0.2, inplace=True))

    assert made(module(constructor)) == "M(norm_layer=BatchNorm2d, act_layer=LeakyReLU)"


def test_all_items_of_nested_lists_change_together() -> None:
    def constructor(self: Any, cfg: Any) -> None:
        self.layers = nn.ModuleList(nn.Linear(width % 4 + 1, 8) for stage in cfg for width in stage)

    assert made(module(constructor)) == "M(cfg=[[64, 64], [64, 64]])"


def test_a_sequence_that_is_joined_to_another_is_of_its_type() -> None:
    def constructor(self: Any, first: tuple[int, int], second: Any = (2, 3)) -> None:
        before: Any = [1]
        self.counts = before + first, before + second

    assert made(module(constructor)) == "M(first=[64, 64], second=[2, 3])"


def test_what_has_an_attribute_of_tensors_is_a_tensor() -> None:
    def constructor(self: Any, groups: Any) -> None:
        self.mask = (groups > 0) + 0.0
        self.count = groups.shape[0]

    assert made(module(constructor)) == "M(groups=torch.ones((64,)))"


def test_a_tensor_may_need_another_rank() -> None:
    def constructor(self: Any, matrix: Any) -> None:
        self.mask = matrix > 0
        self.layer = nn.Linear(matrix.shape[1], matrix.shape[0])

    assert made(module(constructor)) == "M(matrix=torch.ones((64, 64)))"


def test_what_is_assigned_as_a_parameter_is_one() -> None:
    def constructor(self: Any, embedding_weights: Any, scale: Any) -> None:
        self.decoder = nn.Linear(embedding_weights.size(1), embedding_weights.size(0), bias=False)
        self.decoder.weight = embedding_weights
        self.register_parameter("scale", scale)

    parameter = "torch.nn.Parameter(torch.ones((64, 64)))"
    assert made(module(constructor)) == f"M(embedding_weights={parameter}, scale={parameter})"


def test_a_default_that_lacks_an_attribute_of_tensors_is_replaced() -> None:
    def constructor(self: Any, width: Any, matrix: Any = ()) -> None:
        self.layer = nn.Linear(width, width)
        self.matrix = matrix.to(torch.float32)

    assert made(module(constructor)) == "M(width=64, matrix=torch.ones((64,)))"


def test_a_shape_that_begins_with_channels() -> None:
    def constructor(self: Any, env: Any) -> None:
        shape = env.observation_space.shape
        self.conv = nn.Conv2d(shape[0], 32, 8, stride=4)
        self.layer = nn.Linear(self.conv(torch.zeros(1, *shape)).flatten(1).shape[1], env.action_space.n)

    assert made(module(constructor)) == "M(env=…)"


@pytest.mark.parametrize("tensor", [torch.Tensor, torch.FloatTensor])
def test_a_number_in_a_tensor_is_a_number(tensor: type) -> None:
    def constructor(self: Any, gamma: Any) -> None:
        self.gamma = nn.Parameter(tensor([gamma]), requires_grad=False)
        self.bound = nn.Parameter(tensor([gamma + 2]), requires_grad=False)

    assert made(module(constructor)) == "M(gamma=0.1)"


@pytest.mark.parametrize(
    "use",
    [
        lambda size: np.random.RandomState(0).randint(0, 4, size=size),
        lambda size: np.prod(size),
        lambda size: np.round(size),
        lambda size: np.full(size, np.max(size)),
    ],
)
def test_a_number_that_numpy_asks_for_methods_of_arrays_is_a_number(use: Callable[[Any], Any]) -> None:
    def constructor(self: Any, width: Any, sizes: Any) -> None:
        self.layers = nn.ModuleList(nn.Linear(width, size) for size in sizes)
        self.known = [use(size) for size in sizes]
        self.also = use(width)

    assert made(module(constructor)) == "M(width=64, sizes=[32, 32, 32, 32])"


@pytest.mark.parametrize(
    ("default", "use", "shown"),
    [
        ((), lambda value: value[0] // 2, "[64, 64, 64, 64]"),
        ([], lambda value: 8 // len(value), "[64, 64, 64, 64]"),
        ({}, lambda value: value["width"], "…"),
        ("", lambda value: {"relu": 8, "gelu": 4}[value], "'gelu'"),
        (-1, lambda value: nn.Linear(8, value), "64"),
        (None, lambda value: value + 1, "64"),
    ],
)
def test_a_default_that_holds_a_place_is_replaced(default: Any, use: Callable[[Any], Any], shown: str) -> None:
    def constructor(self: Any, width: Any = 8, wanted: Any = default, **others: Any) -> None:
        self.wanted = use(wanted)
        self.layer = nn.Linear(width, width)

    del constructor.__annotations__["wanted"]
    assert made(module(constructor)) == f"M(wanted={shown})"


def test_a_default_is_replaced_where_the_forward_lacks_what_was_made_of_it() -> None:
    def constructor(self: Any, levels: Any, ch: Any = (), cfg: Any = None) -> None:
        self.levels = int(levels)
        self.layers = nn.ModuleList(nn.Linear(one, one) for one in ch)

    def forward(self: Any, x: Any) -> Any:
        return self.layers[self.levels - 1](x)

    del constructor.__annotations__["ch"]
    assert made(module(constructor, forward)) == "M(levels=2, ch=[64, 64, 64, 64])"


def test_what_the_program_enters_is_a_context_manager() -> None:
    def constructor(self: Any, autocast: Any, region: Any, lock: Any = None) -> None:
        self.autocast, self.region, self.lock = autocast, region, lock
        with region:
            self.layer = nn.Linear(4, 4)

    def forward(self: Any, x: Any) -> Any:
        with self.autocast("cuda", enabled=True) as context, self.lock:
            assert context is None
            return self.layer(x)

    assert made(module(constructor, forward)) == "M(autocast=…, region=nullcontext(…), lock=nullcontext(…))"


def test_an_invented_module_has_the_parts_that_are_called() -> None:
    def constructor(self: Any, backbone: nn.Module) -> None:
        self.backbone = backbone

    root = invent_arguments(
        module(constructor, lambda self, x: self.backbone.stem(x)),
        globals(),
        partial(own_error, tracer_for(None, (InventedModule,)), None),
        on_meta=True,
    ).root
    assert [name for name, _ in root.named_modules()] == ["", "backbone", "backbone.stem"]


class Family(enum.Enum):
    FIRST = 1
    SECOND = 2


@dataclasses.dataclass
class Choice:
    width: int = 8
    family: Family = Family.FIRST


def test_a_check_of_an_attribute_changes_the_object_that_has_it() -> None:
    def constructor(self: Any, choice: Choice) -> None:
        assert choice.family == Family.SECOND
        self.layer = nn.Linear(choice.width, 2)

    assert made(module(constructor)) == "M(choice=Choice(…))"


@dataclasses.dataclass
class Vocabulary:
    rows: int = -1
    width: int | None = None
    tied: bool = False


def checked_sizes(self: Any, sizes: Vocabulary) -> None:
    assert sizes.rows > 0
    self.layer = nn.Linear(8, sizes.rows)


def used_sizes(self: Any, sizes: Vocabulary) -> None:
    self.layer = nn.Embedding(sizes.rows, 8)


def missing_sizes(self: Any, sizes: Vocabulary) -> None:
    self.layer = nn.Linear(8, sizes.width * 2)  # type: ignore[operator]


def checked_flag(self: Any, sizes: Vocabulary) -> None:
    assert sizes.tied


@pytest.mark.parametrize("constructor", [checked_sizes, used_sizes, missing_sizes, checked_flag])
def test_a_default_of_an_invented_object_is_replaced_if_the_program_refuses_it(constructor: Any) -> None:
    assert made(module(constructor)) == "M(sizes=Vocabulary(…))"


@pytest.mark.parametrize("name", ["n_layer", "num_layer", "n_text_layer", "nblock"])
def test_a_number_of_layers_in_the_singular_is_small(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def constructor(self, {name}): self.count = {name} + 0", scope)
    assert made(module(scope["constructor"])) == f"M({name}=2)"


def test_lists_may_be_nested_three_deep() -> None:
    def constructor(self: Any, anchors: Any) -> None:
        self.sizes = [width * height for level in anchors for pair in level for width, height in [pair]]

    assert made(module(constructor)).startswith("M(anchors=[[[")


def test_an_attribute_of_a_missing_object_does_not_make_it_a_tensor() -> None:
    def constructor(self: Any, cfg: Any = None) -> None:
        self.kind = cfg.to

    assert made(module(constructor)) == "M(cfg=…)"


@dataclasses.dataclass
class HeadSetup:
    kind: Any = "plain"
    width: int = 8


def test_a_check_changes_settings_of_the_programs_own_class() -> None:
    def constructor(self: Any, config: Any) -> None:
        assert config.kind == Family.SECOND
        self.layer = nn.Linear(config.width, 2)

    head = type("Head", (module(constructor),), {"config_class": HeadSetup})
    assert made(head).startswith("Head(config=HeadSetup(")


def test_a_class_that_the_program_calls_with_too_little_gets_the_rest() -> None:
    def constructor(self: Any, width: Any, conv: Any = nn.Conv2d) -> None:
        self.which = conv
        self.first = self.which(width, width)

    assert made(module(constructor)) == "M(width=64, conv=partial(…))"


def test_a_dictionary_that_is_empty_by_default_gets_what_a_call_lacks_that_unpacks_it() -> None:
    def layer(width: int, *, kernel: int, groups: int) -> nn.Module:
        return nn.Conv2d(width, width, kernel, groups=groups)

    def constructor(self: Any, first: Any = {}, second: Any = {}) -> None:  # noqa: B006
        self.first = layer(8, **first)
        options = dict(second)
        self.second = layer(8, **options)

    assert made(module(constructor)) == "M(first=…, second=…)"


def test_an_optional_argument_is_given_where_the_forward_calls_it() -> None:
    def constructor(self: Any, width: Any, activation: Any = None) -> None:
        self.layer = nn.Linear(width, width)
        self.activation = activation

    def forward(self: Any, x: Any) -> Any:
        return self.activation(self.layer(x))

    assert made(module(constructor, forward)) == "M(width=64, activation=ReLU())"


def test_a_method_of_settings_may_return_numbers_and_lists() -> None:
    """What is called while a module is built makes modules, unless the program refuses one."""

    def constructor(self: Any, dataset: Any) -> None:
        self.users = nn.Embedding(dataset.num("user"), 8)
        self.rows, self.columns, self.values = dataset.history_matrix()
        self.fields = nn.ModuleList([nn.Linear(dataset.num(field), 8) for field in dataset.fields(of="item")])

    assert made(module(constructor)) == "M(dataset=…)"


def test_what_a_function_returns_for_a_traced_value_is_not_invented() -> None:
    def constructor(self: Any, dataset: Any) -> None:
        self.users = nn.Embedding(dataset.num("user"), 8)
        self.num = dataset.num

    with pytest.raises(CannotInvent):
        made(module(constructor, lambda self, x: x if self.num(x) > 2 else -x))


def test_an_error_about_what_a_method_returned_does_not_name_invented_classes() -> None:
    def constructor(self: Any, dataset: Any) -> None:
        dataset.matrix() @ "text"

    with pytest.raises(CannotInvent) as refused:
        made(module(constructor))
    assert "an invented value" in str(refused.value.__cause__)


def test_what_is_added_to_a_list_is_a_list_in_each_turn_of_a_loop() -> None:
    def constructor(self: Any, cfg: Any) -> None:
        widths = [[3] + cfg.widths[level] for level in range(len(cfg.widths))]
        self.layers = nn.ModuleList([nn.Linear(one[0], one[1]) for one in widths])
        channels = (3,)
        self.shape = channels + cfg.image_size

    assert made(module(constructor)) == "M(cfg=…)"


def test_what_is_indexed_by_a_traced_value_is_a_tensor() -> None:
    def constructor(self: Any, rows: Any, dataset: Any) -> None:
        self.matrix, self.lengths = dataset.history_matrix()
        self.rows = rows

    def forward(self: Any, user: Any) -> Any:
        return self.rows[user] + self.matrix[user, 0] + self.lengths[user]

    assert made(module(constructor, forward)) == "M(rows=torch.ones((64, 64)), dataset=…)"


def test_a_text_that_is_refused_as_a_number_is_one() -> None:
    def constructor(self: Any, edge_type: Any) -> None:
        self.embed = nn.Embedding(edge_type, 8)

    assert made(module(constructor)) == "M(edge_type=64)"


def test_a_module_by_default_that_the_program_calls_for_a_module_becomes_a_class() -> None:
    default = nn.GELU(approximate="tanh")

    def constructor(self: Any, width: int, act_layer: Any = default) -> None:
        self.layer = nn.Sequential(nn.Linear(width, width), act_layer())

    assert made(module(constructor)) == "M(width=64, act_layer=ReLU)"


@dataclasses.dataclass
class LayerConfig:
    in_features: int
    out_features: int = 4


@pytest.mark.parametrize(
    "read",
    [
        lambda config: nn.Linear(**config),
        lambda config: nn.Linear(**{**config, "out_features": 8}),
        lambda config: nn.Linear(config["in_features"], config.get("out_features")),
        lambda config: nn.Linear(*(value for name, value in config.items() if list(config.keys()))),
        lambda config: nn.Linear(*(config[name] for name in config if len(config) == len(config.values()))),
    ],
)
def test_a_record_that_the_program_reads_as_a_mapping_is_one(read: Callable[[Any], nn.Module]) -> None:
    def alone(self: Any, layer: LayerConfig) -> None:
        assert read(layer).in_features == layer.in_features

    def several(self: Any, layers: list[LayerConfig]) -> None:
        assert [read(layer).in_features for layer in layers] == [layer.in_features for layer in layers]

    alone.__annotations__, several.__annotations__ = {"layer": LayerConfig}, {"layers": list[LayerConfig]}
    assert made(module(alone)) == "M(layer=LayerConfig(…))"
    assert made(module(several)) == f"M(layers=[{', '.join(['LayerConfig(…)'] * 4)}])"


def test_a_list_that_is_refused_becomes_one_of_those_that_are_known() -> None:
    def constructor(self: Any, indices: list[int]) -> None:
        assert indices in [[0, 1, 2, 3], [1, 2, 3], [3]]
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in indices)

    assert made(module(constructor)) == "M(indices=[0, 1, 2, 3])"


def test_a_module_in_which_the_program_looks_for_submodules_gets_them() -> None:
    def constructor(self: Any, backbone: nn.Module) -> None:
        return_layers = {"layer3": "0", "layer4": "1"}
        if not set(return_layers).issubset([name for name, _ in backbone.named_children()]):
            raise ValueError("return_layers are not present in model")
        self.layers = nn.ModuleDict({name: getattr(backbone, name) for name in return_layers})

    assert made(module(constructor)) == "M(backbone=…)"


def test_a_number_that_a_package_refuses_is_a_plain_number() -> None:
    def constructor(self: Any, width: Any) -> None:
        self.half = width // 2
        if type(width) is not int:
            raise ValueError(f"Value '{type(width).__name__}' is not a supported primitive type")

    assert made(module(constructor)) == "M(width=64)"


def test_a_flag_by_which_the_program_divides_is_on() -> None:
    def constructor(self: Any, scale: bool) -> None:
        self.factor = 1 / scale

    assert made(module(constructor)) == "M(scale=True)"


def test_of_the_options_of_a_table_the_smallest_is_tried_first() -> None:
    def constructor(self: Any, depth: Any, name: Any) -> None:
        self.width = {152: 8, 101: 6, 18: 4}[depth]
        self.layer = {"net101": nn.ReLU, "net18": nn.GELU}[name]()

    assert made(module(constructor)) == "M(depth=18, name='net18')"


def test_all_items_of_a_list_get_the_settings_that_each_of_them_lacks() -> None:
    def constructor(self: Any, blocks: Any) -> None:
        self.layers = nn.Sequential(*(nn.Linear(**block) for block in blocks))

    assert made(module(constructor)) == "M(blocks=[…, …, …, …])"


def test_a_number_whose_class_the_program_does_not_know_is_a_plain_number() -> None:
    def constructor(self: Any, space: Any) -> None:
        if type(space.n) is not int:
            raise TypeError(f"expected an integer, not {type(space.n)}")
        self.embed = nn.Embedding(space.n, 8)

    assert made(module(constructor)) == "M(space=…)"


def test_a_process_that_remembers_plans_searches_once(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = []

    def constructor(self: Any, width: Any, sizes: Any) -> None:
        builds.append(width)
        self.layers = nn.ModuleList([nn.Linear(width, size) for size in sizes])

    cls = module(constructor)
    memory = PlanMemory()
    monkeypatch.setattr(argument_synthesis, "PLANS", memory)
    first, searched = made(cls), len(builds)
    assert made(cls) == first
    assert len(builds) == 2 * searched
    memory.switch_on()
    assert (made(cls), made(cls)) == (first, first)
    assert len(builds) == 3 * searched + 1


def test_for_an_edited_text_a_search_begins_with_what_was_found_for_the_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    builds = []

    def constructor(self: Any, width: Any, sizes: Any) -> None:
        builds.append(width)
        self.layers = nn.ModuleList([nn.Linear(width, size) for size in sizes])

    cls = module(constructor)
    old, new = PlanMemory(), PlanMemory()
    monkeypatch.setattr(argument_synthesis, "PLANS", old)
    old.switch_on()
    first, searched = made(cls), len(builds)
    new.before_edit = old.known
    monkeypatch.setattr(argument_synthesis, "PLANS", new)
    assert made(cls) == first
    assert 0 < len(builds) - searched < searched
    assert not new.known


def test_a_plan_that_is_no_plan_is_not_followed() -> None:
    memory = PlanMemory()
    plan = ArgumentPlan(nn.Linear, {}, on_meta=True)
    memory.known = {"torch.nn.modules.linear.Linear on meta": "no pickle"}
    assert not memory.follow(plan)
