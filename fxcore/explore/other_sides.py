"""Explores what lies on the other side of the decisions that an exploring trace took."""

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
"""How often the program is run again. A run is followed by another one if it ends early or meets further conditions."""


@dataclass(frozen=True)
class OtherSide:
    """A place that can't be traced, on a way that the first run did not take."""

    site: Site
    decided: Site
    """The condition that was turned around last before the program reached ``site``."""
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
    """The further places where the program can't be traced if the conditions of the ``first`` run turn out otherwise.

    ``make`` returns the program, anew for each run: a run may leave traced values in lists of the one that it ran. The
    other arguments are those of the first run. All conditions are turned around in one run: the rest of an ``and``, the
    other branch of an ``if``, one more turn of a loop. Conditions that only such a run meets are turned around in the
    next one. If a run ends early and meets no others, the next run doesn't turn the condition around that led there.
    """
    tried = dict.fromkeys(first.decisions.turnable())
    turned = list(tried)
    known = {site.failure.span for site in first.sites}
    found: list[OtherSide] = []
    for _ in range(MOST_RUNS if turned else 0):
        run = explore(make(), concrete_args, tracer=tracer, examples=examples, decisions=Decisions(turned))
        found += _beyond(run, known)
        known |= {other.site.failure.span for other in found}
        further = [condition for condition in run.decisions.turnable() if condition not in tried]
        blamed = None if run.complete else run.decisions.last_turned
        if further:
            turned += further
            tried |= dict.fromkeys(further)
        elif blamed in turned:
            turned.remove(blamed)
        else:
            break
    return found


def _beyond(run: Exploration, known: set[Any]) -> list[OtherSide]:
    """The sites of a run that are not ``known`` and that come after a condition that was turned around."""
    found: list[OtherSide] = []
    decided: Site | None = None
    for site in run.sites:
        if site.turned:
            decided = site
        is_own_error = site.failure.kind is FailureKind.EXCEPTION
        if decided is not None and site is not decided and site.failure.span not in known and not is_own_error:
            found.append(OtherSide(site, decided, run.root))
    return found
