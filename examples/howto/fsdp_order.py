"""In which order a forward uses its parameters: what FSDP gathers first, and what it can fetch ahead."""

import torch
from torch import nn

import fxcore
from fxcore.exec_order import ExecOrderTracer


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(8, 2)  # made first, used last
        self.embed = nn.Embedding(16, 8)
        self.scale = nn.Parameter(torch.ones(8))
        self.block = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens) * self.scale
        return self.head(x + self.block(x))


model = Network()
names = {parameter: name for name, parameter in model.named_parameters()}
paths = {module: path or "(root)" for path, module in model.named_modules()}
tracer, recorder = fxcore.Tracer(), ExecOrderTracer()
with recorder.patch_tracer(tracer, model):
    tracer.trace(model)
order = recorder.exec_info
assert order is not None, "something was traced"

print("made: ", " ".join(names.values()))
print("used: ", " ".join(names[parameter] for parameter in order.param_forward_order))
print("calls:", " ".join(paths[module] for module in order.module_forward_order))
