"""Compares what fx-lsp says that models cost with what torch says when it is asked directly.

    python benchmarks/costs.py [--match resnet] [--most 60]

The models are those of torchvision, timm and transformers that can be traced; the Python that runs this script needs
these libraries. For each model and each of its submodules, the script compares

- the parameters with ``sum(p.numel() for p in module.parameters())``,
- the FLOPs with `FlopCounterMode` around a call of the model itself, on the device ``meta``,
- the activations with a real call on the CPU: hooks and a `TorchFunctionMode` see every result, and results with memory
  of their own count.

It prints a line for each model with the number of submodules that were compared, and every difference. A tensor that is
made of nothing but the sizes of another, such as ``torch.rand(x.shape[0])``, is a node of the graph, but the real call
does not show where the sizes are from: such tensors are the only differences known.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import inspect
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import fxcore
from fx_lsp.agent.building.build import Built
from fx_lsp.agent.counting.cost_run import costs_of
from fx_lsp.agent.messages import Costs, Recipe, Snippet
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.running.plain_values import tensors_of
from tests import zoo  # torchvision and timm can't be imported before

Make = Callable[[], tuple[torch.nn.Module, Any]]
"""Builds a model and an input for it."""

TORCHVISION = """
alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 mnasnet1_0
mobilenet_v2 mobilenet_v3_small regnet_y_400mf resnet18 resnet50 resnext50_32x4d shufflenet_v2_x1_0
squeezenet1_1 swin_t swin_v2_t vgg11 vit_b_16 wide_resnet50_2 maxvit_t fcn_resnet50 deeplabv3_resnet50
lraspp_mobilenet_v3_large r3d_18
"""

TIMM = """
resnet34 resnetv2_50 vit_tiny_patch16_224 deit_tiny_patch16_224 convnext_atto mixer_s32_224 gmlp_ti16_224
resmlp_12_224 poolformer_s12 efficientnet_lite0 ghostnet_100 mobilenetv2_050 mobilenetv3_small_050 regnetx_002
repvgg_a0 res2net50_26w_4s seresnet18 skresnet18 tf_efficientnetv2_b0 dla34 dpn48b ese_vovnet19b_dw
hardcorenas_a hrnet_w18_small cspresnet50 darknet17 fbnetc_100 lcnet_050 mnasnet_small rexnet_100 selecsls42
spnasnet_100 xcit_nano_12_p16_224 cait_xxs24_224 visformer_tiny pit_ti_224 coat_tiny convit_tiny
crossvit_tiny_240 edgenext_small
"""

TRANSFORMERS = """
ResNetConfig RegNetConfig ConvNextConfig ConvNextV2Config ViTConfig DeiTConfig BeitConfig PoolFormerConfig
MobileNetV1Config MobileNetV2Config SegformerConfig SwinConfig Dinov2Config IJepaConfig LevitConfig CvtConfig
PvtConfig EfficientNetConfig FocalNetConfig BitConfig GPT2Config BertConfig
"""


@dataclass(frozen=True)
class Truth:
    """What torch says about one model, by the path of the submodule."""

    parameters: dict[str, int]
    flops: dict[str, int]
    activations: dict[str, int]


def candidates() -> Iterator[tuple[str, Make]]:
    """The models by name."""
    for name in TORCHVISION.split():
        yield f"torchvision {name}", lambda name=name: torchvision_model(name)  # type: ignore[misc]
    for name in TIMM.split():
        yield f"timm {name}", lambda name=name: timm_model(name)  # type: ignore[misc]
    for name in TRANSFORMERS.split():
        yield f"transformers {name}", lambda name=name: transformers_model(name)  # type: ignore[misc]


def torchvision_model(name: str) -> tuple[torch.nn.Module, Any]:
    """A model of torchvision without weights."""
    models = zoo.torchvision.models
    options = {"weights": None, "weights_backbone": None, "init_weights": False}
    taken = inspect.signature(models.get_model_builder(name)).parameters
    accepted = {key: value for key, value in options.items() if key in taken}
    if name in ("googlenet", "inception_v3"):
        accepted["init_weights"] = False
    shape = (2, 3, 4, 112, 112) if name == "r3d_18" else (2, 3, 299 if name == "inception_v3" else 224, 224)
    return models.get_model(name, **accepted), torch.rand(*shape[:-1], shape[-2])


def timm_model(name: str) -> tuple[torch.nn.Module, Any]:
    """A model of timm without weights."""
    timm: Any = importlib.import_module("timm")
    model = timm.create_model(name)
    return model, torch.rand(2, *model.default_cfg["input_size"])


def transformers_model(name: str) -> tuple[torch.nn.Module, Any]:
    """A model of transformers without weights."""
    transformers: Any = importlib.import_module("transformers")
    config = getattr(transformers, name)()
    size = getattr(config, "image_size", 224)
    model = transformers.AutoModel.from_config(config)
    if name in ("GPT2Config", "BertConfig"):
        return model, torch.randint(0, 99, (2, 16))
    return model, torch.rand(2, 3, *(size if isinstance(size, (list, tuple)) else (size, size)))


def told(model: torch.nn.Module, given: Any) -> tuple[Costs, set[FunctionType]]:
    """What fx-lsp says, and the functions in the graph that are not torch's. Raises what the trace raises."""
    tracer = fxcore.Tracer()
    _, *parameters = inspect.signature(model.forward).parameters.values()
    optional = {one.name: one.default for one in parameters if one.default is not one.empty} or None
    graph = tracer.trace(model, optional)
    built = Built(model, optional, tracer, Recipe(Snippet("", 1)), "")
    functions = {node.target for node in graph.nodes if isinstance(node.target, FunctionType)}
    wrapped = {function for function in functions if not function.__module__.startswith("torch.")}
    return costs_of(1, "model", built, graph, iter([Input((given,))])), wrapped


