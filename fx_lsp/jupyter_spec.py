"""Tells JupyterLab how to start the server: pyproject.toml names this module as an entry point for jupyter-lsp."""

from __future__ import annotations

import sys
from typing import Any

_START = "import sys; sys.path = [*filter(None, sys.path)]; from fx_lsp.cli.main import main; sys.exit(main())"
"""Jupyter runs this in the folder of the notebooks, whose files must not be taken for fx-lsp's own modules."""


def server_specs(manager: object) -> dict[str, dict[str, Any]]:
    """The specification of the server, by name. ``manager`` is jupyter-lsp's `LanguageServerManager`."""
    spec = {
        "version": 2,
        "argv": [sys.executable, "-c", _START],
        "languages": ["python"],
        "mime_types": ["text/x-python", "text/x-ipython"],
        "display_name": "fx-lsp",
        "requires_documents_on_disk": False,  # so a notebook keeps its own path, and finds the modules beside it
    }
    return {"fx-lsp": spec}
