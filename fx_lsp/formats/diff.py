"""All edits as one unified diff, which ``patch -p1`` and ``git apply`` take in the working directory."""

from __future__ import annotations

import difflib
import io
import os

from fx_lsp.check import Checked
from fx_lsp.documents import on_disk
from fx_lsp.formats.places import shown_path


def render(checked: Checked) -> str:
    """See the module."""
    return "".join(_file_diff(path, text) for path, text in sorted(checked.edits.items())).rstrip("\n")


def _file_diff(path: str, text: str) -> str:
    lines = on_disk(path)
    before = _whole_lines(lines.text if lines else "")
    name = shown_path(path).replace(os.sep, "/")
    rows = difflib.unified_diff(before, _whole_lines(text), f"a/{name}", f"b/{name}")
    return "".join(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)


def _whole_lines(text: str) -> list[str]:
    return io.StringIO(text, newline="\n").readlines()