def truth(model: torch.nn.Module, given: Any, meta: torch.nn.Module, wrapped: set[FunctionType]) -> Truth:
    """What torch says; ``meta`` is the same model, to be moved to the device ``meta``.

    Calls of ``wrapped`` functions are one node each.
    """
    parameters = {path: sum(p.numel() for p in module.parameters()) for path, module in model.named_modules()}
    meta = meta.to("meta").requires_grad_(False)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        meta(given.to("meta"))
    first = f"{type(meta).__name__}"
    flops = {"": counter.get_total_flops()}
    for name, counts in counter.get_flop_counts().items():
        if name.startswith(f"{first}."):
            flops[name.removeprefix(f"{first}.")] = sum(counts.values())
    for path, module in reversed(list(meta.named_modules())):
        if path not in flops:  # it is not called itself
            flops[path] = sum(
                flops[f"{path}.{name}"] for name, _ in module.named_children() if f"{path}.{name}" in flops
            )
    return Truth(parameters, flops, Allocations(model, given, wrapped).by_path)


class Allocations(TorchFunctionMode):
    """The bytes of all results of a call, by module: of functions and methods, and of modules of torch.nn."""

    def __init__(self, model: torch.nn.Module, given: torch.Tensor, wrapped: set[FunctionType]) -> None:
        super().__init__()
        self.by_path = Counter[str]()
        self._calls = [""]
        self._inside = 0
        """How many of the running modules are a tracer's leaves."""
        owned = [given, *model.parameters(), *model.buffers()]
        self._depend = {id(tensor): tensor for tensor in [given, *model.parameters()]}
        """The tensors that a trace follows: inputs, parameters, and what was made of them."""
        self._met = {id(tensor.untyped_storage()): tensor.untyped_storage() for tensor in owned}
        tracer = fxcore.Tracer()
        with contextlib.ExitStack() as stack:
            for path, module in model.named_modules():
                if path:
                    self._follow(stack, path, module, is_leaf=tracer.is_leaf_module(module, path))
            for function in wrapped:
                self._follow_function(stack, function)
            with torch.no_grad(), self:
                model(given)

    def _follow(self, stack: contextlib.ExitStack, path: str, module: torch.nn.Module, *, is_leaf: bool) -> None:
        def begin(module: torch.nn.Module, args: Any) -> None:
            self._calls.append(path)
            self._inside += is_leaf

        def end(module: torch.nn.Module, args: Any, result: Any) -> None:
            self._inside -= is_leaf
            if is_leaf and not self._inside:
                self._note(result)
            self._calls.pop()

        stack.callback(module.register_forward_pre_hook(begin).remove)
        stack.callback(module.register_forward_hook(end).remove)

    def _follow_function(self, stack: contextlib.ExitStack, function: FunctionType) -> None:
        @functools.wraps(function)
        def followed(*args: Any, **kwargs: Any) -> Any:
            self._inside += 1
            result = function(*args, **kwargs)
            self._inside -= 1
            if not self._inside:
                self._note(result)
            return result

        for module in list(sys.modules.values()):
            if vars(module).get(function.__name__) is function:
                stack.enter_context(mock.patch.object(module, function.__name__, followed))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function, and note its result if a trace would record the call."""
        result = func(*args, **(kwargs or {}))
        is_followed = any(id(one) in self._depend for one in tensors_of([*args, *(kwargs or {}).values()]))
        if not self._inside and is_followed:
            self._note(result)
        return result

    def _note(self, result: Any) -> None:
        for tensor in tensors_of([result]):
            self._depend[id(tensor)] = tensor
            storage = tensor.untyped_storage()
            if id(storage) not in self._met:
                self._met[id(storage)] = storage
                for path in {part for call in self._calls for part in upwards(call)}:
                    self.by_path[path] += storage.nbytes()


def upwards(path: str) -> Iterator[str]:
    """A path and those of the modules that contain it."""
    atoms = path.split(".") if path else []
    yield from (".".join(atoms[:depth]) for depth in range(len(atoms) + 1))


def differences(costs: Costs, true: Truth) -> Iterator[str]:
    """What differs, by submodule."""
    for module in costs.modules:
        name = module.path or "the model"
        if module.parameters.count != true.parameters[module.path]:
            yield f"{name}: {module.parameters.count} parameters, not {true.parameters[module.path]}"
        if module.flops is not None and module.flops != true.flops.get(module.path, 0):
            yield f"{name}: {module.flops} FLOPs, not {true.flops.get(module.path, 0)}"
        if module.activations is not None and module.activations != true.activations[module.path]:
            yield f"{name}: {module.activations} bytes of activations, not {true.activations[module.path]}"


def main() -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--match", default="", help="only models whose library and name contain this")
    parser.add_argument("--most", type=int, default=1000, help="how many models to compare")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    compared = equal = parts = 0
    for name, make in candidates():
        if chosen.match not in name or compared == chosen.most:
            continue
        torch.manual_seed(0)
        try:
            model, given = make()
            costs, wrapped = told(make()[0], given)
        except Exception as error:
            print(f"- {name}: not traced: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
            continue
        if costs.reason:
            print(f"- {name}: {costs.reason}")
            continue
        found = list(differences(costs, truth(model, given, make()[0], wrapped)))
        compared, equal, parts = compared + 1, equal + (not found), parts + len(costs.modules)
        print(
            f"{'✗' if found else '✓'} {name}: {len(costs.modules)} modules, {costs.modules[0].flops:,} FLOPs",
            flush=True,
        )
        for difference in found[:5]:
            print(f"    {difference}")
    print(f"{compared} models with {parts} modules were compared; {equal} models agree in all numbers")


if __name__ == "__main__":
    main()
