"""Computes fingerprints that identify a problem even after an edit elsewhere in the file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from fx_lsp.check.check_files import Problem
from fx_lsp.check.shown_places import posix_path
from fx_lsp.documents.documents import Documents, Place


def fingerprints(problems: Iterable[Problem], documents: Documents) -> list[str]:
    """For each problem, a digest of its path from the working directory, its rule's code and its source text.

    Problems of a file that are equal in all of these are numbered, so that their digests differ.
    """
    seen = Counter[tuple[str, ...]]()
    marks = []
    for problem in problems:
        place = problem.finding.place
        path = posix_path(place.path)
        capture = problem.finding.capture
        of = () if capture == "fx" else (capture,)  # a baseline that was written before there were others stays valid
        identity = (*of, path, problem.finding.rule.code, _source(place, documents))
        seen[identity] += 1
        marks.append(hashlib.sha256("\0".join((*identity, str(seen[identity]))).encode()).hexdigest())
    return marks


def _source(place: Place, documents: Documents) -> str:
    """The text of the place and the line in which it begins, with white space normalized."""
    text = documents.text(place.path) or ""
    start = text.rfind("\n", 0, place.start) + 1
    end = text.find("\n", place.start)
    line = text[start : end if end >= 0 else len(text)]
    return "\n".join(" ".join(part.split()) for part in (line, text[place.start : place.end]))
