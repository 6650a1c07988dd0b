"""Filters what a child or worker sends to the agent: only answers to its own request are passed on.

The sending process has run the user's code, which may have written anything to its pipe.
"""

from __future__ import annotations

from fx_lsp.agent.messages import Costs, Details, Heartbeat, Proof, Prove, Report, Trace


def is_answer(item: object, request: Trace | Prove) -> bool:
    """Whether ``item`` answers ``request``, and not another request or a target that ``request`` does not have."""
    if isinstance(item, Report | Details | Costs):
        is_asked = isinstance(request, Trace) and any(item.target == target.key for target in request.targets)
        return is_asked and item.id == request.id
    if isinstance(item, Proof):
        return isinstance(request, Prove) and item.id == request.id
    return isinstance(item, Heartbeat) and item.id == request.id


def only_strings(items: object) -> tuple[str, ...]:
    """Return the strings among ``items``, which are paths or module names; empty if ``items`` is not a tuple."""
    return tuple(item for item in items if isinstance(item, str)) if isinstance(items, tuple) else ()
