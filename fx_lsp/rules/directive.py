"""A comment that looks like a directive but is not a valid one."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="directive",
    title="An invalid directive",
    why="""\
Comments that begin with `# fx:` tell fx-lsp what to trace and what to ignore.

Above a class or a function at the top level:

- `# fx: trace(dim=64, heads=4)` traces it; a class is built with these arguments.
- `# fx: trace[small](dim=8)` and `# fx: trace[large](dim=64)` trace it twice.
- `# fx: skip` skips it.
- `# fx: concrete_args(mask=None)` fixes inputs.
- `# fx: tracer(MyTracer())` selects the tracer.
- `# fx: leaf(Attention)` names classes of modules whose calls are recorded as one node.
- `# fx: inputs(torch.rand(1, 3, 224, 224))` gives example inputs. An argument of `trace` also gives an example input if
  it is a parameter of `forward` but not of the constructor.
- `# fx: expect(parameters < 30M, flops < 5G)` warns if the model costs more.

At the end of a line, or on the line above it:

- `# fx: ignore[len]` suppresses what the rule `len` reports for that line.
- `# fx: ignore` suppresses everything that fx-lsp reports for that line.""",
    bad="""\
import torch
import torch.fx


# fx: trce(3)
class Shift(torch.nn.Module):
    def __init__(self, by=1):
        super().__init__()
        self.by = by

    def forward(self, x):
        return x + self.by
""",
    good="""\
import torch
import torch.fx


# fx: trace(3)
class Shift(torch.nn.Module):
    def __init__(self, by=1):
        super().__init__()
        self.by = by

    def forward(self, x):
        return x + self.by
""",
    text="{subject} is not a valid fx-lsp directive: {detail}.",
    kinds=("directive",),
    severity="warning",
    is_certain=True,
)
