"""Records which code runs in a block: the code of these functions has had a part in what the block made."""

from __future__ import annotations

import cProfile
import sys
from types import CodeType, TracebackType
from typing import Any

_TOOL = 4
"""The number that Python's monitoring knows this module by; the numbers 3 and 4 have no other meaning."""


class CodeRun:
    """Within its block, records all code that runs in this thread. The record is complete only if nothing else used
    Python's profiler."""

    def __init__(self) -> None:
        self.code: set[CodeType] = set()
        """The code that ran, once the block has ended."""
        self.complete = True
        self._recorder: Any = _MonitoringRecorder() if hasattr(sys, "monitoring") else _ProfilingRecorder()

    def __enter__(self) -> CodeRun:
        self._recorder.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.complete = self._recorder.end()
        self.code = self._recorder.code()


class _ProfilingRecorder:
    """Uses the profiler that is written in C; a profile function written in Python would double the time of a build."""

    def __init__(self) -> None:
        self._profiler = cProfile.Profile(subcalls=False, builtins=False)

    def begin(self) -> None:
        self._profiler.enable()

    def end(self) -> bool:
        """Stop recording; returns whether nothing has interrupted it."""
        current: Any = sys.getprofile()
        undisturbed = current is self._profiler
        self._profiler.disable()
        return undisturbed

    def code(self) -> set[CodeType]:
        return {entry.code for entry in self._profiler.getstats() if isinstance(entry.code, CodeType)}


class _MonitoringRecorder:
    """Uses ``sys.monitoring``, which Python has since version 3.12, and which tells only once that some code runs."""

    def __init__(self) -> None:
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._code: set[CodeType] = set()

    def begin(self) -> None:
        events = self._monitoring.events
        self._monitoring.use_tool_id(_TOOL, "fx-lsp")
        for event in (events.PY_START, events.PY_RESUME):
            self._monitoring.register_callback(_TOOL, event, self._runs)
        self._monitoring.set_events(_TOOL, events.PY_START | events.PY_RESUME)

    def _runs(self, code: CodeType, _offset: int) -> object:
        self._code.add(code)
        return self._monitoring.DISABLE

    def end(self) -> bool:
        """Stop recording; returns whether nothing has interrupted it."""
        undisturbed = bool(self._monitoring.get_tool(_TOOL) == "fx-lsp" and self._monitoring.get_events(_TOOL))
        self._monitoring.set_events(_TOOL, 0)
        self._monitoring.free_tool_id(_TOOL)
        return undisturbed

    def code(self) -> set[CodeType]:
        return self._code
