"""What ``fx-lsp check`` prints: one module for each format, named like it, with ``render(checked) -> str``."""

from __future__ import annotations

import importlib

from fx_lsp.check import Checked


def render(format: str, checked: Checked) -> str:
    """``checked`` as ``format`` (the name of a module) has it; each is imported when it is asked for."""
    text: str = importlib.import_module(f"{__name__}.{format}").render(checked)
    return text
