"""A problem in few words, for coding agents: where, what, why, and the smallest edit."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from fx_lsp.check.check_files import Problem
from fx_lsp.check.shown_places import ends, posix_path, spot
from fx_lsp.documents.documents import Documents
from fx_lsp.fixes import Fix
from fx_lsp.fixes.editing.text_edits import applied


def compact(problem: Problem, documents: Documents) -> str:
    """The problem, its causes, and its best edit."""
    fix = best_fix(problem)
    tried = problem.proofs.get(fix) if fix else None
    result = f" ({tried.in_words})" if tried else ""
    edit = () if fix is None else (f"edit: {fix.title}{result}", *edit_lines(fix, documents))
    return "\n".join((*problem_lines(problem, documents), *edit))


def problem_lines(problem: Problem, documents: Documents) -> Iterator[str]:
    """The problem and its causes, one in each line."""
    finding = problem.finding
    here = spot(finding.place, documents)
    (line, column), _ = ends(finding.place, documents)
    yield f"{here.name}:{line}:{column}: {finding.severity}[{finding.rule.code}] {finding.line}"
    for link in finding.links:
        (line, column), _ = ends(link.place, documents)
        yield f"  {spot(link.place, documents).name}:{line}:{column}: {' '.join(link.text.split())}"


def best_fix(problem: Problem) -> Fix | None:
    """A proven edit if there is one, otherwise one that was not refuted; of several, the one that changes the least.

    One that rejects inputs is the best only if there is no other.
    """
    verdicts = {fix: proof.verdict for fix, proof in problem.proofs.items()}
    left = [fix for fix in problem.fixes if verdicts.get(fix) != "refuted"]
    return min(left, key=lambda fix: (verdicts.get(fix) != "proven", fix.rejects_inputs, _size(fix)), default=None)


def edit_lines(fix: Fix, documents: Documents) -> Iterator[str]:
    """The lines that an edit removes and adds, as in a unified diff without context; nothing for notebooks."""
    if any(change.span.file in documents.notebooks for change in fix.changes):
        return
    for path, text in applied(fix.changes, documents.lines).items():
        yield from diff_lines(path, documents.text(path) or "", text)


def diff_lines(path: str, old: str, new: str) -> Iterator[str]:
    """The lines that differ, as in a unified diff without context."""
    name = posix_path(path)
    yield from difflib.unified_diff(old.splitlines(), new.splitlines(), f"a/{name}", f"b/{name}", n=0, lineterm="")


def _size(fix: Fix) -> int:
    """How much an edit changes: the lines that it replaces and the characters that it adds."""
    return sum(change.span.end_line - change.span.line + 1 + len(change.text) for change in fix.changes)
