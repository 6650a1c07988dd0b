"""The import, the build or the trace took too long and was stopped."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="time-limit",
    title="Tracing took too long",
    why="""\
Importing the file, building the module and tracing it have a time limit, because an editor waits for them. The marked
code was running when the limit was reached. The limit counts the CPU time of your code. Time spent waiting for a CPU
does not count, and your code may sleep for three times as long.

- If a loop never ends, or if its end depends on a traced value: give it a fixed number of iterations.
- If work such as a download or a training loop is done while the file is imported: move it under
  `if __name__ == "__main__":`.
- If the model really is that large: raise the limit, `fxLsp.timeLimit` or `--time-limit`.""",
    bad="""\
from torch import nn


class Wait(nn.Module):
    def forward(self, x):
        while True:
            pass


net = Wait()
""",
    good="""\
from torch import nn


class Wait(nn.Module):
    def forward(self, x):
        return x


net = Wait()
""",
    text=(
        "{subject} was still running when the time limit for tracing was reached. Look for a loop that does not end "
        "or for work that belongs outside the model, or raise `fxLsp.timeLimit`. ({error})"
    ),
    kinds=("time-limit",),
    severity="warning",
)
