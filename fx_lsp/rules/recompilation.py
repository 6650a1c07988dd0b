"""A program that torch.compile compiles again for each batch size."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, error_text, subject


def message(failure: Failure, expression: str) -> str:
    """What has to be the same for the compiled program to be used again."""
    effect = f"{subject(expression)} makes torch.compile compile the program again for other batch sizes"
    if "size mismatch" in failure.error:
        return (
            f"{effect}, because it turns the size of the batch into a number. Use operations on the whole tensor "
            "instead of `int`, `range` or a loop over the batch."
        )
    return (
        f"{effect}: the compiled program holds only if `{error_text(failure)}`. Avoid branches on the size, and keep "
        "numbers that change from call to call in a tensor."
    )


RULE = Rule(
    code="recompilation",
    title="torch.compile compiles again for each batch size",
    why="""\
When a compiled program gets a batch of another size, `torch.compile` compiles it once more, with a size that may vary.
The program that results should serve for all other sizes. At the marked place, it depends on the size itself, or on a
number that changes from call to call, so it is compiled again and again. After eight times, torch gives up and runs the
function uncompiled.

- Replace `int(x.shape[0])`, `range(x.shape[0])` and loops over a batch with operations on the whole tensor.
- Avoid branches that depend on the size of the batch.
- Keep a counter that `forward` changes in a tensor, e.g. a buffer, rather than in an attribute.
- If the size never changes, ignore this rule.

To find the place, fx-lsp calls the compiled program with three batch sizes.""",
    bad="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        rows = []
        for i in range(x.shape[0]):
            rows.append(x[i] * 2)
        return torch.stack(rows)


model = Net()
model(torch.ones(3, 4))
""",
    good="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x * 2


model = Net()
model(torch.ones(3, 4))
""",
    text=message,
    kinds=("recompilation",),
    capture="compile",
    severity="information",
    is_notice=True,
)
