"""Attributes of leaf modules are copied to nodes as by torch.fx."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx.passes.param_fetch as theirs
from torch import nn

import fxcore
import fxcore.passes.param_fetch as ours

from .models import resnet

LIBRARIES: list[tuple[Any, Any]] = [(fxcore, ours), (torch.fx, theirs)]


def test_resnet() -> None:
    model = resnet()
    found = []
    for fx, module in LIBRARIES:
        inner = fx.symbolic_trace(model)
        graph = fx.Graph()
        graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
        outer = fx.GraphModule({"inner": inner}, graph)
        module.lift_lowering_attrs_to_nodes(outer)
        found.append([getattr(node, "attrs_for_lowering", None) for node in inner.graph.nodes])
        assert not any(hasattr(node, "attrs_for_lowering") for node in graph.nodes)
    assert len(found[0]) == len(found[1])
    for mine, reference in zip(*found, strict=True):
        assert (mine is None) == (reference is None)
        if mine is not None:
            assert list(mine) == list(reference)
            assert all(mine[name] is reference[name] for name in mine if name != "name")
            assert mine["name"] == reference["name"]


class NewerLinear(nn.Linear):
    _version = 7


@pytest.mark.parametrize("module", [nn.Dropout(), NewerLinear(2, 2)], ids=["unknown class", "subclass"])
def test_a_module_of_an_unknown_class_is_refused(module: nn.Module) -> None:
    for _, fetch in LIBRARIES:
        with pytest.raises(RuntimeError):
            fetch.extract_attrs_for_lowering(module)


def test_a_module_of_a_newer_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for _, fetch in LIBRARIES:
        monkeypatch.setitem(fetch.module_fetch_book, NewerLinear, (1, ["weight"], fetch.default_matching))
        with pytest.raises(RuntimeError):
            fetch.extract_attrs_for_lowering(NewerLinear(2, 2))
