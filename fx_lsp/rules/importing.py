"""The file can't be imported, so nothing in it can be traced."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, error_text


def message(failure: Failure, expression: str) -> str:
    """The error that the import ended in."""
    return f"This file cannot be imported, so nothing in it was traced: {error_text(failure)}"


RULE = Rule(
    code="import",
    title="The file cannot be imported",
    why="""\
A module can be traced only after the file that defines it was imported, as `import` would do it, by the Python
interpreter of the project. The line that raised is marked.

- A package is missing: install it there, or choose the interpreter that has it.
- The file does its work while it is imported (it reads data, trains, exits): put that under
  `if __name__ == "__main__":`.""",
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
    kinds=("import",),
    severity="warning",
)
