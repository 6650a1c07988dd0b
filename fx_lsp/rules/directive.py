"""A comment that looks like a directive and is none."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """Why it is none, and what is allowed."""
    return f"{subject(expression)} says nothing to fx-lsp: {failure.error}."


RULE = Rule(
    code="directive",
    title="A directive that can't be understood",
    why="""\
Comments that begin with `# fx:` tell fx-lsp what to trace and what to leave alone.

- Above a class or a function at the top level: `# fx: trace(dim=64, heads=4)` traces it, a class built with these
  arguments; `# fx: skip` leaves it alone; `# fx: concrete_args(mask=None)` fixes inputs; `# fx: tracer(MyTracer())`
  names the tracer; `# fx: leaf(Attention)` names classes of modules whose calls are recorded as one node;
  `# fx: inputs(torch.rand(1, 3, 224, 224))` shows what it takes, and so does an argument of `trace` that `forward` has
  and the constructor has not. `# fx: trace[small](dim=8)` and `# fx: trace[large](dim=64)` trace it twice.
- Behind a line, or above one: `# fx: ignore[len]` keeps quiet about what the rule `len` says there, `# fx: ignore`
  about everything.""",
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
    message=message,
    kinds=("directive",),
    severity="warning",
    is_certain=True,
)
