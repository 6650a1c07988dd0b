"""All edits as one unified diff, which ``patch -p1`` and ``git apply`` accept in the working directory."""

from __future__ import annotations

import difflib
import io

from fx_lsp.check.check_files import Checked
from fx_lsp.check.shown_places import posix_path
from fx_lsp.documents.documents import on_disk


def render(checked: Checked) -> str:
    """The diffs of all files, in the order of their paths."""
    return "".join(_file_diff(path, text) for path, text in sorted(checked.edits.items())).rstrip("\n")


def _file_diff(path: str, text: str) -> str:
    lines = on_disk(path)
    before = _whole_lines(lines.text if lines else "")
    name = posix_path(path)
    rows = difflib.unified_diff(before, _whole_lines(text), f"a/{name}", f"b/{name}")
    return "".join(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)


def _whole_lines(text: str) -> list[str]:
    return io.StringIO(text, newline="\n").readlines()
