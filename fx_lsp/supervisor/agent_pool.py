"""One agent for each workspace folder, started when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Protocol

from fx_lsp.agent.messages import Details, Done, Preload, Proof, Prove, Report, Trace


class TracingAgent(Protocol):
    """Answers requests about the files of a folder: a `SupervisedAgent`, `CachedAgent` or `ClusterAgent`."""

    async def start(self) -> None:
        """Start the agent's process, if it has one, and wait until the process is ready or has failed to start."""

    def trace(self, request: Trace) -> AsyncGenerator[Report | Done, None]:
        """A `Report` for each target as it is traced, then `Done`. Closing the iterator cancels the request."""

    def describe(self, request: Trace) -> AsyncGenerator[Details, None]:
        """The details of each target whose trace succeeded or failed. Closing the iterator cancels the request."""

    async def prove(self, request: Prove) -> Proof:
        """Try an edit on one target. Cancelling the task cancels the request."""

    async def preload(self, request: Preload) -> None:
        """Have the agent's process, which is started if there is none, import modules that it will need."""

    async def close(self) -> None:
        """End the agent's process, and wait until the process is gone."""


class AgentPool:
    """The running agents. Not thread-safe."""

    def __init__(self) -> None:
        self._agents: dict[Path, tuple[object, TracingAgent]] = {}
        """By folder: what its agent was started with, and the agent."""
        self._closing: set[asyncio.Task[None]] = set()

    def agent_for(self, folder: Path, started_with: object, start: Callable[[], TracingAgent]) -> TracingAgent:
        """The agent of a workspace folder.

        ``start`` makes a new agent if the folder has none, or if its agent was started with something other than
        ``started_with``.
        """
        if folder in self._agents:
            before, agent = self._agents[folder]
            if before == started_with:
                return agent
            self._retire(agent)
        agent = start()
        self._agents[folder] = (started_with, agent)
        return agent

    def restart(self) -> None:
        """End every agent; the next trace starts new ones."""
        for _, agent in self._agents.values():
            self._retire(agent)
        self._agents.clear()

    async def close(self) -> None:
        """End every agent, and wait until they are gone."""
        self.restart()
        await asyncio.gather(*self._closing)

    def _retire(self, agent: TracingAgent) -> None:
        task = asyncio.ensure_future(agent.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
