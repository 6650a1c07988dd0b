"""A stage of a process: it has imported a file or built a model, and traces of an edited text can begin from there."""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any
from unittest import mock

from fx_lsp.agent.importing.workspace_importer import Workspace, is_notebook, lines_of
from fx_lsp.agent.importing.workspace_roots import real
from fx_lsp.agent.keeping.code_run import CodeRun
from fx_lsp.agent.keeping.loaded_code import CodeEdit, LoadedCode, StaleError
from fx_lsp.agent.messages import Failure, Span
from fx_lsp.agent.sandbox.audit_guard import GUARD
from fxcore.accelerators import may_use_accelerator


class Record:
    """What happened while a file was imported or a model was built."""

    def __init__(self) -> None:
        self.code: set[CodeType] = set()
        self.complete = False
        """Whether ``code`` is all code that ran."""
        self.denied = False
        """Whether something was denied to the code."""
        self.sources: set[str] = set()
        """The files of functions and classes whose source was read, as ``torch.jit.script`` does."""
        self.left_something = False
        """Whether a thread, a timer or a process is left."""
        self.hid_objects = False
        """Whether the code has moved objects to where Python's garbage collector, and `LoadedCode`, don't see them."""


@contextlib.contextmanager
def recording(workspace: Workspace | None = None) -> Iterator[Record]:
    """Record what happens in the block; the record is complete once the block has ended.

    While ``workspace`` imports modules, no code is recorded but theirs.
    """
    record = Record()
    denied = GUARD.denied
    with (
        _noticing_readers_of_source(record),
        _noticing_freezes(record),
        CodeRun(workspace.owns_package if workspace else None) as run,
        mock.patch.object(workspace, "running", run.module) if workspace else contextlib.nullcontext(),
    ):
        yield record
    record.code, record.complete, record.denied = run.code, run.complete, GUARD.denied != denied
    record.left_something = not _is_alone()


def _noticing_readers_of_source(record: Record) -> Any:
    find: Callable[[Any], Any] = inspect.findsource

    def finding(thing: Any) -> Any:
        with contextlib.suppress(TypeError):  # it has no source
            record.sources.add(inspect.getfile(thing))
        return find(thing)

    return mock.patch.object(inspect, "findsource", finding)


def _noticing_freezes(record: Record) -> Any:
    freeze = gc.freeze

    def freezing() -> None:
        record.hid_objects = True
        freeze()

    return mock.patch.object(gc, "freeze", freezing)


class Stage:
    """This process as it is now, from which it may fork others. It must not change from now on."""

    def __init__(
        self, workspace: Workspace, records: Iterable[Record], *, began: int, names: ModuleNames | None = None
    ) -> None:
        """``records`` are about all that was done. No file may have changed since ``began``, by ``time.time_ns``.

        ``names`` are the `module_names` when the import ended; no others may have come since then.
        Raises `StaleError` if something happened after which a trace must begin from the start.
        """
        records = tuple(records)
        if not all(record.complete for record in records):
            raise StaleError("the code has used Python's profiler")
        if any(record.denied for record in records):
            raise StaleError("something was denied to the code")
        if any(record.left_something for record in records):
            raise StaleError("the code has left a thread, a timer or a process")
        if any(record.hid_objects for record in records):
            raise StaleError("the code has called gc.freeze()")
        self._workspace = workspace
        self._files = _FilesRead(workspace, began)
        if names is not None and names != module_names(workspace):
            raise StaleError("there are other modules")
        self._sources = self._files.texts.keys() & set[str]().union(*(record.sources for record in records))
        self._uses_accelerators = _use_accelerators(self._files.texts)
        self._code = LoadedCode(self._files.texts, set[CodeType]().union(*(record.code for record in records)))

    def edit_for(self, overlays: dict[str, str], notices: Iterable[Failure]) -> CodeEdit:
        """What puts the texts of now, those in ``overlays`` and on disk, in the place of those that were loaded.

        The workspace uses these texts from now on. The places of ``notices``, which the import has left, may not have
        changed. Raises `StaleError`.
        """
        texts = self._files.texts_now(overlays)
        for path in self._sources:
            if texts[path] != self._files.texts[path]:
                raise StaleError(f"the code has read the source of {path}")
        for span in (step.span for notice in notices for step in notice.chain):
            if span.file in texts and _lines_at(span, texts) != _lines_at(span, self._files.texts):
                raise StaleError(f"line {span.line} of {span.file}, which the import has noted, has changed")
        if _use_accelerators(texts) != self._uses_accelerators:
            raise StaleError("from now on, or no longer, accelerators are used")
        edit = self._code.edited(texts)
        self._workspace.take_texts(overlays)
        return edit


