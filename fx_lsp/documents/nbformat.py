"""Reading notebook files in Jupyter's format (nbformat 4)."""

from __future__ import annotations

import json
from pathlib import Path

from fx_lsp.documents.notebooks import Cell, Notebook


def read_notebook(path: Path) -> Notebook:
    """The notebook at ``path``. The number of a cell among all cells, from 1, is used as its URI.

    Raises OSError, or ValueError with an explanation if the file is not a notebook.
    """
    notebook = Notebook()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        language = str(content["metadata"].get("language_info", {}).get("name", "python"))
        for number, cell in enumerate(content["cells"], 1):
            if cell["cell_type"] == "code":
                source = cell["source"]
                text = source if isinstance(source, str) else "".join(source)
                notebook.texts[str(number)] = Cell.of(str(number), language, 0, text)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("it is not a notebook in version 4 of Jupyter's format") from None
    notebook.order = list(notebook.texts)
    notebook.lay_out()
    return notebook
