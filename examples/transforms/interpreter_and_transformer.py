"""The same without the loop: ``Interpreter`` runs a graph, ``Transformer`` makes a new one; override what differs."""

from typing import Any

import torch
from torch import nn

import fxcore


class NegateSigmoid(fxcore.Interpreter):
    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if target is torch.sigmoid:
            return torch.neg(*args, **kwargs)
        return super().call_function(target, args, kwargs)


class SwapSigmoid(fxcore.Transformer):
    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if target is torch.sigmoid:
            return torch.neg(*args, **kwargs)
        return super().call_function(target, args, kwargs)


def double_sigmoid(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x) + torch.sigmoid(x)


traced = fxcore.symbolic_trace(double_sigmoid)
x = torch.tensor([1.0, -2.0])
print(NegateSigmoid(traced).run(x))
transformed: nn.Module = SwapSigmoid(traced).transform()
print(transformed.code)
print(transformed(x))
