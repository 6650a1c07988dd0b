"""Adds to an edit that only moves what stops a trace or another capture an edit for the next place, until none is left.

A number that is read from a tensor or its shape, for example, often stops them where it is read, and again where it is
used.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from fx_lsp.agent.messages import Failure, Proof, Span
from fx_lsp.fixes import Fix, ReadText
from fx_lsp.fixes.editing.successive_edits import EditedText
from fx_lsp.fixes.editing.text_edits import LinesOf

MOST_EDITS = 4
"""How many edits one fix is made of."""

MOST_TRIED = 12
"""How many fixes of one failure are tried, including those that one edit makes."""

MOST_ALTERNATIVES = 3
"""How many edits are tried for each further place."""

FixesOf = Callable[[Failure, ReadText], Sequence[Fix]]
"""The edits that may fix a failure of the texts that the second argument reads."""

Attempt = Callable[[Fix, Sequence[Span]], Awaitable[Proof]]
"""Tries a fix, which also mends further places."""


@dataclass(frozen=True)
class _Edits:
    """Edits, each of the text that the one before leaves."""

    lines_of: LinesOf
    texts: Mapping[str, EditedText] = field(default_factory=dict)
    titles: tuple[str, ...] = ()
    adds_operator: bool = False
    further: tuple[Span, ...] = ()
    """The places that all edits but the first mend, in the first text."""

    def then(self, fix: Fix, place: Span | None = None) -> _Edits:
        """These edits and one more, which mends ``place`` of the edited text."""
        texts = dict(self.texts)
        for path in {change.span.file for change in fix.changes}:
            if path not in texts and (lines := self.lines_of(path)) is not None:
                texts[path] = EditedText(path, lines)
            if path in texts:
                texts[path] = texts[path].after(fix.changes)
        further = () if place is None else (self.first_place(place),)
        return replace(
            self,
            texts=texts,
            titles=(*self.titles, fix.title),
            adds_operator=self.adds_operator or fix.adds_operator,
            further=(*self.further, *further),
        )

    def first_place(self, place: Span) -> Span:
        """Where what is at ``place`` of the edited text was at first."""
        return self.texts[place.file].first_place(place) if place.file in self.texts else place

    @property
    def fix(self) -> Fix:
        """All edits as one."""
        titles = [title if not at else title[:1].lower() + title[1:] for at, title in enumerate(self.titles)]
        changes = tuple(change for text in self.texts.values() for change in text.changes)
        return Fix("; then ".join(titles), changes, self.adds_operator)


async def proven_chain(
    begun: Iterable[tuple[Fix, Proof]], lines_of: LinesOf, read: ReadText, fixes_of: FixesOf, attempt: Attempt
) -> tuple[Fix, Proof] | None:
    """The first proven fix that begins with one of the edits ``begun``, none of which is proven; None if there is none.

    The shortest are tried first. ``lines_of`` and ``read`` return the texts before any edit.
    """
    waiting = deque((_Edits(lines_of).then(fix), proof) for fix, proof in begun)
    tried = {edits.fix.changes for edits, _ in waiting}
    while waiting:
        edits, proof = waiting.popleft()
        stop = proof.moved_to
        if stop is None or not stop.chain or len(edits.titles) == MOST_EDITS:
            continue
        texts = {path: text.text for path, text in edits.texts.items()}
        found = await asyncio.to_thread(fixes_of, stop, partial(_read, texts, read))
        for fix in found[:MOST_ALTERNATIVES]:
            longer = edits.then(fix, stop.chain[-1].span)
            if longer.fix.changes in tried:
                continue
            if len(tried) > MOST_TRIED:
                return None
            tried.add(longer.fix.changes)
            proof = await attempt(longer.fix, longer.further)
            if proof.verdict == "proven":
                return longer.fix, proof
            waiting.append((longer, proof))
    return None


def _read(texts: Mapping[str, str], read: ReadText, path: str) -> str | None:
    return texts[path] if path in texts else read(path)
