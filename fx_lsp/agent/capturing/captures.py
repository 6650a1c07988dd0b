"""What a capture yields, and which function makes each capture."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from fx_lsp.agent.messages import Failure, Step
from fx_lsp.agent.running.observation import Input, forward_of
from fx_lsp.agent.running.plain_values import tensors_of
from fx_lsp.agent.traceback_steps import to_span
from fxcore.source import SourceSpan, definition_span, is_user_file, return_span

OLDEST = (2, 8)
"""The oldest version of torch whose captures are checked; before it, ``strict=False`` was not the default."""


@dataclass(frozen=True)
class Captured:
    """The verdict of one capture of a program, for one example input."""

    failures: tuple[Failure, ...] = ()
    """Why the program can't be captured; empty if it can."""
    code: str = ""
    """The exported program as text, with the shape of each value; empty if there is none."""
    graph: torch.fx.GraphModule | None = None
    """What was captured; None if that failed."""
    state: Mapping[str, str] = field(default_factory=dict)
    """The paths of the parameters and buffers that placeholders of ``graph`` stand for, by the placeholders' names."""
    is_certain: bool = True
    """Whether this is the verdict whatever the weights are, for a failure even if the program rejects the input."""


def why_not_checked() -> str | None:
    """Why this version of torch is too old; None if it is not."""
    version = tuple(map(int, re.findall(r"\d+", torch.__version__)[:2]))
    if version >= OLDEST:
        return None
    return f"this needs torch {OLDEST[0]}.{OLDEST[1]} or later, and the version here is {torch.__version__}"


def step_of_forward(root: Callable[..., Any], *, at_return: bool = False) -> tuple[Step, ...]:
    """The name of the program's ``forward`` or, ``at_return``, its only ``return``; empty if it is not the user's."""
    code = getattr(inspect.unwrap(forward_of(root)), "__code__", None)
    if code is None or not is_user_file(code.co_filename):
        return ()
    found: SourceSpan | None = (return_span(code) if at_return else None) or definition_span(code)
    return (Step(getattr(code, "co_qualname", code.co_name), to_span(found)),) if found else ()


def batch_size(given: Input) -> int | None:
    """The first size of all tensors of ``given``; None if they have none in common, or if it is 0."""
    sizes = {tensor.shape[0] for tensor in tensors_of([*given.args, *given.kwargs.values()]) if tensor.dim()}
    return sizes.pop() or None if len(sizes) == 1 else None


def with_first(first: Failure, found: Iterable[Failure]) -> tuple[Failure, ...]:
    """``first``, which ended a capture, and after it what a run past it ``found`` at other places."""
    place = first.chain[-1].span if first.chain else None
    same = [failure for failure in found if failure.chain and failure.chain[-1].span == place]
    rest = [failure for failure in found if failure not in same]
    return (dataclasses.replace(first, assumption=same[0].assumption, count=same[0].count) if same else first, *rest)
