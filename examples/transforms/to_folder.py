"""Writing a traced module to a folder as a package that can be imported, read and changed."""

import sys
import tempfile

import torch
from torch import nn

import fxcore


class M(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()


model = M()
with tempfile.TemporaryDirectory() as folder:
    fxcore.symbolic_trace(model).to_folder(f"{folder}/foo", "Bar")
    sys.path.insert(0, folder)
    from foo import Bar  # type: ignore[import-not-found]

    bar = Bar()
    bar.load_state_dict(model.state_dict())
    x = torch.randn(3, 2)
    print(torch.equal(bar(x), model(x)))
