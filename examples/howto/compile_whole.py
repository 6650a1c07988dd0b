"""Compiling a model into one graph: with `fullgraph=True`, a graph break is an error."""

import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        noise = self.linear(signal)
        if not torch.compiler.is_compiling():  # the fixes that fx-lsp offers: this one …
            print("noise:", noise.shape)
        noise = torch.where(noise.abs().max() > 1, noise / 2, noise)  # … and this one
        return signal - noise


torch.manual_seed(0)
model = Denoiser()
denoise = torch.compile(model, fullgraph=True, backend="eager")  # without `backend`, Inductor also makes it fast
for size in (1, 100):
    signal = size * torch.rand(4, 16)
    print("the compiled model returns the same:", torch.equal(denoise(signal), model(signal)))
