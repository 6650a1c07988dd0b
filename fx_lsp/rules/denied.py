"""The code asked for something that is not to be had while it is traced."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, error_text, subject

_ENDED = {
    "not-imported": " The file can't be imported without it, so nothing in it was traced.",
    "not-built": " The module can't be built without it, so it was not traced.",
    "failed": " The trace ends there.",
}


def message(failure: Failure, expression: str) -> str:
    """What was not allowed, what that ended, and where such things belong."""
    return (
        f"{subject(expression)} was not carried out: {error_text(failure)} is not allowed while tracing."
        f"{_ENDED.get(failure.subject, '')} Do such work where the model is trained or run, not while its file is "
        "imported or its forward is traced."
    )


RULE = Rule(
    code="denied",
    title="Not allowed while tracing",
    why="""\
Your files are imported and traced while you type, so what they do then must do no harm: nothing outside a scratch
folder is written, there is no network, no process is started and none is signalled. A call that asks for such a thing
raises a `PermissionError`. Nothing is wrong with the model: this says only that its code was not run to the end.

- Work that is done while the file is imported (a download, a log file, a call of `git`): put it under
  `if __name__ == "__main__":`, or into the function that trains.
- Work that may be done without: catch `OSError` around it.

Relative paths are fine: the scratch folder is the current one, shows what lies in the workspace folder, and is thrown
away after the trace.""",
    bad="""\
import subprocess

import torch.fx

commit = subprocess.check_output(["git", "rev-parse", "HEAD"], text=True)


def double(x):
    return x + x


traced = torch.fx.symbolic_trace(double)
""",
    good="""\
import subprocess

import torch.fx


def commit():
    return subprocess.check_output(["git", "rev-parse", "HEAD"], text=True)


def double(x):
    return x + x


traced = torch.fx.symbolic_trace(double)
""",
    message=message,
    kinds=("denied",),
    severity="information",
)
