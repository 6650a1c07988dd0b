"""Traces while watching for silent differences: ``with noticing() as watch: graph = tracer.trace(root)``."""

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
    """Within the block, watch the trace of any tracer. After a successful trace, the `Watch` has its notices.

    Watching changes neither whether a trace succeeds nor its graph.
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
        """All notices of the trace of ``root``, which resulted in ``graph``."""
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
        """Wrap ``Tracer.fail`` to record the failures that it raises."""

        @functools.wraps(fail)
        def watched(tracer: Tracer, *args: Any, **kwargs: Any) -> Any:
            try:
                return fail(tracer, *args, **kwargs)
            except TraceFailure as failure:
                self._raised.append(failure)
                raise

        return watched

    def note_swallowed(self) -> None:
        """Note the failures that the program itself caught; call this after a trace that succeeded despite them."""
        for failure in self._raised:
            # An exception's traceback begins at the frame that caught it.
            traceback = failure.__traceback__
            if traceback is not None and is_user_file(traceback.tb_frame.f_code.co_filename):
                self._notices.at(
                    NoticeKind.SWALLOWED_FAILURE, (traceback.tb_frame.f_code, traceback.tb_lasti), failure.kind.value
                )
        self._raised.clear()
