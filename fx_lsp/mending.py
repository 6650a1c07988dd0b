"""Applying fixes to many files until none is left that is proven, in memory; writing the outcome is another step."""

from __future__ import annotations

import tokenize
from collections.abc import Sequence
from pathlib import Path

from fx_lsp.analysis import Analysis
from fx_lsp.documents import on_disk
from fx_lsp.edits import applied
from fx_lsp.proofs import Proofs

MOST_ROUNDS = 10
"""How often a fix may bring to light what the next one mends."""


async def mend(analysis: Analysis, proofs: Proofs, files: Sequence[str], *, unproven: bool) -> dict[str, str]:
    """Path -> new text, for every file that a fix changes; ``analysis`` knows what is left then.

    ``files`` were traced. ``unproven``: take what could not be tried, too, but nothing that was refuted.
    """
    changed: dict[str, str] = {}
    for _ in range(MOST_ROUNDS):
        before = dict(changed)
        for file in files:
            changed |= await _round(analysis, proofs, file, unproven=unproven)
        if changed == before:
            break
    return {path: text for path, text in changed.items() if (disk := on_disk(path)) is None or disk.text != text}


def write(path: str, text: str) -> None:
    """Write a file in the encoding that it has. Raises OSError, and UnicodeEncodeError where that has no such text."""
    with Path(path).open("rb") as file:
        encoding, _ = tokenize.detect_encoding(file.readline)
    Path(path).write_bytes(text.encode(encoding))


async def _round(analysis: Analysis, proofs: Proofs, file: str, *, unproven: bool) -> dict[str, str]:
    """One edit of a file's failures, made in memory; its dependants are traced again."""
    fix = await proofs.prove_at_once(file) or await proofs.prove_together(file, unproven=unproven)
    edited = applied(fix.changes, analysis.documents.lines) if fix else {}
    for path, text in edited.items():
        analysis.documents.open(path, text, 0)
    for other, result in list(analysis.results.items()):
        if edited and ({other} | result.dependencies) & edited.keys():
            await analysis.trace(other)
    return edited
