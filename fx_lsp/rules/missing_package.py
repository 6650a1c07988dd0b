"""The file imports a package that is missing."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="missing-package",
    title="A package is missing",
    why="""\
The project's Python interpreter does not have a package that the file imports, or cannot load it. To be able to trace
the rest of the file, fx-lsp uses a stand-in for the package. It reports nothing about a module or function whose
behavior depends on the stand-in. A missing class decorator counts as one that changes nothing, a missing base class as
a plain `nn.Module`, and a missing submodule as one node, which fx-lsp does not look into. Hovering over the class shows
what was assumed about its base classes and submodules.

- Install the package for this interpreter, or choose an interpreter that has it.
- If the package is optional: import it in a `try` with an `except ImportError`. fx-lsp then uses no stand-in.""",
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
    text=(
        "{subject} could not be imported: {error}. fx-lsp used a stand-in and did not check code that depends on it."
    ),
    kinds=("missing-package",),
    severity="information",
    is_certain=True,
)
