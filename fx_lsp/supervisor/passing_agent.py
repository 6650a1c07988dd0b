"""An agent that stands before another one: it answers some requests in its own way, and passes all others on."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from fx_lsp.agent.messages import Costs, Details, Preload, Proof, Prove, Trace
from fx_lsp.supervisor.agent_pool import TracingAgent


class PassingAgent:
    """Passes on every request except traces, which its subclasses answer."""

    def __init__(self, agent: TracingAgent) -> None:
        self._agent = agent

    def describe(self, request: Trace) -> AsyncGenerator[Details, None]:
        """Describe targets."""
        return self._agent.describe(request)

    def count(self, request: Trace) -> AsyncGenerator[Costs, None]:
        """Count what targets cost."""
        return self._agent.count(request)

    async def prove(self, request: Prove) -> Proof:
        """Try an edit on one target."""
        return await self._agent.prove(request)

    async def preload(self, request: Preload) -> None:
        """Have the agent's process import modules that it will need."""
        await self._agent.preload(request)

    def release(self, file: str) -> None:
        """Have the agent end the processes that it has kept for a file."""
        self._agent.release(file)

    async def close(self) -> None:
        """End the agent's process."""
        await self._agent.close()
