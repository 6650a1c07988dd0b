"""Caches fixes on disk.

To find a fix, fx-lsp parses and rewrites files, which takes a while when there are many problems.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Sequence
from importlib import metadata

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.fixes import Fix, ReadText, TextChange, fixes_for
from fx_lsp.workspace.disk_cache import Cache
from fx_lsp.workspace.file_digests import digest, server_digest
from fx_lsp.workspace.import_graph import package_of


def kept_fixes_for(cache: Cache, failure: Failure, read: ReadText, calls: Sequence[Span] = ()) -> tuple[Fix, ...]:
    """The result of `fixes_for`, from ``cache`` if the files that it reads have not changed since it was computed."""
    packages = [package_of(step.span.file) for step in failure.chain]  # a fix may import from them
    key = digest(server_digest(), _libcst(), repr(failure), repr(calls), repr(packages))
    if (content := cache.get(key)) is not None:
        kept = json.loads(content)
        if all(_digest(read(path)) == known for path, known in kept["texts"].items()):
            return tuple(map(_fix, kept["fixes"]))
    texts: dict[str, str | None] = {}

    def noted(path: str) -> str | None:
        text = read(path)
        texts[path] = _digest(text)
        return text

    found = fixes_for(failure, noted, calls)
    cache.put(key, json.dumps({"texts": texts, "fixes": list(map(dataclasses.asdict, found))}).encode())
    return found


@functools.cache
def _libcst() -> str:
    """The version of libcst, which edits the files; empty if its metadata is missing."""
    try:
        return metadata.version("libcst")
    except metadata.PackageNotFoundError:
        return ""


def _digest(text: str | None) -> str | None:
    return None if text is None else digest(text)


def _fix(fields: dict[str, object]) -> Fix:
    changes = fields["changes"]
    assert isinstance(changes, list)
    made = tuple(TextChange(Span(**one["span"]), one["text"]) for one in changes)
    kinds = {name: bool(fields[name]) for name in ("adds_operator", "rejects_inputs")}
    return Fix(str(fields["title"]), made, **kinds)
