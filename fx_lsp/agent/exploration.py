"""The failures that lie behind a target's first one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from fxcore.explore import Site, explore
from fxcore.failures import FailureKind

from .build import Built
from .messages import Failure
from .places import chain_of_frames, to_span, told


def all_failures(first: Failure, built: Built, examples: Mapping[str, Any] | None) -> tuple[Failure, ...]:
    """``first``, which a plain trace ended with, and after it what else a trace of a fresh build meets.

    ``examples`` has a value for each input, if some are known: they show which way the program really goes.
    An error of the program's own is left out behind the first: it may owe itself to what was assumed before, or to
    parameters without memory.
    """
    sites = explore(built.root, built.concrete_args, tracer=built.tracer, examples=examples).sites
    found = [_failure(site) for site in sites if site.failure.kind is not FailureKind.EXCEPTION]
    same = next((failure for failure in found if failure.chain == first.chain), None)
    if same is not None:
        first = dataclasses.replace(same, kind=first.kind, error=first.error, operation=first.operation)
    return first, *(failure for failure in found if failure is not same)


def _failure(site: Site) -> Failure:
    after = site.after.failure.span if site.after else None
    return dataclasses.replace(
        told(site.failure),
        count=site.count,
        assumption=site.assumption,
        after=None if after is None else to_span(after),
        cause=chain_of_frames(site.cause),
    )
