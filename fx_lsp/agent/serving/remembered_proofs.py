"""Keeps what proofs have found out about their targets, for the next proofs of the same targets."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields, replace

from fx_lsp.agent.messages import Prove, Recipe, Target
from fx_lsp.agent.proving.proof_memory import Remembered
from fx_lsp.agent.serving.reply_filter import only_strings

MOST_BYTES = 128_000_000
"""How many bytes of findings are kept for all targets together."""


class RememberedProofs:
    """What the last proof of each target has found."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Remembered] = {}
        """By what `_subject` returns; the targets that were proven last are last."""

    def of(self, request: Prove) -> Remembered | None:
        """What the last proof of the request's target has found."""
        return self._kept.get(_subject(request))

    def keep(self, request: Prove, item: Remembered) -> None:
        """Keep what a proof has found; as of all its messages, any part of it may be something else than expected."""
        subject = _subject(request)
        self._kept.pop(subject, None)
        if isinstance(item.pickled, bytes) and isinstance(item.texts, str) and isinstance(item.after, str):
            self._kept[subject] = replace(item, files=only_strings(item.files))
        while sum(len(kept.pickled) + len(kept.after) for kept in self._kept.values()) > MOST_BYTES:
            del self._kept[next(iter(self._kept))]


def _subject(request: Prove) -> Hashable:
    """The target, how it is built, and the limits."""
    return request.file, built_as(request.target), request.limits


def built_as(target: Target) -> Hashable:
    """The target, and how it is built; edits that only move it to other lines don't change this."""
    return target.key, tuple(map(_sources, (target.recipe, *target.fallbacks)))


def _sources(recipe: Recipe) -> Hashable:
    """A recipe without its line numbers."""
    values = (getattr(recipe, field.name) for field in fields(recipe))
    return tuple(
        tuple(snippet.source for snippet in value) if isinstance(value, tuple) else getattr(value, "source", value)
        for value in values
    )
