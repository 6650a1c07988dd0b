"""The page that says what the sweep found."""

from __future__ import annotations

import importlib.metadata
import sys
from collections import Counter

from tests.core.sweep.cases import LARGEST
from tests.core.sweep.comparison import Result

OUTCOMES = ("failed", "differs", "not built")


def page(results: list[Result], seconds: float) -> str:
    """docs/parity.md."""
    libraries = dict.fromkeys(["torch", *(r.case.library for r in results)])
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in libraries)
    lines = [
        "# Parity with torch.fx",
        "",
        "What `.venv/bin/python -m tests.core.sweep --jobs 2 --write` found: each model is traced by fxcore and by the",
        "installed torch.fx in one process. *Traced alike*: the same nodes (name, op, target, arguments, annotation,",
        "module stack) and the same code. *Equal outputs*: how many of these were also built with numbers, traced and",
        f"run on the CPU, and gave the same outputs bit for bit (a sample, of at most {LARGEST // 10**6} million",
        "parameters). *Failed alike*: the same type of exception at the same expression. *Not built*: the constructor",
        "refuses, a package is missing, or the memory doesn't suffice. Of transformers these are all models that see",
        "images alone, and a part of the others; a forward that torch.fx can't bind (see",
        "[Differences on purpose](fxcore.md#differences-on-purpose)) is there as wrapped only.",
        "",
        f"{versions}; Python {sys.version.split()[0]}; {len(results)} cases in {seconds / 60:.0f} minutes.",
        "",
        "| library | mode | traced alike | equal outputs | failed alike | differ | not built |",
        "|---|---|---|---|---|---|---|",
    ]
    for key in dict.fromkeys((r.case.library, r.case.mode) for r in results):
        lines.append(_row(" | ".join(key), [r for r in results if (r.case.library, r.case.mode) == key]))
    lines += [_row("all | ", results), "", "## What differs", ""]
    differing = [r for r in results if r.outcome == "differs"]
    lines += [f"- {r.case.title}: {r.detail.splitlines()[0]}" for r in differing] or ["Nothing."]
    return "\n".join(lines) + "\n"


def _row(title: str, results: list[Result]) -> str:
    counts = Counter(r.outcome for r in results)
    numbers = [counts["traced"], sum(r.ran for r in results), *(counts[outcome] for outcome in OUTCOMES)]
    return f"| {title} | {' | '.join(map(str, numbers))} |"
