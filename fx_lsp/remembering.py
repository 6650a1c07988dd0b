"""An agent that remembers: what was traced once, here or in an earlier run, is told again without tracing.

A trace is known by its request, the text of its file, and what it runs with: the versions of Python, torch and fx-lsp
and the packages that are installed. What came of it holds for as long as every file that it read, and the names of all
modules beside these, are as they were.
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
from typing import Any

from fx_lsp import __version__
from fx_lsp.agent.messages import PROTOCOL, Details, Done, Proof, Prove, Report, Trace
from fx_lsp.agent.wire import HEADER, decode, encode
from fx_lsp.agent_pool import TracingAgent
from fx_lsp.agent_process import AGENT_FOLDER, FXCORE_FOLDER
from fx_lsp.cache import Cache
from fx_lsp.contents import digest, file_digest, modules_digest, sources_digest

_LASTING = frozenset({"traced", "failed", "unchecked", "not-imported", "not-built", "skipped"})
"""Outcomes that the same trace would have again. The others depend on the machine and on what else it does."""

_COMPUTING = 0.9
"""The share of its time that a trace which ran out of it has to have computed to do so again: one that waited, for a
cold disk, say, may not wait the next time."""

_PROBE = "import sys; print(sys.version, sys.platform, *sys.path, sep='\\n')"


class RememberingAgent:
    """Asks ``agent`` for what ``cache`` doesn't have."""

    def __init__(
        self, agent: TracingAgent, cache: Cache, python: Sequence[str], env: Mapping[str, str], *, warm: bool
    ) -> None:
        """``python`` is the command that the agent runs, with ``env`` beside what it inherits.

        ``warm``: an answer from the cache starts the agent all the same; it will be needed soon.
        """
        self._agent = agent
        self._cache = cache
        self._python = tuple(python)
        self._env = dict(env)
        self._warm = warm
        self._forgotten: set[str] = set()
        self._probe: asyncio.Task[list[str]] | None = None
        self._starting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """As the agent does."""
        await self._agent.start()

    def forget(self, file: str) -> None:
        """Have the next trace of ``file`` not come from the cache."""
        self._forgotten.add(file)

    async def trace(self, request: Trace) -> AsyncGenerator[Report | Done, None]:
        """As the agent does; from the cache where it can."""
        key = await self._key(request)
        known = self._known(key, request) if key and request.file not in self._forgotten else None
        self._forgotten.discard(request.file)
        if known is not None:
            if self._warm and self._starting is None:
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
                elif key:
                    self._keep(key, request, [*reports.values(), answer], began)
                yield answer

    def describe(self, request: Trace) -> AsyncGenerator[Details, None]:
        """As the agent does."""
        return self._agent.describe(request)

    async def prove(self, request: Prove) -> Proof:
        """As the agent does."""
        return await self._agent.prove(request)

    async def close(self) -> None:
        """As the agent does."""
        if self._probe is not None:
            self._probe.cancel()
        await self._agent.close()
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)

    async def _key(self, request: Trace) -> str | None:
        """Names the trace; None where it is not known what it would run with."""
        self._probe = self._probe or asyncio.create_task(self._probed())
        environment = await asyncio.shield(self._probe)
        if not environment:
            return None
        packages = [modules_digest(line) for line in environment]
        limits = dataclasses.replace(request.limits, at_once=0)
        targets = tuple(sorted(request.targets, key=lambda target: target.key))
        asked = dataclasses.replace(request, id=0, targets=targets, overlays={}, limits=limits)
        text = _text_digest(request, request.file)
        return digest(__version__, str(PROTOCOL), _own_sources(), *environment, *packages, encode(asked), text)

    async def _probed(self) -> list[str]:
        """What the Python says of itself and where it looks for modules; empty where it can't be run."""
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
        """What came of the trace; None where that isn't known, or may be otherwise by now."""
        content = self._cache.get(key)
        if content is None:
            return None
        try:
            kept = json.loads(content)
            answers = [decode(body.encode()) for body in kept["answers"]]
            holds = _still(kept, request)
        except (ValueError, KeyError, TypeError, AttributeError):  # written by some other version
            return None
        return [answer for answer in answers if isinstance(answer, Report | Done)] if holds else None

    def _keep(self, key: str, request: Trace, answers: Sequence[Report | Done], began: int) -> None:
        """Put what came of a trace into the cache, unless something was edited meanwhile or may come out otherwise."""
        *reports, done = answers
        assert isinstance(done, Done)
        files = {*done.dependencies, request.file}
        told = {report.target for report in reports if isinstance(report, Report) and _lasts(report, request)}
        if done.cancelled or told != {target.key for target in request.targets} or files & request.overlays.keys():
            return
        if any(_modified(file) >= began for file in files):
            return
        kept: dict[str, Any] = {
            "files": {file: file_digest(file) for file in sorted(files)},
            "folders": {folder: modules_digest(folder) for folder in _folders(files, request.roots)},
            "answers": [encode(dataclasses.replace(answer, id=0))[HEADER.size :].decode() for answer in answers],
        }
        self._cache.put(key, json.dumps(kept).encode())


def _lasts(report: Report, request: Trace) -> bool:
    """Whether the same trace would be reported so again."""
    if report.partial:
        return False
    computed = report.processor_seconds >= _COMPUTING * request.limits.seconds
    return report.outcome in _LASTING or (report.outcome == "timed-out" and computed)


def _still(kept: Mapping[str, Any], request: Trace) -> bool:
    """Whether all that a trace has read is as it was."""
    return all(_text_digest(request, file) == known for file, known in kept["files"].items()) and all(
        modules_digest(folder) == known for folder, known in kept["folders"].items()
    )


def _text_digest(request: Trace, file: str) -> str:
    """That of the editor's text of a file, where that is not the disk's."""
    return digest(request.overlays[file]) if file in request.overlays else file_digest(file)


def _folders(files: set[str], roots: Sequence[str]) -> list[str]:
    """The folders where a new module could come before one that was imported, or be one that was missing."""
    beside = {str(PurePath(file).parent) for file in files}
    return sorted(beside.union(roots, (str(PurePath(root, "src")) for root in roots)))


def _modified(file: str) -> int:
    """When a file was last changed, in nanoseconds; 0 where there is none."""
    with contextlib.suppress(OSError):
        return Path(file).stat().st_mtime_ns
    return 0


@functools.cache
def _own_sources() -> str:
    """What traces: the agent's code and fxcore's."""
    return sources_digest([AGENT_FOLDER, FXCORE_FOLDER])
