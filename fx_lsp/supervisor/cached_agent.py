"""An agent with a cache: if the same trace was run before, even by an earlier server, its reports come from the cache.

The key of a trace consists of its request, the text of its file, and its environment: the versions of Python, torch and
fx-lsp and the installed packages. The reports are valid as long as every file that the trace read, and the names of all
modules beside these files, are unchanged.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import json
import os
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, get_args

from fx_lsp import __version__
from fx_lsp.agent.messages import PROTOCOL, Capture, Done, Report, Trace
from fx_lsp.agent.wire import HEADER, decode, encode
from fx_lsp.locations import AGENT_FOLDER, FXCORE_FOLDER
from fx_lsp.supervisor.agent_pool import TracingAgent
from fx_lsp.supervisor.passing_agent import PassingAgent
from fx_lsp.workspace.disk_cache import Cache
from fx_lsp.workspace.file_digests import digest, file_digest, modules_digest, sources_digest

_LASTING = frozenset({"traced", "failed", "unchecked", "not-imported", "not-built", "skipped"})
"""Outcomes that the same trace would have again. All other outcomes depend on the machine and its load."""

_COMPUTING = 0.9
"""A trace that timed out is expected to do so again if it computed for at least this share of its time limit. A trace
that waited, e.g. for a cold disk, may not have to wait the next time."""

_PROBE = "import sys; print(sys.version, sys.platform, *sys.path, sep='\\n')"


class CachedAgent(PassingAgent):
    """Answers traces from ``cache`` where possible, and passes all other requests on to ``agent``."""

    def __init__(
        self, agent: TracingAgent, cache: Cache, python: Sequence[str], env: Mapping[str, str], *, start_early: bool
    ) -> None:
        """``python`` is the command that runs the agent, with ``env`` in addition to the variables that it inherits.

        ``start_early``: start the agent even if the answer comes from the cache, because it will be needed soon.
        """
        super().__init__(agent)
        self._cache = cache
        self._python = tuple(python)
        self._env = dict(env)
        self._start_early = start_early
        self._forgotten: set[tuple[str, Capture]] = set()
        self._probe: asyncio.Task[list[str]] | None = None
        self._starting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the agent's process."""
        await self._agent.start()

    def forget(self, file: str) -> None:
        """Don't take the next trace of ``file`` from the cache, nor the next one with each other capture."""
        self._forgotten.update((file, capture) for capture in get_args(Capture))

    async def trace(self, request: Trace) -> AsyncGenerator[Report | Done, None]:
        """The reports of a trace, from the cache if it has them."""
        key = await self._key(request)
        asked = request.file, request.capture
        is_wanted = request.is_awaited and asked not in self._forgotten
        known = self._known(key, request) if key and is_wanted else None
        self._forgotten.discard(asked)
        if known is not None:
            if self._start_early and self._starting is None:
                self._starting = asyncio.create_task(self._agent.start())
            for answer in known:
                yield answer
            return
        began = time.time_ns()
        reports: dict[str, Report] = {}
        async with contextlib.aclosing(self._agent.trace(request)) as answers:
            async for answer in answers:
                if isinstance(answer, Report):
                    reports[answer.target] = answer
                elif key and not answer.quick:  # a trace from the start has yet to confirm it
                    self._keep(key, request, [*reports.values(), answer], began)
                yield answer

    async def close(self) -> None:
        """End the agent's process."""
        if self._probe is not None:
            self._probe.cancel()
        await self._agent.close()
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)

    async def _key(self, request: Trace) -> str | None:
        """The key of a trace; None if its environment could not be determined."""
        self._probe = self._probe or asyncio.create_task(self._probed())
        environment = await asyncio.shield(self._probe)
        if not environment:
            return None
        packages = [modules_digest(line) for line in environment]
        limits = dataclasses.replace(request.limits, at_once=0)
        targets = tuple(sorted(request.targets, key=lambda target: target.key))
        asked = dataclasses.replace(request, id=0, targets=targets, overlays={}, limits=limits, purpose="once")
        text = text_digest(request, request.file)
        return digest(__version__, str(PROTOCOL), _own_sources(), *environment, *packages, encode(asked), text)

    async def _probed(self) -> list[str]:
        """The Python's version, platform and ``sys.path``, and the agent's ``env``; empty if it can't be run."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._python,
                *("-X", "utf8", "-c", _PROBE),
                env={**os.environ, **self._env},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
            output, _ = await process.communicate()
        except OSError:
            return []
        return [*output.decode("utf-8", "replace").splitlines(), repr(sorted(self._env.items()))] if output else []

    def _known(self, key: str, request: Trace) -> list[Report | Done] | None:
        """The cached answers to a trace; None if there are none, or if they may be out of date."""
        content = self._cache.get(key)
        if content is None:
            return None
        try:
            kept = json.loads(content)
            answers = [decode(body.encode()) for body in kept["answers"]]
            holds = _still(kept, request)
        except (ValueError, KeyError, TypeError, AttributeError):  # written by another version
            return None
        return [answer for answer in answers if isinstance(answer, Report | Done)] if holds else None

    def _keep(self, key: str, request: Trace, answers: Sequence[Report | Done], began: int) -> None:
        """Cache the answers to a trace, if they are complete and the same trace would produce them again.

        They are not cached if a file that the trace read has unsaved edits or was written to meanwhile.
        """
        *reports, done = answers
        assert isinstance(done, Done)
        files = {*done.dependencies, request.file}
        told = {report.target for report in reports if isinstance(report, Report) and _lasts(report, request)}
        if done.cancelled or told != {target.key for target in request.targets} or files & request.overlays.keys():
            return
        if any(modified(file) >= began for file in files):
            return
        kept: dict[str, Any] = {
            "files": {file: file_digest(file) for file in sorted(files)},
            "folders": {folder: modules_digest(folder) for folder in folders_searched(files, request.roots)},
            "answers": [encode(dataclasses.replace(answer, id=0))[HEADER.size :].decode() for answer in answers],
        }
        self._cache.put(key, json.dumps(kept).encode())


def _lasts(report: Report, request: Trace) -> bool:
    """Whether the same trace would produce the same report again."""
    if report.partial or any(notice.kind == "definitions-only" and notice.error for notice in report.notices):
        return False  # there may be more to come, or the import only ran out of time because the system was slow
    computed = report.processor_seconds >= _COMPUTING * request.limits.seconds
    if report.outcome == "timed-out" or report.unfinished:
        return computed
    return report.outcome in _LASTING


def _still(kept: Mapping[str, Any], request: Trace) -> bool:
    """Whether everything that a trace has read is unchanged."""
    return all(text_digest(request, file) == known for file, known in kept["files"].items()) and all(
        modules_digest(folder) == known for folder, known in kept["folders"].items()
    )


def text_digest(request: Trace, file: str) -> str:
    """The digest of a file's text: of the text in the editor, if it differs from the text on disk."""
    return digest(request.overlays[file]) if file in request.overlays else file_digest(file)


def folders_searched(files: set[str], roots: Sequence[str]) -> list[str]:
    """The folders in which a new module could shadow one that was imported, or supply one that was missing."""
    beside = {str(PurePath(file).parent) for file in files}
    return sorted(beside.union(roots, (str(PurePath(root, "src")) for root in roots)))


def modified(file: str) -> int:
    """When a file was last changed, in nanoseconds; 0 if it does not exist."""
    with contextlib.suppress(OSError):
        return Path(file).stat().st_mtime_ns
    return 0


@functools.cache
def _own_sources() -> str:
    """The digest of the code that traces: the agent's and fxcore's."""
    return sources_digest([AGENT_FOLDER, FXCORE_FOLDER])
