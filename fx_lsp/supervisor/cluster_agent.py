"""Tracing on a Dask cluster: an agent whose requests are answered by the cluster's workers, a file at a time.

The workers need fx-lsp, and a Python with torch. If they see the same files under the same paths, they read those
files; otherwise the workspace's files are sent to them once. If a worker dies, another worker repeats its request.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fx_lsp.agent.messages import Costs, Details, Done, Failure, Preload, Proof, Prove, Report, Trace
from fx_lsp.agent.wire import decode, encode
from fx_lsp.errors import CannotCheck
from fx_lsp.supervisor.cluster_worker import SentWorkspace, answered
from fx_lsp.workspace.file_digests import digest, file_digest
from fx_lsp.workspace.python_files import python_files

CONNECT_SECONDS = 30

RETRIES = 3
"""How often a file is traced again after an error on a worker. If a worker dies, Dask's scheduler decides."""


@dataclass
class Cluster:
    """The connected workers of a Dask cluster."""

    client: Any
    """A ``distributed.Client``."""
    threads: int
    """How many files the workers trace at a time."""
    tree: Any = field(default=None)
    """The copy of the workspace that was sent to the workers; None if they see the workspace itself."""

    async def send(self, roots: Sequence[str], sample: Path) -> None:
        """Send the workspace to the workers, unless they see the same content in ``sample``, one of its files."""
        seen = await self.client.run(file_digest, str(sample))
        if any(their != file_digest(str(sample)) for their in seen.values()):
            files = {str(file): file.read_bytes() for root in roots for file in python_files(Path(root))}
            name = digest(*(part for file, content in sorted(files.items()) for part in (file, content)))
            self.tree = await self.client.scatter(SentWorkspace(name, tuple(roots), files), broadcast=True)

    async def answered(self, python: Sequence[str], folder: Path, request: Trace | Prove) -> list[Any]:
        """All answers to ``request``. Raises whatever the worker raises."""
        arguments = (tuple(python), str(folder), encode(request), self.tree)
        bodies = await self.client.submit(answered, *arguments, pure=False, retries=RETRIES)
        return [decode(body) for body in bodies]


@contextlib.asynccontextmanager
async def connected(address: str) -> AsyncIterator[Cluster]:
    """The cluster whose scheduler is at ``address``. Raises CannotCheck if it can't be used."""
    try:
        from distributed import Client
    except ImportError:
        raise CannotCheck("--cluster needs dask.distributed: install fx-lsp with its extra `cluster`.") from None
    try:
        client = await Client(address, asynchronous=True, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise CannotCheck(f"no Dask scheduler could be reached at {address}: {error}.") from error
    try:
        threads = sum((await client.nthreads()).values())
        if not threads:
            raise CannotCheck(f"the Dask cluster at {address} has no workers.")
        yield Cluster(client, threads)
    finally:
        await client.close()


class ClusterAgent:
    """Answers requests for the files of one workspace folder, as `SupervisedAgent` does."""

    def __init__(self, cluster: Cluster, python: Sequence[str], folder: Path) -> None:
        """``python`` is the command that runs the user's Python on the workers; if empty, they use their own."""
        self._cluster = cluster
        self._python = python
        self._folder = folder

    async def start(self) -> None:
        """Do nothing: the workers' agents start when they are needed."""

    async def trace(self, request: Trace) -> AsyncGenerator[Report | Done, None]:
        """A `Report` for each target, then `Done`. Raises CannotCheck if the workers can't trace at all."""
        for answer in await self._answered(request):
            yield answer

    async def describe(self, request: Trace) -> AsyncGenerator[Details, None]:
        """Yield nothing: no editor shows what a cluster traces."""
        nothing: tuple[Details, ...] = ()
        for details in nothing:
            yield details

    async def count(self, request: Trace) -> AsyncGenerator[Costs, None]:
        """Yield nothing: costs are not counted on a cluster."""
        nothing: tuple[Costs, ...] = ()
        for costs in nothing:
            yield costs

    async def prove(self, request: Prove) -> Proof:
        """Try an edit on one target."""
        return next(answer for answer in await self._answered(request) if isinstance(answer, Proof))

    async def preload(self, request: Preload) -> None:
        """Do nothing: no one waits for the first edit of what a cluster traces."""

    def release(self, file: str) -> None:
        """Do nothing: a cluster keeps no processes for edits."""

    async def close(self) -> None:
        """Do nothing: the workers' agents end with the workers."""

    async def _answered(self, request: Trace | Prove) -> list[Any]:
        from distributed import KilledWorker

        try:
            return await self._cluster.answered(self._python, self._folder, request)
        except KilledWorker as error:
            return _given_up(request, str(error))
        except Exception as error:
            raise CannotCheck(f"a worker in the cluster can't trace: {error}") from error


def _given_up(request: Trace | Prove, reason: str) -> list[Report | Proof | Done]:
    """The answers to a request that has killed one worker after another."""
    if isinstance(request, Prove):
        return [Proof(0, "untried", reason)]
    failure = Failure("crash", reason)
    return [*(Report(0, target.key, "crashed", (failure,)) for target in request.targets), Done(0)]
