"""fx-lsp: a language server that symbolically traces the ``nn.Module``s of a workspace while they are edited.

This file imports nothing, so that loading one part of the package does not load the others.
"""

__version__ = "0.1.0"
