"""Records which code runs in a block: the code of these functions has had a part in what the block made."""

from __future__ import annotations

import builtins
import contextlib
import cProfile
import sys
from collections.abc import Callable, Iterator
from types import CodeType, TracebackType
from typing import Any

_TOOL = 4
"""The number that Python's monitoring knows this module by; the numbers 3 and 4 have no other meaning."""


class CodeRun:
    """Within its block, records code that runs in this thread. The record is complete only if nothing else used
    Python's profiler.

    By default, that is all code. With ``is_own``, which says which top-level packages are the workspace's, it is the
    code that runs in a block of `module`, without imports of other packages: to have the profiler record these, too,
    would make them half as long again. If another package imports a module of the workspace, everything is recorded
    from then on, since it may also call what is in there.
    """

    def __init__(self, is_own: Callable[[str], bool] | None = None) -> None:
        self.code: set[CodeType] = set()
        """The code that ran, once the block has ended."""
        self.complete = True
        self._recorder: Any = _MonitoringRecorder() if hasattr(sys, "monitoring") else _ProfilingRecorder()
        self._is_own = is_own
        self._own: dict[str, bool] = {}
        """By the name of a top-level package: whether it is the workspace's."""
        self._records = False
        self._records_all = False
        """Whether a package that is not the workspace's has imported a module that is."""
        self._imports = 0
        """How many imports of other packages are under way, each within the one before."""
        self._import = builtins.__import__

    def __enter__(self) -> CodeRun:
        self._recorder.begin()
        self._records = True
        if self._is_own is not None:
            self._record(False)
            builtins.__import__ = self._importing
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if builtins.__import__ == self._importing:
            builtins.__import__ = self._import
        self.complete = self._recorder.end()
        self.code = self._recorder.code()

    @contextlib.contextmanager
    def module(self) -> Iterator[None]:
        """A context in which the code of a module runs, which is to be recorded."""
        self._records_all |= self._imports > 0
        with self._recording(True):
            yield

    def _importing(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        """In the place of ``__import__`` while modules are recorded."""
        if level or not self._records or self._is_of_workspace(name.partition(".")[0]):
            return self._import(name, globals, locals, fromlist, level)
        self._imports += 1
        try:
            with self._recording(False):
                return self._import(name, globals, locals, fromlist, level)
        finally:
            self._imports -= 1

    def _is_of_workspace(self, package: str) -> bool:
        if package not in self._own:
            self._own[package] = self._is_own is None or self._is_own(package)
        return self._own[package]

    @contextlib.contextmanager
    def _recording(self, records: bool) -> Iterator[None]:
        before = self._records
        self._record(records)
        try:
            yield
        finally:
            self._record(before)

    def _record(self, records: bool) -> None:
        records |= self._records_all
        if records != self._records:
            self._records = records
            if records:
                self._recorder.resume()
            else:
                self._recorder.pause()


class _ProfilingRecorder:
    """Uses the profiler that is written in C; a profile function written in Python would double the time of a build."""

    def __init__(self) -> None:
        self._profiler = cProfile.Profile(subcalls=False, builtins=False)
        self._is_on = self._undisturbed = True

    def begin(self) -> None:
        self._profiler.enable()

    def pause(self) -> None:
        """Record nothing until `resume`."""
        current: Any = sys.getprofile()
        self._undisturbed &= current is self._profiler
        self._is_on = False
        self._profiler.disable()

    def resume(self) -> None:
        self._undisturbed &= sys.getprofile() is None
        self._is_on = True
        self._profiler.enable()

    def end(self) -> bool:
        """Stop recording; returns whether nothing has interrupted it."""
        if self._is_on:
            self.pause()
        return self._undisturbed

    def code(self) -> set[CodeType]:
        return {entry.code for entry in self._profiler.getstats() if isinstance(entry.code, CodeType)}


class _MonitoringRecorder:
    """Uses ``sys.monitoring``, which Python has since version 3.12, and which reports only once that some code runs."""

    def __init__(self) -> None:
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._code: set[CodeType] = set()

    def begin(self) -> None:
        events = self._monitoring.events
        self._monitoring.use_tool_id(_TOOL, "fx-lsp")
        for event in (events.PY_START, events.PY_RESUME):
            self._monitoring.register_callback(_TOOL, event, self._runs)
        self._monitoring.set_events(_TOOL, events.PY_START | events.PY_RESUME)

    def pause(self) -> None:
        """It costs next to nothing to record more than is wanted."""

    def resume(self) -> None:
        """It has not paused."""

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
