"""Writes the page with the results of the sweep."""

from __future__ import annotations

import importlib.metadata
import sys
from collections import Counter

from tests.core.sweep.cases import LARGEST
from tests.core.sweep.comparison import Result

OUTCOMES = ("failed", "differs", "not built")


def page(results: list[Result], seconds: float) -> str:
    """The text of docs/parity.md."""
    libraries = dict.fromkeys(["torch", *(r.case.library for r in results)])
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in libraries)
    lines = [
        "# Parity with torch.fx",
        "",
        "`.venv/bin/python -m tests.core.sweep --jobs 2 --write` traced each model with fxcore and with the installed",
        "torch.fx in one process, and compared the results. The columns are:",
        "",
        "- *Traced alike*: both traced the model, and the graphs have the same code and the same nodes (name, op,",
        "  target, arguments, annotation and module stack).",
        f"- *Equal outputs*: a sample of these models, with at most {LARGEST // 10**6} million parameters each, was",
        "  also built with initialized weights and run on the CPU. This is the number of models for which the outputs",
        "  of both graphs were the same, bit for bit.",
        "- *Failed alike*: both raised the same type of exception at the same expression.",
        "- *Differ*: the results were different in any other way.",
        "- *Not built*: the constructor failed, a package was missing, or there was not enough memory.",
        "",
        "From transformers, the sweep traced all models that take only images, and some of the others. It used two",
        "modes: inside a wrapper module with a plain signature (*wrapped*), and with `concrete_args`. If torch.fx",
        "can't bind a model's `forward` (see [Differences on purpose](fxcore.md#differences-on-purpose)), the model",
        "was only traced wrapped.",
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
