"""Lists every graph break of a program, from a run without ``fullgraph``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from fx_lsp.agent.capturing.compile_capture import break_failure
from fx_lsp.agent.capturing.torch_internals import watching_graph_breaks, without_logging
from fx_lsp.agent.messages import Failure, Span
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.running.observation import Input


def graph_breaks(build: Callable[[], Callable[..., Any]], given: Input) -> tuple[Failure, ...]:
    """The breaks in a run with ``given``, in the order in which torch meets them.

    ``build`` makes the program, which is modified by a run. It and ``given`` have real tensors. An error that the
    program raises ends the run; the breaks before it are returned.

    After a break in a loop, torch runs the rest of that function uncompiled. A second run, which leaves out what prints
    and logs, finds the breaks behind such calls.
    """
    found = _breaks(build(), given)
    if found:
        with without_logging():
            found = {**found, **{place: item for place, item in _breaks(build(), given).items() if place not in found}}
    return tuple(found.values())


def _breaks(root: Callable[..., Any], given: Input) -> dict[Span, Failure]:
    """The breaks in one run, by their places."""
    found: dict[Span, Failure] = {}

    def seen(error: BaseException) -> None:
        failure = break_failure(error, root)
        if failure is not None and failure.chain:
            place = failure.chain[-1].span
            count = found[place].count + 1 if place in found else 1
            found[place] = dataclasses.replace(found.get(place, failure), count=count)

    torch.compiler.reset()
    try:
        with watching_graph_breaks(seen):
            torch.compile(root, backend="eager")(*given.args, **given.kwargs)
    except Exception as error:
        if is_out_of_memory(error):
            raise
    return found
