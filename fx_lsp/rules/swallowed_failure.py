"""The program caught a failure of the trace."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What failed there, and what became of it."""
    return (
        f"{subject(expression)} cannot be traced (`{failure.error}`), and an `except` around it catches that, so "
        "the graph has what the `except` does. Keep it out of the `try`, or mend it."
    )


RULE = Rule(
    code="swallowed-failure",
    title="An except clause caught a failure of the trace",
    why="""\
Where tracing cannot go on it raises an exception: a ValueError for control flow, a TypeError for a conversion, and so
on. An `except` clause of the program that is meant for something else catches it, and the graph has what that clause
does.

- Make the `try` block smaller, or the exception that is caught more specific.
- Mend the expression that fails, as its own rule says.""",
    bad="""\
import torch.fx


def scale(x):
    try:
        return x / int(x.shape[0])
    except TypeError:
        return x


traced = torch.fx.symbolic_trace(scale)
""",
    good="""\
import torch.fx


def scale(x):
    return x / x.shape[0]


traced = torch.fx.symbolic_trace(scale)
""",
    message=message,
    kinds=("swallowed-failure",),
    severity="warning",
    is_notice=True,
)
