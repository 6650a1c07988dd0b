"""The process that traced the file ended without an answer."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, error_text, subject


def message(failure: Failure, expression: str) -> str:
    """How the process ended, and what usually ends one."""
    return (
        f"{subject(expression)} ended the process that traced it. Look for a call that exits or for compiled code that "
        f"crashes when it is given a traced value. ({error_text(failure)})"
    )


RULE = Rule(
    code="crash",
    title="The tracing process ended",
    why="""\
Each trace runs in a process of its own, which ended before it could report: by a crash in compiled code, by `os._exit`,
or because something outside ended it, such as the system when memory ran out. Nothing else is affected, and the next
edit is traced again.""",
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
    message=message,
    kinds=("crash",),
    severity="warning",
)
