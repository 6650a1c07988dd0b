"""A program that exports for one batch size only."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, remark, subject


def message(failure: Failure, expression: str) -> str:
    """What keeps the batch from being dynamic."""
    if failure.kind == "specialized-dimension":
        return (
            f"{subject(expression)} fixes the size of the batch, so the exported program accepts no other size. Use "
            "`-1` or `x.shape[0]` instead of a number, and no `int`, `range` or loop over the batch."
        )
    return (
        f"{subject(expression)} allows only some sizes of the batch, so torch.export fails with a dynamic batch"
        f"{remark(failure)}."
    )


RULE = Rule(
    code="specialized-dimension",
    title="The exported program accepts only one batch size",
    why="""\
The model can be exported, but not with a dynamic batch: the marked place turns the size of the batch into a number, or
allows only some sizes. The exported program then refuses every other batch.

- Use `-1` or `x.shape[0]` instead of a number, e.g. `x.view(-1, 4)`.
- Replace `int(x.shape[0])` with `x.shape[0]`, and loops over a batch with operations on the whole tensor.
- If the batch never changes, ignore this rule, and give no `dynamic_shapes` to `torch.export.export`.

fx-lsp asks for `Dim.DYNAMIC`. With `Dim.AUTO`, torch silently falls back to a number.""",
    bad="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x.relu().view(3, 2, 2)


model = Net()
model(torch.ones(3, 4))
""",
    good="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x.relu().view(-1, 2, 2)


model = Net()
model(torch.ones(3, 4))
""",
    text=message,
    kinds=("specialized-dimension", "violated-constraint"),
    capture="export",
    severity="information",
    is_notice=True,
)
