"""An interpreter by hand: run the graph node by node, and write each result's shape and dtype on its node."""

from typing import Any

import torch
from torch import nn

import fxcore


class ShapeProp:
    """Runs a traced module and leaves ``shape`` and ``dtype`` on the nodes whose values are tensors."""

    def __init__(self, module: fxcore.GraphModule) -> None:
        self.module = module
        self.graph = module.graph
        self.modules = dict(module.named_modules())

    def fetch_attr(self, target: str) -> Any:
        value: Any = self.module
        for atom in target.split("."):
            value = getattr(value, atom)
        return value

    def run_node(self, node: fxcore.Node, arguments: Any, env: dict[str, Any]) -> Any:
        def load(value: Any) -> Any:
            return fxcore.node.map_arg(value, lambda n: env[n.name])

        args, kwargs = load(node.args), load(node.kwargs)
        if node.op == "placeholder":
            return next(arguments)
        if node.op == "get_attr":
            return self.fetch_attr(str(node.target))
        if node.op == "call_module":
            return self.modules[str(node.target)](*args, **kwargs)
        if node.op == "call_method":
            return getattr(args[0], str(node.target))(*args[1:], **kwargs)
        if node.op == "output":
            return args[0]
        return node.target(*args, **kwargs)

    def propagate(self, *args: torch.Tensor) -> Any:
        env: dict[str, Any] = {}
        arguments = iter(args)
        result = None
        nodes: list[Any] = list(self.graph.nodes)  # any attribute may be set on a node
        for node in nodes:
            result = env[node.name] = self.run_node(node, arguments, env)
            if isinstance(result, torch.Tensor):
                node.shape = result.shape
                node.dtype = result.dtype
        return result


class TwoLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.first(x) * self.scale).flatten()


traced = fxcore.symbolic_trace(TwoLayers())
ShapeProp(traced).propagate(torch.randn(2, 4))
nodes: list[Any] = list(traced.graph.nodes)
for node in nodes:
    print(node.name, tuple(node.shape), node.dtype)
