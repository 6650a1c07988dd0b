"""Applies fixes to many files, in memory, until no proven fix is left; writing the files is a separate step."""

from __future__ import annotations

import tokenize
from collections.abc import Sequence
from pathlib import Path

from fx_lsp.analysis.fix_proofs import FixProofs
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.documents.documents import on_disk
from fx_lsp.fixes.editing.text_edits import applied

MOST_ROUNDS = 10
"""The maximum number of rounds: the fixes of one round may reveal new failures, which the next round can fix."""


async def mend(scheduler: Scheduler, proofs: FixProofs, files: Sequence[str], *, unproven: bool) -> dict[str, str]:
    """Fix failures in ``files``, which have been traced, in memory. Returns path -> new text for each changed file.

    Afterwards, ``scheduler`` has the results for the new texts. ``unproven``: also apply fixes that could not be tried,
    but no fix that was refuted.
    """
    changed: dict[str, str] = {}
    for _ in range(MOST_ROUNDS):
        before = dict(changed)
        for file in files:
            changed |= await _round(scheduler, proofs, file, unproven=unproven)
        if changed == before:
            break
    return {path: text for path, text in changed.items() if (disk := on_disk(path)) is None or disk.text != text}


def write(path: str, text: str) -> None:
    """Write a file in its current encoding. Raises OSError, and UnicodeEncodeError if ``text`` can't be encoded."""
    with Path(path).open("rb") as file:
        encoding, _ = tokenize.detect_encoding(file.readline)
    Path(path).write_bytes(text.encode(encoding))


async def _round(scheduler: Scheduler, proofs: FixProofs, file: str, *, unproven: bool) -> dict[str, str]:
    """Make one edit in memory that fixes failures of a file, and trace the files it affects. Returns the new texts."""
    fix = await proofs.prove_at_once(file) or await proofs.prove_together(file, unproven=unproven)
    edited = applied(fix.changes, scheduler.documents.lines) if fix else {}
    for path, text in edited.items():
        scheduler.documents.open(path, text, 0)
    for other, result in list(scheduler.results.items()):
        if edited and ({other} | result.dependencies) & edited.keys():
            await scheduler.trace(other)
    return edited
