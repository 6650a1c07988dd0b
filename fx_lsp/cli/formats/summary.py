"""A table by folder: how many targets (models and functions) have each verdict (see ``report.py``)."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import PurePath

from fx_lsp.agent.messages import Capture
from fx_lsp.check.check_files import Checked
from fx_lsp.check.shown_places import shown_path
from fx_lsp.cli.formats.report import verdict_of

_COLUMNS = ("files", "ok", "fails", "unknown", "skipped")


def render(checked: Checked) -> str:
    """For each capture, one row for each folder that has targets, and a row for the total of that capture."""
    counts: dict[str, dict[Capture, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    totals: dict[Capture, Counter[str]] = defaultdict(Counter)
    for path, result in checked.results.items():
        if result.traced:
            folder = str(PurePath(shown_path(path)).parent)
            for capture in checked.captures:
                count = Counter[str](verdict_of(traced) for of, traced in checked.verdicts(result) if of == capture)
                count["files"] = 1
                counts[folder][capture] += count
                totals[capture] += count
    named = [*((folder, counts[folder]) for folder in sorted(counts)), ("total", totals)]
    rows = [_row(name, capture, by[capture]) for name, by in named for capture in checked.captures]
    widths = [max(map(len, column)) for column in zip(("", *_COLUMNS), *rows, strict=True)]
    return "\n".join(_aligned(row, widths) for row in [("", *_COLUMNS), *rows])


def _row(name: str, capture: Capture, count: Counter[str]) -> tuple[str, ...]:
    return (name if capture == "fx" else f"{name} [{capture}]", *(str(count[column]) for column in _COLUMNS))


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    name, *numbers = (
        f"{cell:<{width}}" if at == 0 else f"{cell:>{width}}"
        for at, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join((name, *numbers))
