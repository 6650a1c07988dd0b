"""A package is missing that the file imports."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, error_text, subject


def message(failure: Failure, expression: str) -> str:
    """What was not found, and what that means for the file."""
    return (
        f"{subject(expression)} can't be had here: {error_text(failure)}. "
        "A stand-in took its place, and what needs it was not checked."
    )


RULE = Rule(
    code="missing-package",
    title="A package is missing",
    why="""\
The Python interpreter of the project does not have a package that the file imports, or can't load it. So that the rest
can be traced all the same, a stand-in takes its place. Nothing is said of a module or function that the stand-in had a
part in.

- Install the package there, or choose the interpreter that has it.
- Where it is not always needed: import it in a `try` with an `except ImportError`. No stand-in is put there.""",
    bad="""\
import a_package_that_is_not_installed
import torch.fx


def double(x):
    return a_package_that_is_not_installed.double(x)


traced = torch.fx.symbolic_trace(double)
""",
    good="""\
import torch.fx


def double(x):
    return x + x


traced = torch.fx.symbolic_trace(double)
""",
    message=message,
    kinds=("missing-package",),
    severity="information",
    is_certain=True,
)
