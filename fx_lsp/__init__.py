"""fx-lsp: a language server that symbolically traces the ``nn.Module``s of a workspace while they are edited.

Nothing is imported here: the agent loads this package inside the user's interpreter.
"""

__version__ = "0.1.0"
