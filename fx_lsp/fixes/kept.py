"""Fixes kept on disk: to find one, a file is parsed and written anew, which takes a while for many problems."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.cache import Cache
from fx_lsp.contents import digest, server_sources
from fx_lsp.fixes import Fix, ReadText, TextChange, fixes_for


def kept_fixes_for(cache: Cache, failure: Failure, read: ReadText, calls: Sequence[Span] = ()) -> tuple[Fix, ...]:
    """`fixes_for`, but what was found once is not looked for again while the texts that were read are the same."""
    key = digest(server_sources(), repr(failure), repr(calls))
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


def _digest(text: str | None) -> str | None:
    return None if text is None else digest(text)


def _fix(fields: dict[str, object]) -> Fix:
    changes = fields["changes"]
    assert isinstance(changes, list)
    return Fix(str(fields["title"]), tuple(TextChange(Span(**one["span"]), one["text"]) for one in changes))
