"""hydra builds what configurations describe."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch import nn

from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.known_packages.omegaconf_configurations import DictConfig, ListConfig

UTILS = StandInModule("hydra.utils")

LINEAR = {"_target_": "torch.nn.Linear", "in_features": 8, "out_features": 4}


class Holder:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs


HOLDER = f"{__name__}.Holder"


@pytest.mark.parametrize("config", [LINEAR, DictConfig(LINEAR)])
def test_a_class_is_called_with_the_values_and_what_is_added(config: Any) -> None:
    made = UTILS.instantiate(config, out_features=2, bias=False)
    assert isinstance(made, nn.Linear)
    assert (made.in_features, made.out_features) == (8, 2)
    assert made.bias is None


def test_what_is_within_is_built_too() -> None:
    made = UTILS.instantiate({"_target_": "torch.nn.Sequential", "_args_": [LINEAR, {"_target_": "torch.nn.ReLU"}]})
    assert [type(part) for part in made] == [nn.Linear, nn.ReLU]
    held = UTILS.instantiate({"_target_": HOLDER, "part": {"layers": [LINEAR]}}).kwargs["part"]
    assert isinstance(held, DictConfig)
    assert isinstance(held.layers, ListConfig)
    assert isinstance(held.layers[0], nn.Linear)


def test_the_options() -> None:
    kept = UTILS.instantiate({"_target_": HOLDER, "part": LINEAR, "_recursive_": False}).kwargs["part"]
    assert kept["_target_"] == "torch.nn.Linear"
    plain = UTILS.instantiate({"_target_": HOLDER, "sizes": [1, 2], "_convert_": "all"}).kwargs["sizes"]
    assert isinstance(plain, list)
    partial = UTILS.instantiate({**LINEAR, "_partial_": True})
    assert isinstance(partial, functools.partial)
    assert partial().in_features == 8


def test_names_are_looked_up() -> None:
    assert UTILS.get_class("torch.nn.ReLU") is nn.ReLU
    assert UTILS.get_method("torch.relu") is torch.relu
    assert UTILS.get_object("torch.nn") is nn
    assert UTILS.instantiate(None) is None


@pytest.mark.parametrize("config", [{"width": 3}, {"_target_": "nowhere.Net"}, {"_target_": "torch.nn.Nothing"}, 3])
def test_what_describes_nothing_that_is_there_is_unknown(config: Any) -> None:
    assert isinstance(UTILS.instantiate(config), StandIn)


def test_what_is_within_and_not_there_is_unknown() -> None:
    made = UTILS.instantiate({"_target_": HOLDER, "part": {"_target_": "nowhere.Part"}, "path": "${root}"})
    assert isinstance(made.kwargs["part"], StandIn)
    assert isinstance(made.kwargs["path"], StandIn)


def test_arguments_replace_those_of_the_configuration() -> None:
    assert UTILS.instantiate({"_target_": HOLDER, "_args_": [1, 2]}, 3).args == (3,)


def test_what_is_within_is_converted_like_what_is_around_it() -> None:
    made = UTILS.instantiate({"_target_": HOLDER, "_convert_": "all", "part": {"_target_": HOLDER, "sizes": [1]}})
    assert isinstance(made.kwargs["part"].kwargs["sizes"], list)
