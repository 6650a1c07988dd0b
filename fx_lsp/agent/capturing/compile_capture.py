"""Captures a program with ``torch.compile(fullgraph=True)``, without generating any code: the backend is ``eager``."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterable
from traceback import FrameSummary
from typing import Any

import torch

from fx_lsp.agent.capturing.captures import Captured, step_of_forward
from fx_lsp.agent.capturing.torch_internals import graph_break
from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.traceback_steps import LONGEST_ERROR, chain_of_error, describe, is_user_code
from fxcore.source.syntax import nodes_of


def capture_by_compile(root: Callable[..., Any], given: Input) -> Captured:
    """Compile ``root`` into one graph for the example ``given``; the tensors of both may be fake.

    What the program or torch raises becomes a failure; only the error that memory ran out is raised.
    """
    torch.compiler.reset()
    try:
        torch.compile(root, backend="eager", fullgraph=True)(*given.args, **given.kwargs)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return _failed(error, root)
    return Captured()


def _failed(error: Exception, root: Callable[..., Any]) -> Captured:
    if broken := break_failure(error, root):
        return Captured((broken,))
    chain = chain_of_error(error, is_user_code) or step_of_forward(root)
    return Captured((Failure("compile-error", describe(error), chain),), is_certain=False)


def break_failure(error: BaseException, root: Callable[..., Any]) -> Failure | None:
    """The graph break that ``error`` is; None if it is something else."""
    broken = graph_break(error)
    if broken is None:
        return None
    text, frames = broken
    chain = _steps(frames) or chain_of_error(error, is_user_code) or step_of_forward(root)
    return Failure("graph-break", text[:LONGEST_ERROR], chain)


def _steps(frames: Iterable[FrameSummary]) -> tuple[Step, ...]:
    """The user's own frames as steps."""
    return tuple(Step(frame.name, _condition(_span(frame))) for frame in frames if is_user_code(frame.filename))


def _condition(span: Span) -> Span:
    """The condition of the ``if``, ``while`` or ``assert`` that begins at ``span``: a jump is located at all of it."""
    for node in nodes_of("".join(linecache.getlines(span.file))):
        if isinstance(node, ast.If | ast.While | ast.Assert) and (node.lineno, node.col_offset) == (
            span.line,
            span.col,
        ):
            test = node.test
            return Span(
                span.file, test.lineno, test.col_offset, test.end_lineno or test.lineno, test.end_col_offset or 0
            )
    return span


def _span(frame: FrameSummary) -> Span:
    """What the frame was executing; before Python 3.11 and torch 2.13 only the line is known."""
    line = frame.lineno or 1
    start, end = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
    if start is not None and end is not None:
        return Span(frame.filename, line, start, getattr(frame, "end_lineno", None) or line, end)
    text = linecache.getline(frame.filename, line).rstrip()
    indent = len(text) - len(text.lstrip())
    return Span(frame.filename, line, indent, line, len(text.encode()))
