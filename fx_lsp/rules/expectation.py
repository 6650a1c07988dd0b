"""A model that costs more than its file expects."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="expectation",
    title="A model that costs more than expected",
    why="""\
The comment `# fx: expect(parameters < 30M, flops < 5G)` above a class says what the model may cost. fx-lsp counts what
it costs, and marks each condition that does not hold, with the largest submodule. In a git repository, the editor then
names the submodule that has grown most since the last commit of the file in which the condition held.

A condition compares one of these with a number, by `<` or `<=`:

- `parameters`: how many numbers the parameters hold, e.g. `parameters < 25.6M`;
- `flops`: the floating-point operations of one call, two for a multiplication and the addition of its result, e.g.
  `flops <= 8.2G`;
- `activations`, `peak`: the bytes of all results of the model's nodes, and the most that they take at a time, e.g.
  `peak < 100MiB`.

The operations and bytes are those for the example input that the shapes are for. A comment `# fx: inputs(…)` above the
class sets this input. If fx-lsp can't count something, it says so and why.""",
    bad="""\
import torch
from torch import nn


# fx: trace()
# fx: expect(parameters < 1M, flops < 1G)
class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(1000, 1000)
        self.output = nn.Linear(1000, 10)

    def forward(self, x):
        return self.output(torch.relu(self.hidden(x)))


Classifier()(torch.rand(4, 1000))
""",
    good="""\
import torch
from torch import nn


# fx: trace()
# fx: expect(parameters < 1M, flops < 1G)
class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(1000, 500)
        self.output = nn.Linear(500, 10)

    def forward(self, x):
        return self.output(torch.relu(self.hidden(x)))


Classifier()(torch.rand(4, 1000))
""",
    text="{detail}",
    kinds=("expectation",),
    severity="warning",
    is_certain=True,
)
