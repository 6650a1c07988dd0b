"""Makes a module faster at inference: folds batch norms, drops dropouts, keeps data in MKL-DNN's layout.

Source: the interface and results are those of ``torch.fx.experimental.optimization``.
"""

import copy
from collections.abc import Callable, Iterable
from typing import Any

from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from fxcore._symbolic_trace import Tracer, symbolic_trace
from fxcore.experimental.mkldnn_layout import (
    MklSubgraph,
    UnionFind,
    extract_subgraph,
    gen_mkl_autotuner,
    mkldnn_map,
    mkldnn_supported,
    mkldnn_supported_unknown,
    modules_to_mkldnn,
    replace_node_module,
    reset_modules,
    use_mkl_length,
    use_mkldnn_layout,
)
from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.interpreter import Transformer
from fxcore.node import Argument, Node, Target

__all__ = [
    "MklSubgraph",
    "UnionFind",
    "extract_subgraph",
    "fuse",
    "gen_mkl_autotuner",
    "matches_module_pattern",
    "mkldnn_map",
    "mkldnn_supported",
    "mkldnn_supported_unknown",
    "modules_to_mkldnn",
    "optimize_for_inference",
    "remove_dropout",
    "replace_node_module",
    "reset_modules",
    "use_mkl_length",
]


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, nn.Module]) -> bool:
    """Whether the node's first argument and the node call modules of exactly the pattern's two types, in that order."""
    if not node.args:
        return False
    return all(
        isinstance(each, Node) and each.op == "call_module" and type(modules.get(str(each.target))) is expected
        for expected, each in zip(pattern, (node.args[0], node), strict=False)
    )


# What can be folded: the layer's type, the batch norm's type, and the function that folds the latter into the former.
_FUSIONS: list[tuple[type[nn.Module], type[nn.Module], Callable[[Any, Any], nn.Module]]] = [
    (nn.Conv1d, nn.BatchNorm1d, fuse_conv_bn_eval),
    (nn.Conv2d, nn.BatchNorm2d, fuse_conv_bn_eval),
    (nn.Conv3d, nn.BatchNorm3d, fuse_conv_bn_eval),
    (nn.Linear, nn.BatchNorm1d, fuse_linear_bn_eval),
]


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> GraphModule:
    """Fold each batch norm into the preceding convolution or linear layer, if nothing else uses that layer's value.

    Args:
        model: a module in eval mode.
        inplace: put the folded layers into ``model`` itself instead of a deep copy.
        no_trace: use a graph module's own graph; otherwise it is traced like any module.

    Returns:
        The module with folded layers in place of the layers and their batch norms. Batch norms without running
        statistics are kept.
    """
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for first, second, fold in _FUSIONS:
        for node in graph.nodes:
            if matches_module_pattern((first, second), node, modules):
                _fuse_pair(graph, node, modules, fold)
    return GraphModule(traced, graph)


def _fuse_pair(graph: Graph, node: Node, modules: dict[str, nn.Module], fold: Callable[[Any, Any], nn.Module]) -> None:
    layer_node, norm = node.args[0], modules[str(node.target)]
    if len(layer_node.users) == 1 and norm.track_running_stats:
        replace_node_module(layer_node, modules, fold(modules[layer_node.target], norm))
        node.replace_all_uses_with(layer_node)
        graph.erase_node(node)


class _DropoutRemover(Transformer):
    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(self.submodules[str(target)], nn.Dropout):
            return args[0] if args else kwargs["input"]
        return super().call_module(target, args, kwargs)


def remove_dropout(model: nn.Module) -> GraphModule:
    """Trace the module and remove calls to its ``nn.Dropout`` modules."""
    return _DropoutRemover(symbolic_trace(model)).transform()


def optimize_for_inference(
    model: nn.Module, pass_config: dict[str, Any] | None = None, tracer: type[Tracer] = Tracer
) -> nn.Module:
    """Fold batch norms, remove dropouts, and run operations in MKL-DNN's layout where possible.

    Args:
        model: a module in eval mode, with float32 data on the CPU, in which no two values share memory.
        pass_config: ``{"conv_bn_fuse": False}`` and ``{"remove_dropout": False}`` disable the first two passes,
            ``{"mkldnn_layout_optimize": False}`` disables the third. With
            ``{"mkldnn_layout_optimize": {"heuristic": f}}``, ``f(subgraph)`` decides for which `MklSubgraph` the
            layout is worthwhile.
        tracer: the class of the tracer for the third pass.

    Raises:
        RuntimeError: the configuration of the third pass is neither False nor a dict with a heuristic.
        AssertionError: a module to be converted isn't float32 or isn't on the CPU.
    """
    config = {"conv_bn_fuse": True, "remove_dropout": True, "mkldnn_layout_optimize": {"heuristic": use_mkl_length}}
    config.update(pass_config or {})
    if config["conv_bn_fuse"]:
        model = fuse(model)
    if config["remove_dropout"]:
        model = remove_dropout(model)
    layout = config["mkldnn_layout_optimize"]
    if layout is False:
        return model
    if not isinstance(layout, dict) or "heuristic" not in layout:
        raise RuntimeError("mkldnn_layout_optimize must be False or a dict with the key 'heuristic'")
    return use_mkldnn_layout(model, layout["heuristic"], tracer())
