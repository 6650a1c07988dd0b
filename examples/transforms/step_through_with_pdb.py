"""A debugger can step into a generated forward, although it stands in no file; here with the keys typed beforehand."""

import io
import pdb

import torch
from torch import nn

import fxcore


class AddOne(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + 1


traced = fxcore.symbolic_trace(AddOne())
traced(torch.zeros(1))  # compiled now, so that the debugger stops in forward and not in the compiler
keys = io.StringIO("next\nnext\np relu\ncontinue\n")
screen = io.StringIO()
debugger = pdb.Pdb(stdin=keys, stdout=screen, nosigint=True, readrc=False)
debugger.runcall(traced.forward, torch.tensor([3.0]))
for line in screen.getvalue().splitlines():
    if line.startswith("-> ") or "tensor" in line:
        print(line.removeprefix("(Pdb) "))
