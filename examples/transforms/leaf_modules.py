"""Leaf modules stay calls in the graph: torch.nn's by default, and others that a tracer names."""

import torch
from torch import nn

import fxcore


class MySpecialSubmodule(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.neg(x)


class MyModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.submod = MySpecialSubmodule()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.submod(self.linear(x))


class KeepSpecial(fxcore.Tracer):
    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, MySpecialSubmodule) or super().is_leaf_module(m, module_qualified_name)


module = MyModule()
print(fxcore.symbolic_trace(module).code)
print(fxcore.GraphModule(module, KeepSpecial().trace(module)).code)
