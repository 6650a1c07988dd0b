"""Filters what a child or worker sends to the agent: only answers to its own request are passed on.

The sending process has run the user's code, which may have written anything to its pipe.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping

from fx_lsp.agent.messages import Costs, Details, Heartbeat, Proof, Prove, Report, Trace

LARGEST_NUMBER = 2**63
"""From this number on, no number of operations or bytes is believed."""


def is_answer(item: object, request: Trace | Prove) -> bool:
    """Whether ``item`` answers ``request``, and not another request or a target that ``request`` does not have."""
    if isinstance(item, Report | Details | Costs):
        is_asked = isinstance(request, Trace) and any(item.target == target.key for target in request.targets)
        return is_asked and item.id == request.id and (not isinstance(item, Costs) or _is_sound(item))
    if isinstance(item, Proof):
        return isinstance(request, Prove) and item.id == request.id
    return isinstance(item, Heartbeat) and item.id == request.id


def _is_sound(costs: Costs) -> bool:
    """Whether the numbers in ``costs`` are numbers that the server can calculate with and show."""
    return _fits(costs, Costs) and all(operator.calls for operator in costs.uncounted)


def _fits(value: object, hint: typing.Any) -> bool:
    """Whether a value has the type ``hint``, all the way down, and its numbers are not negative and not too large."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is int:
        return type(value) is int and 0 <= value < LARGEST_NUMBER
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        fields = _fields(hint)
        return isinstance(value, hint) and all(_fits(getattr(value, name), fields[name]) for name in fields)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, arguments[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            _fits(item, of) for pair in value.items() for item, of in zip(pair, arguments, strict=True)
        )
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, argument) for argument in arguments)
    return isinstance(value, hint)


@functools.cache
def _fields(cls: type) -> Mapping[str, typing.Any]:
    return typing.get_type_hints(cls)


def only_strings(items: object) -> tuple[str, ...]:
    """Return the strings among ``items``, which are paths or module names; empty if ``items`` is not a tuple."""
    return tuple(item for item in items if isinstance(item, str)) if isinstance(items, tuple) else ()
