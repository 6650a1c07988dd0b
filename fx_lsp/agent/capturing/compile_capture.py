"""Captures a program with ``torch.compile(fullgraph=True)``, without generating any code: the backend is ``eager``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from fx_lsp.agent.capturing.break_places import failure_of
from fx_lsp.agent.capturing.captures import Captured, step_of_forward
from fx_lsp.agent.capturing.torch_internals import (
    DATA_DEPENDENT,
    asks_for_number,
    hides_number,
    placing_conditions,
)
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.running.plain_values import tensors_of
from fx_lsp.agent.traceback_steps import chain_of_error, is_outside_python


class _NeedsValues(BaseException):
    """Ends the run of what was compiled, where it needs a value that fake tensors lack. No handler may catch this."""


def capture_by_compile(root: Callable[..., Any], given: Input) -> Captured:
    """Compile ``root`` into one graph for the example ``given``; the tensors of both may be fake.

    What the program or torch raises becomes a failure; only the error that memory ran out is raised.
    """
    torch.compiler.reset()
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, inputs: object) -> Callable[..., Any]:
        graphs.append(graph)

        def run(*args: Any) -> Any:
            try:
                return graph.forward(*args)
            except DATA_DEPENDENT:
                raise _NeedsValues from None

        return run

    try:
        with placing_conditions():
            torch.compile(root, backend=backend, fullgraph=True)(*given.args, **given.kwargs)
    except _NeedsValues:
        pass
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return _failed(error, root, given)
    return Captured(graph=graphs[0] if graphs else None)


def _failed(error: Exception, root: Callable[..., Any], given: Input) -> Captured:
    failure = failure_of(error)
    if not failure.chain:
        failure = dataclasses.replace(failure, chain=chain_of_error(error, is_outside_python) or step_of_forward(root))
    is_certain = failure.kind == "graph-break"
    if is_certain and asks_for_number(error):
        is_certain = not any(hides_number(tensor) for tensor in _tensors_of(root, given))
    return Captured((failure,), is_certain=is_certain)


def _tensors_of(root: Callable[..., Any], given: Input) -> list[torch.Tensor]:
    held = [*root.parameters(), *root.buffers()] if isinstance(root, torch.nn.Module) else []
    return [*held, *tensors_of([*given.args, *given.kwargs.values()])]
