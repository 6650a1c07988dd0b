"""One agent for each Python and workspace folder, started when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Protocol

from fx_lsp.agent.messages import Details, Done, Proof, Prove, Report, Trace
from fx_lsp.interpreter import Interpreter


class TracingAgent(Protocol):
    """What is needed of :class:`fx_lsp.agents.Agent`."""

    async def start(self) -> None:
        """Have its process ready."""

    def trace(self, request: Trace) -> AsyncGenerator[Report | Done, None]:
        """Report after report as targets are traced, then ``Done``. Closing the iterator cancels the request."""

    def describe(self, request: Trace) -> AsyncGenerator[Details, None]:
        """The details of each target that can be traced. Closing the iterator cancels the request."""

    async def prove(self, request: Prove) -> Proof:
        """Try an edit on one target. Cancelling the task cancels the request."""

    async def close(self) -> None:
        """End its process."""


class AgentPool:
    """The agents that run. Not for use from several threads."""

    def __init__(
        self, choose: Callable[[Path], Interpreter], start: Callable[[Interpreter, Path], TracingAgent]
    ) -> None:
        self._choose = choose
        self._start = start
        self._agents: dict[Path, tuple[tuple[str, ...], TracingAgent]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def agent_for(self, folder: Path) -> TracingAgent:
        """The agent of a workspace folder; a new one when the folder's Python is another than before."""
        interpreter = self._choose(folder)
        if folder in self._agents:
            command, agent = self._agents[folder]
            if command == interpreter.command:
                return agent
            self._retire(agent)
        agent = self._start(interpreter, folder)
        self._agents[folder] = (interpreter.command, agent)
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
