"""Execution order: what PyTorch's own utility records, and with ``deep`` what it misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx
from torch.distributed.fsdp import _trace_utils as theirs

import fxcore
from fxcore import exec_order as ours
from fxcore.failures import TraceFailure
from tests import zoo


class Inner(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.weight = torch.nn.Parameter(torch.ones(2, 2))
        self.bias = torch.nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.nn.functional.linear(x, self.weight, self.bias)
        result: torch.Tensor = self.linear(x) + self.weight.sum()
        return result


class Net(torch.nn.Module):
    """Parameters as keywords, in lists, unused; a module that is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Inner(), Inner()
        self.twice = torch.nn.Linear(2, 2)
        self.nested = torch.nn.Parameter(torch.ones(1, 2))
        self.keyword = torch.nn.Parameter(torch.ones(2))
        self.unused = torch.nn.Parameter(torch.ones(2))
        self.relu = torch.nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.second(self.twice(x)) + self.first(x)
        x = torch.cat([x, self.nested])
        x = torch.add(x, other=self.keyword)
        result: torch.Tensor = self.second(self.relu(self.twice(x)))
        return result


def record(utilities: Any, tracer: Any, module: torch.nn.Module, **options: bool) -> Any:
    recorder = utilities._ExecOrderTracer(**options)
    with recorder.patch_tracer(tracer, module):
        tracer.trace(module)
    return recorder.exec_info


def assert_same(module: torch.nn.Module, our_info: Any, their_info: Any) -> None:
    names = {child: path for path, child in module.named_modules()}
    parameters = {parameter: path for path, parameter in module.named_parameters()}

    def readable(info: Any) -> dict[str, Any]:
        usages = {
            names[user]: [(names[usage.module], [name for name, _ in usage.named_params]) for usage in used]
            for user, used in info.module_to_param_usage_infos.items()
        }
        return {
            "current": names[info.curr_module],
            "modules": [names[each] for each in info.module_forward_order],
            "usages": usages,
            "parameters": [parameters[each] for each in info.param_forward_order],
            "visited": {parameters[each] for each in info.visited_params},
        }

    assert readable(our_info) == readable(their_info)


MODELS: dict[str, Callable[[], torch.nn.Module]] = {
    "Net": Net,
    "resnet50": lambda: zoo.build("resnet50"),
    "vit_b_16": lambda: zoo.build("vit_b_16"),
}


@pytest.mark.parametrize("package", [fxcore, torch.fx], ids=["fxcore", "torch.fx"])
@pytest.mark.parametrize("name", MODELS)
def test_counts_as_pytorch_does(name: str, package: Any) -> None:
    module = MODELS[name]()
    assert_same(module, record(ours, package.Tracer(), module), record(theirs, torch.fx.Tracer(), module))


def test_deep_finds_the_rest() -> None:
    net = Net()
    shallow, deep = (record(ours, fxcore.Tracer(), net, deep=deep) for deep in (False, True))
    assert deep.visited_params - shallow.visited_params == {net.nested, net.keyword}
    assert set(net.parameters()) - deep.visited_params == {net.unused}
    assert [usage.named_params[0][0] for usage in deep.module_to_param_usage_infos[net.twice]] == ["weight", "weight"]
    assert len(shallow.module_to_param_usage_infos[net.twice]) == 1


def test_the_tracer_is_left_as_it_was() -> None:
    tracer, recorder = fxcore.Tracer(), ours.ExecOrderTracer()

    def own_create_proxy(*args: Any, **kwargs: Any) -> Any:
        return fxcore.Tracer.create_proxy(tracer, *args, **kwargs)

    tracer.create_proxy = own_create_proxy  # type: ignore[method-assign]
    with pytest.raises(TraceFailure), recorder.patch_tracer(tracer, torch.nn.ReLU()):
        tracer.trace(lambda x: bool(x))
    assert vars(tracer)["create_proxy"] is own_create_proxy
    assert "call_module" not in vars(tracer)


def test_tracing_config() -> None:
    config, original = ours.TracingConfig(), theirs.TracingConfig()
    assert type(config.tracer) is fxcore.Tracer
    assert config.concrete_args == original.concrete_args
