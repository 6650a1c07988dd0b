"""The code tried something that is not allowed while it is traced."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, error_text, subject

_ENDED = {
    "not-imported": " The file cannot be imported without it, so nothing in it was traced.",
    "not-built": " The module cannot be built without it, so it was not traced.",
    "failed": " The trace ends here.",
}


def message(failure: Failure, expression: str) -> str:
    """What was not allowed, what could not be traced because of that, and where such work belongs."""
    return (
        f"{subject(expression)} was blocked: fx-lsp does not allow {error_text(failure)} while it traces."
        f"{_ENDED.get(failure.subject, '')} Do such work where the model is trained or run, not while its file is "
        "imported, the model is built, or its `forward` is traced."
    )


RULE = Rule(
    code="denied",
    title="An operation that is not allowed while tracing",
    why="""\
fx-lsp imports and traces your files while you type, so it prevents them from doing harm: they cannot write outside a
scratch folder, use the network, start processes or send signals. A call that tries to do so raises a `PermissionError`.
The model itself may be correct: this message says only that its code did not run to the end.

- For work that is done while the file is imported (a download, a log file, a call to `git`): move it under
  `if __name__ == "__main__":`, or into the function that trains.
- For work that the program can do without: catch `OSError` around it.

Relative paths work: the current folder is the scratch folder, in which the files of the workspace folder are visible.
The scratch folder is deleted after the trace.""",
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
    text=message,
    kinds=("denied",),
    severity="information",
)
