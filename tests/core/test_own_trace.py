"""Tracers that write their own ``trace``, of the parts that torch.fx writes its own with."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx._symbolic_trace
from torch import nn

import fxcore
import fxcore._symbolic_trace
from tests.core.oracle import assert_same_graph

LIBRARIES: list[Any] = [fxcore, torch.fx]


def doubled(x: Any) -> Any:
    return x * 2


torch.fx.wrap("doubled")


def tracer_with_its_own_trace(fx: Any) -> Any:
    parts = fx._symbolic_trace

    class OwnTrace(fx.Tracer):  # type: ignore[misc]
        def trace(self, root: Any, concrete_args: Any = None) -> Any:
            self.root, self.graph = root, fx.Graph(tracer_cls=type(self))
            self.submodule_paths = {module: path for path, module in root.named_modules()}
            self.tensor_attrs: dict[Any, str] = {}
            function = type(root).forward
            call, args = self.create_args_for_root(function, True, concrete_args)
            cache: dict[str, Any] = {}

            def get(module: Any, name: str) -> Any:
                return self.getattr(name, parts._orig_module_getattr(module, name), cache)

            def enter(module: Any, *args: Any, **kwargs: Any) -> Any:
                def forward(*args: Any, **kwargs: Any) -> Any:
                    return parts._orig_module_call(module, *args, **kwargs)

                parts._autowrap_check(patcher, module.forward.__globals__, self._autowrap_function_ids)
                return self.call_module(module, forward, args, kwargs)

            with parts._Patcher() as patcher:
                patcher.patch_method(nn.Module, "__getattr__", get, deduplicate=False)
                patcher.patch_method(nn.Module, "__call__", enter, deduplicate=False)
                parts._patch_wrapped_functions(patcher)
                parts._autowrap_check(patcher, function.__globals__, self._autowrap_function_ids)
                self.create_node("output", "output", (self.create_arg(call(*args)),), {})
            return self.graph

    return OwnTrace(autowrap_functions=(scaled,))


def scaled(x: Any) -> Any:
    return x * math.pi


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.bias = nn.Parameter(torch.ones(3))

    def forward(self, x: Any) -> Any:
        return scaled(self.linear(x) + self.bias)


class Net(nn.Module):
    def __init__(self, traced: Any) -> None:
        super().__init__()
        self.block = Block()
        self.traced = traced

    def forward(self, x: Any, *rest: Any) -> Any:
        self.traced()
        return doubled(self.block(x)) + rest[0]


def traced(fx: Any, inside: Any = lambda: None) -> Any:
    net = Net(inside)
    graph = tracer_with_its_own_trace(fx).trace(net)
    return fx.GraphModule(net, graph)


def test_the_graphs_are_torch_fxs() -> None:
    before = nn.Module.__call__, nn.Module.__getattr__, doubled, scaled
    ours, theirs = [traced(fx) for fx in LIBRARIES]
    assert (nn.Module.__call__, nn.Module.__getattr__, doubled, scaled) == before
    assert_same_graph(ours, theirs)
    names = [getattr(node.target, "__name__", node.target) for node in ours.graph.nodes]
    assert {"doubled", "scaled", "block.linear", "block.bias"} <= set(names)


@pytest.mark.parametrize("inner", [fxcore, torch.fx], ids=["fxcore", "torch.fx"])
def test_within_and_around_other_traces(inner: Any) -> None:
    found: list[Any] = []
    outer = traced(fxcore, lambda: found.append(traced(inner)))
    assert_same_graph(outer, traced(torch.fx))
    assert_same_graph(found[0], traced(torch.fx))
    found.clear()

    class Plain(nn.Module):
        def forward(self, x: Any) -> Any:
            found.append(traced(inner))
            return x + 1

    assert "x + 1" in fxcore.symbolic_trace(Plain()).code
    assert_same_graph(found[0], traced(torch.fx))


@pytest.mark.parametrize("fx", LIBRARIES, ids=lambda fx: fx.__name__)
def test_a_patcher_undoes_what_it_did(fx: Any) -> None:
    class Owner:
        def method(self) -> int:
            return 1

    def first(self: Any) -> int:
        return 2

    def second(self: Any) -> int:
        return 3

    method = Owner.method
    names: dict[str, Any] = {"one": 1, "two": 2}
    with contextlib.suppress(KeyboardInterrupt), fx._symbolic_trace._Patcher() as patcher:
        patcher.patch(names, "one", first)
        patcher.patch(names, "one", second)
        patcher.patch(names, "len", first)
        assert names == {"one": second, "two": 2, "len": first}
        patcher.patch_method(Owner, "method", first)
        assert Owner().method() == 2
        assert patcher.visit_once(names)
        assert not patcher.visit_once(names)
        raise KeyboardInterrupt
    assert names == {"one": 1, "two": 2}
    assert Owner.method is method
