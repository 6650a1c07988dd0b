"""One agent for each workspace folder and Python, started when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable, Iterable
from typing import Protocol

from fx_lsp.agent.messages import Costs, Details, Done, Preload, Proof, Prove, Report, Trace


class TracingAgent(Protocol):
    """Answers requests about the files of a folder: a `SupervisedAgent`, `CachedAgent` or `ClusterAgent`."""

    async def start(self) -> None:
        """Start the agent's process, if it has one, and wait until the process is ready or has failed to start."""

    def trace(self, request: Trace) -> AsyncGenerator[Report | Done, None]:
        """A `Report` for each target as it is traced, then `Done`. Closing the iterator cancels the request."""

    def describe(self, request: Trace) -> AsyncGenerator[Details, None]:
        """The details of each target whose trace succeeded or failed. Closing the iterator cancels the request."""

    def count(self, request: Trace) -> AsyncGenerator[Costs, None]:
        """The costs of each target that can be traced. Closing the iterator cancels the request."""

    async def prove(self, request: Prove) -> Proof:
        """Try an edit on one target. Cancelling the task cancels the request."""

    async def preload(self, request: Preload) -> None:
        """Have the agent's process, which is started if there is none, import modules that it will need."""

    def release(self, file: str) -> None:
        """End the processes that are kept for later traces of a file, if there are any."""

    async def close(self) -> None:
        """End the agent's process, and wait until the process is gone."""


class AgentPool:
    """The running agents. Not thread-safe."""

    def __init__(self) -> None:
        self._agents: dict[Hashable, TracingAgent] = {}
        """By what they were started with."""
        self._closing: set[asyncio.Task[None]] = set()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._agents

    def agent_for(self, key: Hashable, start: Callable[[], TracingAgent]) -> TracingAgent:
        """The agent with this ``key``, which contains all that an agent is started with; ``start`` makes a new one."""
        if key not in self._agents:
            self._agents[key] = start()
        return self._agents[key]

    def retain(self, keys: Iterable[Hashable]) -> None:
        """End every agent whose key is not among ``keys``."""
        for key in self._agents.keys() - set(keys):
            self._retire(self._agents.pop(key))

    def release(self, file: str) -> None:
        """Have the agents end the processes that they have kept for a file."""
        for agent in self._agents.values():
            agent.release(file)

    def restart(self) -> None:
        """End every agent; the next trace starts new ones."""
        self.retain(())

    async def close(self) -> None:
        """End every agent, and wait until they are gone."""
        self.restart()
        await asyncio.gather(*self._closing)

    def _retire(self, agent: TracingAgent) -> None:
        task = asyncio.ensure_future(agent.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
