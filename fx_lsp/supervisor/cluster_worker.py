"""The code that runs in a worker of a Dask cluster: agents that answer requests from the worker's threads."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fx_lsp.agent.messages import Message, Prove, Trace
from fx_lsp.agent.wire import HEADER, decode, encode
from fx_lsp.supervisor.supervised_agent import SupervisedAgent

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SentWorkspace:
    """A workspace's files, sent to workers that don't see its folders."""

    digest: str
    roots: tuple[str, ...]
    files: Mapping[str, bytes]
    """By absolute path, below one of ``roots``."""


def answered(python: Sequence[str], folder: str, request: bytes, sent: SentWorkspace | None) -> list[bytes]:
    """The encoded answers, without their headers, to an encoded ``request`` about a file of ``folder``.

    If ``python`` is empty, the worker's own Python traces. Raises RuntimeError if the Python can't trace.
    """
    command = tuple(python) or (sys.executable,)
    work = _AGENTS.answers(command, folder, request[HEADER.size :], sent)
    return asyncio.run_coroutine_threadsafe(work, _AGENTS.loop()).result()


class _WorkerAgents:
    """The agents of this process, on an event loop in a separate thread. They end when the process ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._agents: dict[tuple[tuple[str, ...], str], SupervisedAgent] = {}
        self._copies_of: dict[str, dict[str, str]] = {}
        """By the digest of a sent workspace: each of its roots -> the folder of this process with the root's copy."""
        self._folders: list[tempfile.TemporaryDirectory[str]] = []

    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop, started when it is first needed."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
            return self._loop

    async def answers(
        self, python: tuple[str, ...], folder: str, body: bytes, sent: SentWorkspace | None
    ) -> list[bytes]:
        copies = self._copies(sent) if sent else {}
        agent = self._agent(python, _in_copy(folder, copies))
        answers = await _asked(agent, _moved(body, copies))
        originals = {copy: root for root, copy in copies.items()}
        return [_moved(encode(answer)[HEADER.size :], originals) for answer in answers]

    def _agent(self, python: tuple[str, ...], folder: str) -> SupervisedAgent:
        if (python, folder) not in self._agents:
            self._agents[python, folder] = SupervisedAgent(
                python, cwd=Path(folder), env=None, log=log.info, on_state=lambda state: None
            )
        return self._agents[python, folder]

    def _copies(self, sent: SentWorkspace) -> dict[str, str]:
        """Each root of ``sent`` -> the folder of this process with the root's copy, which is written if necessary."""
        if sent.digest not in self._copies_of:
            self._folders.append(tempfile.TemporaryDirectory(prefix="fx-lsp-tree-"))
            base = Path(self._folders[-1].name).resolve()
            copies = {root: str(base / str(number)) for number, root in enumerate(sent.roots)}
            for copy in copies.values():
                Path(copy).mkdir()
            for path, content in sent.files.items():
                file = Path(_in_copy(path, copies))
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            self._copies_of[sent.digest] = copies
        return self._copies_of[sent.digest]


_AGENTS = _WorkerAgents()


async def _asked(agent: SupervisedAgent, body: bytes) -> list[Message]:
    request = decode(body)
    await agent.start()
    if agent.state.phase in ("no-torch", "failed"):
        raise RuntimeError(agent.state.problem)
    if isinstance(request, Prove):
        return [await agent.prove(request)]
    assert isinstance(request, Trace)
    return [answer async for answer in agent.trace(request)]


def _in_copy(path: str, copies: Mapping[str, str]) -> str:
    """The path of the copy of ``path``, below the copy of the innermost root that contains ``path``."""
    roots = [root for root in copies if Path(path).is_relative_to(root)]
    root = max(roots, key=len, default=None)
    return path if root is None else str(Path(copies[root], Path(path).relative_to(root)))


def _moved(body: bytes, copies: Mapping[str, str]) -> bytes:
    """An encoded message in which every path below a key of ``copies`` is replaced by the path below its copy."""
    if not copies:
        return body
    written = {json.dumps(root)[1:-1]: json.dumps(copy)[1:-1] for root, copy in copies.items()}
    roots = "|".join(map(re.escape, sorted(written, key=len, reverse=True)))
    return re.sub(rf"({roots})(?![\w.-])", lambda match: written[match[1]], body.decode()).encode()
