"""The import, the build or the trace requested too much memory."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="memory-limit",
    title="Tracing needs too much memory",
    why="""\
Building the module and tracing it have a memory limit, so that a mistyped size cannot exhaust the memory of the machine
while you type. Importing the file has one, too: if a statement at its top level exceeds it, only the definitions in the
file are run ([definitions-only](definitions-only.md)). Weights that are created by `torch.empty`, `torch.randn` and
similar functions take up almost no memory during tracing, so they hardly count.

- If a size is larger than you intended, correct it.
- If data is read or a table is computed while the file is imported or the module is built, do that where the model is
  trained or run.
- If the model really is that large, trace a smaller configuration or raise the
  limit, `fxLsp.memoryLimit` or `--memory-limit`.""",
    bad="""\
import torch.fx
from torch import nn


class Weighted(nn.Module):
    def forward(self, x):
        return x * sum([1.0] * (1 << 40))


traced = torch.fx.symbolic_trace(Weighted())
""",
    good="""\
import torch.fx
from torch import nn


class Weighted(nn.Module):
    def forward(self, x):
        return x * sum([1.0] * (1 << 4))


traced = torch.fx.symbolic_trace(Weighted())
""",
    text=(
        "{subject} needs more memory than the limit for tracing allows. Build a smaller module for tracing, or raise "
        "`fxLsp.memoryLimit`. ({error})"
    ),
    kinds=("memory-limit",),
    severity="warning",
)
