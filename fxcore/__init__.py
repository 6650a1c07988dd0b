"""Symbolic tracing of PyTorch programs: ``torch.fx``'s interface under the same names, plus what an editor needs.

    >>> import torch, fxcore
    >>> traced = fxcore.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> print(traced.code)  # doctest: +SKIP

Every node records the range of source that it comes from, every failure records its kind and where it happened, and
the traced module is left unchanged. See `fxcore.failures` and `fxcore.source`.
"""

import sys

from fxcore import config, graph_module, immutable_collections, traceback
from fxcore._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from fxcore.graph import CodeGen, Graph
from fxcore.graph_module import GraphModule
from fxcore.interpreter import Interpreter, Transformer
from fxcore.node import Node, has_side_effect, map_arg
from fxcore.nodes import graph_pickle, namespace
from fxcore.proxy import Proxy
from fxcore.subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "config",
    "has_side_effect",
    "immutable_collections",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "traceback",
    "wrap",
]

# Pickles made by fxcore 0.1 look up functions in modules of these names.
sys.modules.update(
    {
        f"{__name__}.graph_pickle": graph_pickle,
        f"{__name__}.namespace": namespace,
        f"{__name__}.serialization": graph_module,
    }
)
