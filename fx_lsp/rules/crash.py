"""The tracing process ended before it reported a result."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="crash",
    title="The tracing process ended",
    why="""\
Each trace runs in its own process, and this process ended before it could report a result: compiled code crashed, the
code called `os._exit`, or something else ended the process, such as the operating system when memory ran out. Nothing
else is affected, and fx-lsp traces again after the next edit.""",
    bad="""\
import os

import torch.fx


def leave(x):
    os._exit(3)


traced = torch.fx.symbolic_trace(leave)
""",
    good="""\
import torch.fx


def leave(x):
    return x


traced = torch.fx.symbolic_trace(leave)
""",
    text=(
        "{subject} ended the tracing process. Look for a call that exits, for compiled code that crashes when it "
        "receives a traced value, or for a lack of memory. ({error})"
    ),
    kinds=("crash",),
    severity="warning",
)
