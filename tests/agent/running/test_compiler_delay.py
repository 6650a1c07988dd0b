"""Neither operations on the device meta nor counting them loads torch's compiler, which works as ever once loaded."""

import subprocess
import sys

PROGRAM = """
import sys
from pathlib import Path
import fxcore
from fx_lsp.agent.running.compiler_delay import COMPILER, spare_compiler
from fx_lsp.agent.serving.warmup import load_torch

version, problem = load_torch(str(Path(fxcore.__file__).parent))
assert problem is None, problem
import torch
from torch.nn import functional as F

x = torch.zeros(2, 3, 8, 8, device="meta")
assert F.gelu(F.conv2d(x, torch.zeros(4, 3, 3, 3, device="meta"))).softmax(1).relu().shape == (2, 4, 6, 6)
torch.optim.SGD([torch.zeros(2, requires_grad=True)], 0.1).zero_grad()
print(COMPILER in sys.modules)

from fx_lsp.agent.counting.operator_counts import OperatorCounts
counts = OperatorCounts()
with counts.counting():
    F.linear(torch.zeros(2, 3, device="meta"), torch.zeros(5, 3, device="meta"))
assert counts.flops == 2 * 2 * 3 * 5
print(COMPILER in sys.modules)

compiled = torch.compile(lambda x: x.relu() + 1, backend="eager")
assert compiled(torch.ones(3)).tolist() == [2, 2, 2]
print(COMPILER in sys.modules)
assert compiled(x).shape == x.relu().shape == x.shape
assert torch.relu(x.double()).dtype == torch.float64
optimizer = torch.optim.SGD([torch.zeros(2, requires_grad=True)], 0.1)
optimizer.zero_grad()
inner = type(optimizer).zero_grad.__wrapped__
print(getattr(inner, "__dynamo_disable").__module__.startswith(COMPILER))
"""


def test_the_compiler_is_loaded_by_those_alone_who_compile() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["False", "False", "True", "True"], ran.stderr
