"""Programs written for torch.fx do the same when the word `torch.fx` is replaced by `fxcore` in their source."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.fx
from torch import Tensor, nn

import fxcore

ROOT = Path(__file__).parents[2]
LIBRARIES: list[Any] = [fxcore, torch.fx]


def substituted(module: ModuleType) -> Any:
    """An installed module, run again with fxcore in the place of torch.fx."""
    source = Path(str(module.__file__)).read_text()
    source = source.replace("from torch import fx, nn", "import fxcore as fx\nfrom torch import nn")
    again = ModuleType(module.__name__)
    again.__package__ = module.__package__
    exec(compile(source.replace("torch.fx", "fxcore"), str(module.__file__), "exec"), vars(again))
    return again


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_small"])
@pytest.mark.parametrize("training", [False, True])
def test_torchvisions_feature_extraction(name: str, training: bool) -> None:
    torchvision = pytest.importorskip("torchvision")
    theirs = pytest.importorskip("torchvision.models.feature_extraction")
    ours = substituted(theirs)
    model = torchvision.models.get_model(name)
    names = ours.get_graph_node_names(model)
    assert names == theirs.get_graph_node_names(model)
    wanted = [node for node in names[1] if node in names[0]][5:-1:7]
    extracted = [each.create_feature_extractor(model, return_nodes=wanted).train(training) for each in (ours, theirs)]
    assert isinstance(extracted[0], fxcore.GraphModule)
    assert extracted[0].code == extracted[1].code
    assert list(extracted[0].state_dict()) == list(extracted[1].state_dict())


QUANTIZE = """
import sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        x = self.features(x)
        return self.head(torch.flatten(nn.functional.adaptive_avg_pool2d(x + x, 1), 1))

def quantize():
    import torch.ao.quantization as quantization
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    torch.manual_seed(0)
    x = torch.rand(2, 3, 8, 8)
    prepared = prepare_fx(Net().eval(), quantization.get_default_qconfig_mapping("x86"), (x,))
    prepared(x)
    converted = convert_fx(prepared)
    assert isinstance(converted, sys.modules[sys.argv[1]].GraphModule)
    return prepared.code, converted.code, converted(x).tolist()
"""
SUBSTITUTE = """
import importlib.abc
import importlib.machinery

import fxcore
import fxcore.graph

class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        return compile(self.get_data(self.path).decode().replace("torch.fx", "fxcore"), self.path, "exec")

    def exec_module(self, module):
        module.fxcore = fxcore
        super().exec_module(module)

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if not name.startswith("torch.ao.quantization"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec

sys.meta_path.insert(0, Finder())
"""


def test_quantization() -> None:
    results = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", f"{QUANTIZE}\n{setup}\nprint(quantize())", library],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        ).stdout
        for library, setup in (("fxcore", SUBSTITUTE), ("torch.fx", ""))
    ]
    assert results[0] == results[1]
    assert "quantize_per_tensor" in results[0]


INVERSES: dict[Any, Callable[[Any], Any]] = {torch.exp: torch.log, torch.tanh: torch.atanh}


def inverted(fx: Any, function: Callable[..., Any]) -> Any:
    """The inverse of a chain of functions, built from its end by proxies."""
    graph = fx.Graph()
    values: dict[Any, Any] = {}
    for node in reversed(fx.symbolic_trace(function).graph.nodes):
        if node.op == "output":
            values[node.args[0]] = fx.Proxy(graph.placeholder("result"))
        elif node.op == "placeholder":
            graph.output(values[node].node)
        else:
            values[node.args[0]] = INVERSES[node.target](values[node])
    graph.lint()
    return fx.GraphModule(nn.Module(), graph)


def test_inverting_a_function() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.tanh(torch.exp(x))

    ours, theirs = [inverted(fx, function) for fx in LIBRARIES]
    assert ours.code == theirs.code
    torch.testing.assert_close(ours(function(torch.tensor([-1.0]))), torch.tensor([-1.0]))


def observed(fx: Any) -> Any:
    """A module that calls one more after each of its modules: what quantizers do."""
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    for node in [node for node in module.graph.nodes if node.op == "call_module"]:
        module.add_submodule(f"observer_{node.name}", nn.Identity())
        with module.graph.inserting_after(node):
            observer = module.graph.call_module(f"observer_{node.name}", (node,))
        node.replace_all_uses_with(observer, delete_user_cb=lambda user, observer=observer: user is not observer)
    module.graph.lint()
    module.recompile()
    return module


def test_observing_every_module() -> None:
    ours, theirs = [observed(fx) for fx in LIBRARIES]
    assert ours.code == theirs.code
    assert "observer_" in ours.code
