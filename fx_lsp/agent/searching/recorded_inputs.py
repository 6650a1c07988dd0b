"""Inputs of a part of a model, recorded while the whole model runs.

What a block is called with often follows from nothing in its own code: the model around it makes masks, positions and
lists of features.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import torch

from fx_lsp.agent.running.observation import Input, call
from fx_lsp.agent.running.plain_values import map_tensors

MOST_RECORDED = 8
"""How many inputs of a part are recorded."""

MOST_OF_SEARCH = 64
"""How many inputs of different shapes are kept of those that the part gets in a search for inputs of the host."""


def recorded_inputs(part: Callable[..., Any], host: Callable[..., Any], given: Iterable[Input]) -> Iterator[Input]:
    """What ``part``, a module or a function, is called with while ``host``, which calls it, runs on inputs ``given``.

    A run that fails may have called the part before. If the search for the inputs ``given`` runs ``host``, what the
    part gets in these runs comes at last, in reverse order: later runs get further. Of inputs of the same shapes, only
    the first is yielded.
    """
    return itertools.islice(_distinct(_recorded(part, host, given)), MOST_RECORDED)


def _recorded(part: Callable[..., Any], host: Callable[..., Any], given: Iterable[Input]) -> Iterator[Input]:
    """As `recorded_inputs`, but all of them."""
    found: dict[str, Input] = {}
    of_search: dict[str, Input] = {}

    def record(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        recorded = Input(map_tensors(_copy, args), map_tensors(_copy, kwargs))
        shapes = str(recorded)
        found.pop(shapes, None)  # so that the order is that of the last runs
        found[shapes] = recorded
        if len(found) > MOST_OF_SEARCH:
            del found[next(iter(found))]

    with ExitStack() as stack:
        _call_before(part, record, stack)
        for whole in given:
            of_search |= found
            found.clear()
            with suppress(Exception):  # what the part was called with until then counts
                call(host, whole)
            yield from [*found.values()]
            found.clear()
        yield from reversed([*of_search.values(), *found.values()])


def _call_before(part: Callable[..., Any], record: Callable[..., None], stack: ExitStack) -> None:
    """Until ``stack`` is closed, ``record`` is called before each call of ``part``; see `recorded_inputs`."""
    if isinstance(part, torch.nn.Module):
        stack.callback(part.register_forward_pre_hook(record, with_kwargs=True).remove)
        return
    owner, name = getattr(part, "__self__", None), part.__name__

    @functools.wraps(part)
    def recording(*args: Any, **kwargs: Any) -> Any:
        record(owner, args, kwargs)
        return part(*args, **kwargs)

    if owner is None:
        for names in _names_with(part):
            names[name] = recording
            stack.callback(names.__setitem__, name, part)
    elif name not in vars(owner):
        vars(owner)[name] = recording
        stack.callback(vars(owner).pop, name)


def _names_with(function: Callable[..., Any]) -> list[dict[str, Any]]:
    """The names of the modules that know a function by its own name; they can be changed."""
    name, own = function.__name__, getattr(inspect.unwrap(function), "__globals__", {})
    known = [own, *(getattr(module, "__dict__", {}) for module in [*sys.modules.values()])]
    return [names for names in {id(names): names for names in known}.values() if names.get(name) is function]


def _distinct(inputs: Iterable[Input]) -> Iterator[Input]:
    """One input of each shape."""
    seen: set[str] = set()
    for given in inputs:
        if (shapes := str(given)) not in seen:
            seen.add(shapes)
            yield given


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone()
