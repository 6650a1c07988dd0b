"""Explores the branches of a program that an exploring trace did not take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from fxcore.explore.decisions import Decisions
from fxcore.explore.explorer import Exploration, explore
from fxcore.explore.failure_sites import Site
from fxcore.failures import FailureKind
from fxcore.tracer import Tracer

MOST_RUNS = 4
"""The maximum number of further runs. A run is followed by another one if it ends early or meets further conditions."""


@dataclass(frozen=True)
class OtherSide:
    """A place that can't be traced, on a path that the first run did not take."""

    site: Site
    decided: Site
    """The last condition that was reversed before the program reached ``site``."""
    root: torch.nn.Module
    """The module that the nodes of ``site`` refer to."""


def explore_other_sides(
    make: Callable[[], torch.nn.Module | Callable[..., Any]],
    concrete_args: Mapping[str, Any] | tuple[Any, ...] | None,
    first: Exploration,
    *,
    tracer: Tracer | None = None,
    examples: Mapping[str, Any] | None = None,
) -> list[OtherSide]:
    """Return further places that can't be traced, found by reversing the conditions of the ``first`` run.

    ``make`` builds the program anew for each run, because a run may leave traced values in the program's lists. The
    other arguments are those of the first run. One run reverses all conditions, and so reaches the rest of an ``and``,
    the other branch of an ``if``, or another turn of a loop. Conditions that only this run meets are reversed in the
    next one. If a run ends early and meets no new conditions, the next run doesn't reverse the condition that led to
    this end. A run that has left all of its conditions behind is ended once it has been on the path of
    the first for a while.
    """
    tried = first.decisions.turnable()
    turned = dict(tried)
    known = {site.failure.span for site in first.sites}
    found: list[OtherSide] = []
    path = {node.where for node in first.recorded.nodes}
    for _ in range(MOST_RUNS if turned else 0):
        run = explore(make(), concrete_args, tracer=tracer, examples=examples, decisions=Decisions(turned, path))
        found += _beyond(run, known)
        known |= {other.site.failure.span for other in found}
        further = {condition: at for condition, at in run.decisions.turnable().items() if condition not in tried}
        blamed = None if run.complete or run.saw_enough else run.decisions.last_turned
        if further:
            turned |= further
            tried |= further
        elif blamed in turned:
            del turned[blamed]
        else:
            break
    return found


def _beyond(run: Exploration, known: set[Any]) -> list[OtherSide]:
    """The sites of a run that are not ``known`` and that come after a condition that was reversed."""
    found: list[OtherSide] = []
    decided: Site | None = None
    for site in run.sites:
        if site.turned:
            decided = site
        is_own_error = site.failure.kind is FailureKind.EXCEPTION
        if decided is not None and site is not decided and site.failure.span not in known and not is_own_error:
            found.append(OtherSide(site, decided, run.root))
    return found
