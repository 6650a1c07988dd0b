"""The import, the build or the trace took too long and was stopped."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, error_text, subject


def message(failure: Failure, expression: str) -> str:
    """Where it was when its time ran out."""
    return (
        f"{subject(expression)} was still running when the time limit for tracing was reached. Look for a loop that "
        f"does not end or work that belongs outside of the model, or raise the limit. ({error_text(failure)})"
    )


RULE = Rule(
    code="time-limit",
    title="Tracing took too long",
    why="""\
Importing the file, building the module and tracing it have a limit of time, since an editor waits for them. The marked
place is the one that was running when it was reached.

- A loop that never ends, or one whose end depends on a traced value.
- Work while the file is imported, such as a download or a training loop: put it under `if __name__ == "__main__":`.
- A model that is really that large: raise the limit.""",
    bad="""\
import torch.fx


def wait(x):
    while True:
        pass


traced = torch.fx.symbolic_trace(wait)
""",
    good="""\
import torch.fx


def wait(x):
    return x


traced = torch.fx.symbolic_trace(wait)
""",
    message=message,
    kinds=("time-limit",),
    severity="warning",
)
