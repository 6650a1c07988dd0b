"""Tracing with an eye on what goes wrong in silence: ``with noticing() as watch: graph = tracer.trace(root)``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from fxcore.failures import TraceFailure
from fxcore.graph import Graph
from fxcore.notices.graph_review import review
from fxcore.notices.lost_effects import Draws, note_lost_writes, watch_effects
from fxcore.notices.notices import Notice, NoticeKind, Notices
from fxcore.notices.probes import watch_probes
from fxcore.source import is_user_file
from fxcore.tracer import Tracer
from fxcore.tracing.patching import PatchScope


@contextmanager
def noticing() -> Iterator[Watch]:
    """Within, what any tracer traces is watched. What it yields then has the notices of a trace that has ended well.

    Verdicts and graphs are those of any other trace.
    """
    notices = Notices()
    failures = _Failures(notices)
    with PatchScope() as patches, Draws(notices):
        watch_probes(patches, notices)
        watch_effects(patches, notices)
        patches.replace(Tracer, "fail", failures.keeping)
        yield Watch(notices, failures)


class Watch:
    """Collects the notices of one trace."""

    def __init__(self, notices: Notices, failures: _Failures) -> None:
        self._notices = notices
        self._failures = failures

    def notices(self, root: torch.nn.Module | Callable[..., Any], graph: Graph) -> tuple[Notice, ...]:
        """All notices of ``root``, which was traced to ``graph``."""
        self._failures.note_swallowed()
        review(root, graph, self._notices)
        note_lost_writes(graph, self._notices)
        return self._notices.listed()


class _Failures:
    """The failures that were raised in a trace."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._raised: list[TraceFailure] = []

    def keeping(self, fail: Callable[..., Any]) -> Callable[..., Any]:
        """``Tracer.fail`` that keeps what it raises."""

        @functools.wraps(fail)
        def watched(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
            try:
                return fail(tracer, *args, **kwargs)
            except TraceFailure as failure:
                self._raised.append(failure)
                raise

        return watched

    def note_swallowed(self) -> None:
        """Note those that the program caught; the trace has ended well, so all were caught by somebody."""
        for failure in self._raised:
            # An exception's traceback begins at the frame that caught it.
            traceback = failure.__traceback__
            if traceback is not None and is_user_file(traceback.tb_frame.f_code.co_filename):
                self._notices.at(
                    NoticeKind.SWALLOWED_FAILURE, (traceback.tb_frame.f_code, traceback.tb_lasti), failure.kind.value
                )
        self._raised.clear()
