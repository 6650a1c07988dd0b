"""The file can't be imported as it stands."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, error_text


def message(failure: Failure, expression: str) -> str:
    """The error that the import ended in."""
    return f"Importing this file fails here, so what needs it was not checked: {error_text(failure)}"


RULE = Rule(
    code="import",
    title="The file cannot be imported",
    why="""\
A module can be traced only after the file that defines it was imported, as `import` would do it, by the Python
interpreter of the project. The line that raised is marked. What the file defines besides is traced all the same, as far
as it does not need what is missing there.

- An installed package lacks a name: install the version that has it, or mend the name.
- The file does its work while it is imported (it reads data, trains, exits): put that under
  `if __name__ == "__main__":`.""",
    bad="""\
import torch.fx
from torch.nn.functional import rectify


def rectified(x):
    return rectify(x) + 1


traced = torch.fx.symbolic_trace(rectified)
""",
    good="""\
import torch.fx
from torch.nn.functional import relu


def rectified(x):
    return relu(x) + 1


traced = torch.fx.symbolic_trace(rectified)
""",
    message=message,
    kinds=("import",),
    severity="warning",
    is_certain=True,
)
