"""Fixes kept on disk: to find one, a file is parsed and written anew, which takes a while for many problems."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Sequence
from importlib import metadata

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.cache import Cache
from fx_lsp.contents import digest, server_code
from fx_lsp.fixes import Fix, ReadText, TextChange, fixes_for
from fx_lsp.import_graph import package_of


def kept_fixes_for(cache: Cache, failure: Failure, read: ReadText, calls: Sequence[Span] = ()) -> tuple[Fix, ...]:
    """`fixes_for`, but what was found once is not looked for again while the texts that were read are the same."""
    packages = [package_of(step.span.file) for step in failure.chain]  # a fix may import from them
    key = digest(server_code(), _libcst(), repr(failure), repr(calls), repr(packages))
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
    """The version of what reads and writes the files; empty where that is not told."""
    try:
        return metadata.version("libcst")
    except metadata.PackageNotFoundError:
        return ""


def _digest(text: str | None) -> str | None:
    return None if text is None else digest(text)


def _fix(fields: dict[str, object]) -> Fix:
    changes = fields["changes"]
    assert isinstance(changes, list)
    return Fix(str(fields["title"]), tuple(TextChange(Span(**one["span"]), one["text"]) for one in changes))
