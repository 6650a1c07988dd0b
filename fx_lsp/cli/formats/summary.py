"""A table by folder: how many targets (models and functions) have each verdict (see ``report.py``)."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import PurePath

from fx_lsp.check.check_files import Checked
from fx_lsp.check.shown_places import shown_path
from fx_lsp.cli.formats.report import verdict_of

_COLUMNS = ("files", "ok", "fails", "unknown", "skipped")


def render(checked: Checked) -> str:
    """One row for each folder that has targets and each capture, and a row for the total."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path, result in checked.results.items():
        if result.traced:
            folder = str(PurePath(shown_path(path)).parent)
            for capture in checked.captures:
                found = Counter(verdict_of(traced) for of, traced in checked.verdicts(result) if of == capture)
                counts[folder if capture == "fx" else f"{folder} [{capture}]"] += Counter(files=1) + Counter(found)
    rows = [("", *_COLUMNS), *(_row(folder, counts[folder]) for folder in sorted(counts))]
    rows.append(_row("total", sum(counts.values(), Counter())))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_aligned(row, widths) for row in rows)


def _row(name: str, count: Counter[str]) -> tuple[str, ...]:
    return (name, *(str(count[column]) for column in _COLUMNS))


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    name, *numbers = (
        f"{cell:<{width}}" if at == 0 else f"{cell:>{width}}"
        for at, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join((name, *numbers))
