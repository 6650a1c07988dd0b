"""The failures after a target's first one, and what can still be recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from fx_lsp.agent.building.build import Built
from fx_lsp.agent.messages import Failure, Span
from fx_lsp.agent.traceback_steps import chain_of_frames, to_failure, to_span
from fx_lsp.agent.tracing.doubtful_failures import missing_behind
from fxcore.exec_order import ExecOrderTracer, ExecutionInfo
from fxcore.explore import explore
from fxcore.explore.failure_sites import Site
from fxcore.explore.other_sides import explore_other_sides
from fxcore.failures import FailureKind, TraceFailure
from fxcore.graph import Graph
from fxcore.node import Node


@dataclass(frozen=True)
class Recorded:
    """What was recorded of a program that can't be traced."""

    graph: Graph
    """The graph so far; it has an output only if a trace reached the end."""
    root: torch.nn.Module
    """The module that the graph refers to."""
    failing: Mapping[Node, tuple[Span, ...]]
    """The nodes that stand for failing expressions, each with the places of these expressions."""
    order: ExecutionInfo | None = None


class Explored:
    """A trace of a fresh build that continues past failures."""

    def __init__(
        self,
        built: Built,
        examples: Mapping[str, Any] | None,
        doubt: Callable[[TraceFailure], str | None],
        *,
        with_order: bool,
    ) -> None:
        """``examples`` has a value for each input, if known: the values show which branches the program really takes.

        ``doubt`` returns why a failure is not certain; None if it is. ``with_order``: whether to record the order in
        which modules and parameters are used.
        """
        order = ExecOrderTracer(deep=True) if with_order else None
        self._built, self._examples, self._doubt = built, examples, doubt
        self._found = explore(built.root, built.concrete_args, tracer=built.tracer, examples=examples, order=order)
        self._order = order.exec_info if order else None

    def failures(self, first: Failure) -> tuple[Failure, ...]:
        """``first``, which ended a plain trace, and after it the other failures.

        Exceptions that the program itself raises after ``first`` are left out: an earlier assumption, or parameters
        without memory, may have caused them. So are doubtful failures, and those that depend on what a missing module
        or function returns.
        """
        found = [_failure(site) for site in self._found.sites if self._is_certain(site, self._found.root)]
        same = next((failure for failure in found if failure.chain == first.chain), None)
        if same is not None:
            first = dataclasses.replace(same, kind=first.kind, error=first.error, operation=first.operation)
        return first, *(failure for failure in found if failure is not same)

    def within(self, cls: type) -> tuple[bool, tuple[Failure, ...]]:
        """Whether anything fails in a call of a submodule of the class ``cls``, and what certainly does."""
        sites = [site for site in self._found.sites if cls in site.within]
        return bool(sites), tuple(_failure(site) for site in sites if self._is_certain(site, self._found.root))

    def on_other_sides(self, rebuild: Callable[[], Built]) -> Iterator[Failure]:
        """The failures that the program reaches only if conditions do not turn out as they were assumed.

        ``rebuild`` builds the program again, since a run may modify what it runs.
        """
        found = explore_other_sides(
            lambda: rebuild().root,
            self._built.concrete_args,
            self._found,
            tracer=self._built.tracer,
            examples=self._examples,
        )
        for other in found:
            condition = other.decided.failure.span
            if condition is not None and self._is_certain(other.site, other.root):
                yield dataclasses.replace(
                    _failure(other.site), after=to_span(condition), other_side=other.decided.assumption
                )

    def _is_certain(self, site: Site, root: torch.nn.Module) -> bool:
        failure = site.failure
        is_raised = failure.kind is FailureKind.EXCEPTION
        return not (is_raised or missing_behind(failure.node, root) or self._doubt(failure))

    def recorded(self) -> Recorded:
        """What was recorded. If no node stands for a failing expression, the nodes recorded at its place do."""
        graph = self._found.recorded
        failing: dict[Node, tuple[Span, ...]] = {}
        for site in self._found.sites:
            span = site.failure.span
            if span is not None:
                for node in site.nodes or (node for node in graph.nodes if node.span == span):
                    failing[node] = (*failing.get(node, ()), to_span(span))
        return Recorded(graph, self._found.root, failing, self._order)


def recorded_until(error: BaseException, built: Built) -> Recorded:
    """What a plain trace of ``built`` recorded before ``error`` ended it."""
    failing: dict[Node, tuple[Span, ...]] = {}
    if isinstance(error, TraceFailure) and error.node is not None and error.span is not None:
        failing[error.node] = (to_span(error.span),)
    return Recorded(built.tracer.graph, built.tracer.root, failing)


def _failure(site: Site) -> Failure:
    after = site.after.failure.span if site.after else None
    return dataclasses.replace(
        to_failure(site.failure),
        count=site.count,
        assumption=site.assumption,
        after=None if after is None else to_span(after),
        cause=chain_of_frames(site.cause),
    )
