"""The program caught a failure of the trace."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="swallowed-failure",
    title="An except clause caught a failure of the trace",
    why="""\
When tracing cannot go on, it raises an exception: a `ValueError` for control flow, a `TypeError` for a conversion, and
so on. If the program has an `except` clause for another purpose that also catches this exception, the graph contains
what that clause does.

- Make the `try` block smaller, or catch a more specific exception.
- Fix the expression that fails, as the rule for that failure explains.""",
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
    text=(
        "{subject} cannot be traced (see the rule `{detail}`), but an `except` clause catches that failure, so the "
        "graph contains what that clause does. Fix the expression, or move it out of the `try`."
    ),
    kinds=("swallowed-failure",),
    severity="warning",
    is_notice=True,
)