def _lines_at(span: Span, texts: Mapping[str, str]) -> list[str]:
    return lines_of(texts[span.file])[span.line - 1 : span.end_line]


def _use_accelerators(texts: Mapping[str, str]) -> bool:
    """Whether code may use accelerators, which is then redirected before it is imported."""
    return any(map(may_use_accelerator, texts.values()))


def _is_alone() -> bool:
    """Whether this process has one thread, no timer that is running, and no child."""
    timers = (getattr(signal, name, None) for name in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF"))
    if any(timer is not None and signal.getitimer(timer)[0] for timer in timers):
        return False
    if sys.platform == "linux":
        threads = os.listdir("/proc/self/task")  # noqa: PTH208 (names are enough)
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return len(threads) == 1 and not children
    else:  # noqa: RET505 (so that mypy knows which system this is for)
        return threading.active_count() == 1


class _FilesRead:
    """The files that this process has read, and the names of files where it has looked for modules."""

    def __init__(self, workspace: Workspace, began: int) -> None:
        """Raises `StaleError` if a file has changed since ``began``, or is a notebook."""
        self.texts: dict[str, str] = {}
        """The texts of the modules of the workspace, by path."""
        self._saved: dict[str, _State] = {}
        """The modules of the workspace that had no unsaved text, and the states of their files."""
        self._others = {path: _state(path) for path in GUARD.read if not path.startswith(_NO_FILES)}
        for path in workspace.dependencies:
            if is_notebook(path):
                raise StaleError("the code of a notebook's cells is not compared")
            if not path.endswith(".py"):
                self._others[path] = _state(path)
                continue
            self._others.pop(path, None)
            if (unsaved := workspace.text(path)) is not None:
                self.texts[path] = unsaved
            else:
                self._saved[path] = _state(path)
                self.texts[path] = _saved_text(path)
        for path, state in (self._saved | self._others).items():
            if state is not None and state[0] >= began:
                raise StaleError(f"{path} has changed")
        self._names = module_names(workspace)

    def texts_now(self, overlays: dict[str, str]) -> dict[str, str]:
        """The texts of the same modules as they are now. Raises `StaleError` if anything else has changed."""
        unsaved = {real(path): text for path, text in overlays.items()}
        if any(_state(path) != state for path, state in self._others.items()):
            raise StaleError("a file that was read has changed")
        if any(_names(folder) != names for folder, names in self._names.items()):
            raise StaleError("there are other modules")
        return {path: self._text_now(path, unsaved) for path in self.texts}

    def _text_now(self, path: str, unsaved: dict[str, str]) -> str:
        text = unsaved.get(real(path))
        if text is not None:
            return text
        if path in self._saved and _state(path) == self._saved[path]:
            return self.texts[path]
        return _saved_text(path)


ModuleNames = Mapping[str, frozenset[str]]
"""By folder: the names in it that an import may find."""


def module_names(workspace: Workspace) -> ModuleNames:
    """The names in the folders where ``workspace`` has found modules, and may find others."""
    folders = {str(Path(path).parent) for path in workspace.dependencies if path.endswith(".py")}
    folders.update(entry for root in workspace.folders for entry in (root, str(Path(root, "src"))))
    return {folder: _names(folder) for folder in folders}


_NO_FILES = ("/proc/", "/sys/", "/dev/")
"""Where the system describes itself; what it says changes all the time."""

_State = tuple[int, int] | None
"""When a file was last modified, in nanoseconds, and its size in bytes; None if there is no such file."""


def _state(path: str) -> _State:
    with contextlib.suppress(OSError):
        found = Path(path).stat()
        return found.st_mtime_ns, found.st_size
    return None


def _saved_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise StaleError(f"{path} can't be read") from error


def _names(folder: str) -> frozenset[str]:
    """The names in a folder that an import may find."""
    with contextlib.suppress(OSError):
        names = os.listdir(folder)  # noqa: PTH208 (a path for each name would take ten times as long)
        return frozenset(name for name in names if name.endswith(".py") or "." not in name)
    return frozenset()
