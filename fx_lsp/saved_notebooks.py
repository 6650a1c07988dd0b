"""Notebooks as Jupyter saves them (nbformat 4)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fx_lsp.notebooks import Cell, Notebook


def read_notebook(path: Path) -> Notebook:
    """The notebook at ``path``; the URI of each of its cells is its number, from 1, among all of them.

    Raises OSError, or ValueError with the reason in words where the file is no notebook.
    """
    notebook = Notebook()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        language = str(content["metadata"].get("language_info", {}).get("name", "python"))
        for number, source in _code_cells(content["cells"]):
            notebook.texts[number] = Cell.of(number, language, 0, source)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("it is not a notebook of Jupyter's fourth format") from None
    notebook.order = list(notebook.texts)
    notebook.lay_out()
    return notebook


def _code_cells(cells: list[Any]) -> Iterator[tuple[str, str]]:
    for number, cell in enumerate(cells, 1):
        if cell["cell_type"] == "code":
            source = cell["source"]
            yield str(number), source if isinstance(source, str) else "".join(source)
