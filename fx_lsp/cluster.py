"""Tracing on a Dask cluster: an agent whose requests are answered by the cluster's workers, a file at a time.

The workers need fx-lsp, and a Python with torch. Where they see the same files under the same paths, these are read;
else the workspace's files are sent to them once. What a worker that dies was at, another one does again.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fx_lsp.agent.messages import Details, Done, Failure, Proof, Prove, Report, Trace
from fx_lsp.agent.wire import decode, encode
from fx_lsp.cluster_worker import Tree, answered
from fx_lsp.contents import digest, file_digest
from fx_lsp.exit_status import CannotCheck
from fx_lsp.python_files import python_files

CONNECT_SECONDS = 30

RETRIES = 3
"""How often a file is traced again after an error of a worker's. That of deaths is the scheduler's to say."""


@dataclass
class Cluster:
    """The workers that are connected."""

    client: Any
    """A ``distributed.Client``."""
    threads: int
    """How many files they trace at a time."""
    tree: Any = field(default=None)
    """Of the workspace, on its way to all workers; None where they see it themselves."""

    async def send(self, roots: Sequence[str], sample: Path) -> None:
        """Send the workspace to the workers unless they see ``sample``, one of its files, as it is here."""
        seen = await self.client.run(file_digest, str(sample))
        if any(their != file_digest(str(sample)) for their in seen.values()):
            files = {str(file): file.read_bytes() for root in roots for file in python_files(Path(root))}
            name = digest(*(part for file, content in sorted(files.items()) for part in (file, content)))
            self.tree = await self.client.scatter(Tree(name, tuple(roots), files), broadcast=True)

    async def answered(self, python: Sequence[str], folder: Path, request: Trace | Prove) -> list[Any]:
        """All answers to ``request``. Raises what goes wrong on the worker."""
        arguments = (tuple(python), str(folder), encode(request), self.tree)
        bodies = await self.client.submit(answered, *arguments, pure=False, retries=RETRIES)
        return [decode(body) for body in bodies]


@contextlib.asynccontextmanager
async def connected(address: str) -> AsyncIterator[Cluster]:
    """The cluster whose scheduler is at ``address``. Raises CannotCheck where there is none."""
    try:
        from distributed import Client
    except ImportError:
        raise CannotCheck("--cluster needs dask.distributed: pip install 'fx-lsp[cluster]'.") from None
    try:
        client = await Client(address, asynchronous=True, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise CannotCheck(f"there is no Dask scheduler at {address}: {error}.") from error
    try:
        threads = sum((await client.nthreads()).values())
        if not threads:
            raise CannotCheck(f"the Dask cluster at {address} has no workers.")
        yield Cluster(client, threads)
    finally:
        await client.close()


class ClusterAgent:
    """Answers requests for the files of one workspace folder, as `fx_lsp.agents.Agent` does."""

    def __init__(self, cluster: Cluster, python: Sequence[str], folder: Path) -> None:
        """``python`` is the command that runs the user's Python on the workers; empty: the one they run on."""
        self._cluster = cluster
        self._python = python
        self._folder = folder

    async def start(self) -> None:
        """The workers' agents start when they are needed."""

    async def trace(self, request: Trace) -> AsyncGenerator[Report | Done, None]:
        """As an agent does. Raises CannotCheck where the workers can't trace at all."""
        for answer in await self._answered(request):
            yield answer

    async def describe(self, request: Trace) -> AsyncGenerator[Details, None]:
        """Nothing: no editor looks at what a cluster traces."""
        nothing: tuple[Details, ...] = ()
        for details in nothing:
            yield details

    async def prove(self, request: Prove) -> Proof:
        """As an agent does."""
        return next(answer for answer in await self._answered(request) if isinstance(answer, Proof))

    async def close(self) -> None:
        """The workers' agents end with them."""

    async def _answered(self, request: Trace | Prove) -> list[Any]:
        from distributed import KilledWorker

        try:
            return await self._cluster.answered(self._python, self._folder, request)
        except KilledWorker as error:
            return _given_up(request, str(error))
        except Exception as error:
            raise CannotCheck(f"a worker of the cluster can't trace: {error}") from error


def _given_up(request: Trace | Prove, reason: str) -> list[Report | Proof | Done]:
    """What is said of a file that has brought down one worker after the other."""
    if isinstance(request, Prove):
        return [Proof(0, "untried", reason)]
    failure = Failure("crash", reason)
    return [*(Report(0, target.key, "crashed", (failure,)) for target in request.targets), Done(0)]
