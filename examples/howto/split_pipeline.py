"""Splitting a model into the stages of a pipeline, one for each device, at modules' borders."""

import torch
from torch import nn

import fxcore
from fxcore.passes.split_module import split_module


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.ReLU()) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = x + block(x)
        return x


model = Network()
traced = fxcore.symbolic_trace(model)
stage = 0


def stage_of(node: fxcore.Node) -> int:
    """A new stage begins with the third block; what comes between modules stays with the one before."""
    global stage
    if node.op == "call_module" and str(node.target).startswith("blocks.2"):
        stage = 1
    return stage


pipeline = split_module(traced, model, stage_of)
print(pipeline.code.strip())
for name, part in pipeline.named_children():
    print(name, sum(parameter.numel() for parameter in part.parameters()), "parameters")
x = torch.rand(2, 8)
print(torch.equal(pipeline(x), model(x)))
