"""The output formats of ``fx-lsp check``: one module per format, named after it, with ``render(checked) -> str``.

Imports ``fx_lsp.check``, ``fx_lsp.analysis``, ``fx_lsp.documents``, ``fx_lsp.fixes`` and ``fx_lsp.rules``. Begin with
``concise.py``, the shortest.
"""

from __future__ import annotations

import importlib

from fx_lsp.check.check_files import Checked


def render(format: str, checked: Checked) -> str:
    """``checked`` as text in ``format``, the name of a module in this package, which is imported only when needed."""
    text: str = importlib.import_module(f"{__name__}.{format}").render(checked)
    return text
