"""Keeps the arguments that were invented to trace targets, for the proofs of edits of these targets."""

from __future__ import annotations

from collections.abc import Hashable

from fx_lsp.agent.inventing.plan_memory import Invented, Plans
from fx_lsp.agent.messages import Prove, Target, Trace
from fx_lsp.agent.serving.remembered_proofs import built_as

MOST_CHARACTERS = 16_000_000
"""How many characters of plans are kept for all targets together."""


class TracedPlans:
    """The arguments that the last trace of each target has invented."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Hashable], tuple[str | None, Plans]] = {}
        """By file and target, with the text of the open file; the targets that were traced last are last."""

    def of(self, request: Prove) -> Plans:
        """The arguments for the request's target; empty if none were invented for this text."""
        text, plans = self._kept.get(_subject(request, request.target), (None, {}))
        return plans if text == request.overlays.get(request.file) else {}

    def forget(self, request: Trace) -> None:
        """Forget what was invented for targets that are now traced again."""
        for target in request.targets:
            self._kept.pop(_subject(request, target), None)

    def keep(self, request: Trace, item: Invented) -> None:
        """Keep what a trace has invented; as of all its messages, any part of it may be anything."""
        target = next((asked for asked in request.targets if asked.key == item.target), None)
        if target is None or not isinstance(item.plans, dict):
            return
        if all(isinstance(part, str) for pair in item.plans.items() for part in pair):
            self._kept.pop(_subject(request, target), None)
            self._kept[_subject(request, target)] = request.overlays.get(request.file), item.plans
        while sum(map(_length, self._kept.values())) > MOST_CHARACTERS:
            del self._kept[next(iter(self._kept))]


def _subject(request: Trace | Prove, target: Target) -> tuple[str, Hashable]:
    return request.file, built_as(target)


def _length(kept: tuple[str | None, Plans]) -> int:
    return sum(map(len, kept[1].values()))
