"""Keeps the arguments that were invented to trace targets, for the proofs of edits of these targets."""

from __future__ import annotations

from fx_lsp.agent.inventing.plan_memory import Invented, Plans
from fx_lsp.agent.messages import Prove, Trace

MOST_CHARACTERS = 16_000_000
"""How many characters of plans are kept for all targets together."""


class TracedPlans:
    """The arguments that the last trace of each target has invented."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Plans] = {}
        """By file and target; the targets that were traced last are last."""

    def of(self, request: Prove) -> Plans:
        """The arguments for the request's target; empty if none were invented."""
        return self._kept.get((request.file, request.target.key), {})

    def keep(self, request: Trace, item: Invented) -> None:
        """Keep what a trace has invented; as of all its messages, any part of it may be anything."""
        target = (request.file, item.target)
        if not any(item.target == asked.key for asked in request.targets) or not isinstance(item.plans, dict):
            return
        self._kept.pop(target, None)
        if all(isinstance(part, str) for pair in item.plans.items() for part in pair):
            self._kept[target] = item.plans
        while sum(map(_length, self._kept.values())) > MOST_CHARACTERS:
            del self._kept[next(iter(self._kept))]


def _length(plans: Plans) -> int:
    return sum(map(len, plans.values()))
