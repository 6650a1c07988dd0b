"""What runs in a worker of a Dask cluster: agents, asked from the worker's threads."""

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
from fx_lsp.agents import Agent

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tree:
    """A workspace's files, to be had where its folders are not."""

    digest: str
    """Names it."""
    roots: tuple[str, ...]
    files: Mapping[str, bytes]
    """By absolute path, below one of ``roots``."""


def answered(python: Sequence[str], folder: str, request: bytes, tree: Tree | None) -> list[bytes]:
    """The answers to an encoded ``request`` about a file of ``folder``, each without its length.

    Raises RuntimeError where ``python`` (empty: the one that runs this) can't trace.
    """
    command = tuple(python) or (sys.executable,)
    work = _ROOM.answers(command, folder, request[HEADER.size :], tree)
    return asyncio.run_coroutine_threadsafe(work, _ROOM.loop()).result()


class _Room:
    """The agents of this process, on an event loop in a thread of their own. They end when the process does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._agents: dict[tuple[tuple[str, ...], str], Agent] = {}
        self._trees: dict[str, dict[str, str]] = {}
        """By digest, where the roots of a tree are in this process's own copy."""
        self._folders: list[tempfile.TemporaryDirectory[str]] = []

    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop, started when it is first needed."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
            return self._loop

    async def answers(self, python: tuple[str, ...], folder: str, body: bytes, tree: Tree | None) -> list[bytes]:
        """See `answered`; on the event loop."""
        copies = self._copies(tree) if tree else {}
        agent = self._agent(python, _in_copy(folder, copies))
        answers = await _asked(agent, _moved(body, copies))
        originals = {copy: root for root, copy in copies.items()}
        return [_moved(encode(answer)[HEADER.size :], originals) for answer in answers]

    def _agent(self, python: tuple[str, ...], folder: str) -> Agent:
        if (python, folder) not in self._agents:
            self._agents[python, folder] = Agent(
                python, cwd=Path(folder), env=None, log=log.info, on_state=lambda state: None
            )
        return self._agents[python, folder]

    def _copies(self, tree: Tree) -> dict[str, str]:
        """By root of the tree, the folder that has its files here."""
        if tree.digest not in self._trees:
            self._folders.append(tempfile.TemporaryDirectory(prefix="fx-lsp-tree-"))
            base = Path(self._folders[-1].name).resolve()
            copies = {root: str(base / str(number)) for number, root in enumerate(tree.roots)}
            for copy in copies.values():
                Path(copy).mkdir()
            for path, content in tree.files.items():
                file = Path(_in_copy(path, copies))
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            self._trees[tree.digest] = copies
        return self._trees[tree.digest]


_ROOM = _Room()


async def _asked(agent: Agent, body: bytes) -> list[Message]:
    request = decode(body)
    await agent.start()
    if agent.state.phase in ("no-torch", "failed"):
        raise RuntimeError(agent.state.problem)
    if isinstance(request, Prove):
        return [await agent.prove(request)]
    assert isinstance(request, Trace)
    return [answer async for answer in agent.trace(request)]


def _in_copy(path: str, copies: Mapping[str, str]) -> str:
    """Where ``path`` is when the innermost root that holds it lies elsewhere."""
    roots = [root for root in copies if Path(path).is_relative_to(root)]
    root = max(roots, key=len, default=None)
    return path if root is None else str(Path(copies[root], Path(path).relative_to(root)))


def _moved(body: bytes, copies: Mapping[str, str]) -> bytes:
    """An encoded message in which every path below one of the folders is below its copy instead."""
    if not copies:
        return body
    written = {json.dumps(root)[1:-1]: json.dumps(copy)[1:-1] for root, copy in copies.items()}
    roots = "|".join(map(re.escape, sorted(written, key=len, reverse=True)))
    return re.sub(rf"({roots})(?![\w.-])", lambda match: written[match[1]], body.decode()).encode()
