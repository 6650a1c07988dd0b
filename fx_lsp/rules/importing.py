"""The file cannot be imported."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="import",
    title="The file cannot be imported",
    why="""\
fx-lsp can trace a module only after it has imported the file that defines the module, as an `import` statement would,
with the Python interpreter of the project. The line that raised an error is marked. fx-lsp still traces everything else
in the file that does not depend on that line.

- If an installed package lacks a name: install a version that has the name, or correct the name.
- If the file does work while it is imported, such as reading data, training or exiting: move that work under
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
    text="Importing this file fails here, so code that depends on this line was not checked: {error}",
    kinds=("import",),
    severity="warning",
    is_certain=True,
)
