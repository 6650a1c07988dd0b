"""Rewrite rules as ordinary Python: a rule is called with proxies, and what it does is recorded."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

import fxcore


def relu_decomposition(x: Any) -> Any:
    return (x > 0) * x


RULES: dict[Any, Callable[..., Any]] = {F.relu: relu_decomposition}


def decompose(model: nn.Module, tracer_class: type[fxcore.Tracer] = fxcore.Tracer) -> nn.Module:
    """A copy of ``model`` in which every function that has a rule is written out."""
    graph = tracer_class().trace(model)
    new_graph = fxcore.Graph()
    env: dict[str, fxcore.Node] = {}
    tracer = fxcore.proxy.GraphAppendingTracer(new_graph)
    for node in graph.nodes:
        if node.op == "call_function" and node.target in RULES:
            arguments = [fxcore.Proxy(env[x.name], tracer) if isinstance(x, fxcore.Node) else x for x in node.args]
            env[node.name] = RULES[node.target](*arguments).node
        else:
            env[node.name] = new_graph.node_copy(node, lambda x: env[x.name])
    return fxcore.GraphModule(model, new_graph)


class Activation(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(x) + 1


decomposed = decompose(Activation())
print(decomposed.code)
x = torch.tensor([-1.0, 0.0, 2.0])
print(torch.equal(decomposed(x), Activation()(x)))
