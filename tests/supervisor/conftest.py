"""The fixtures of the agent's own tests: real agents, and a workspace whose path is a nuisance."""

from tests.agent.conftest import client, connect, root, shared_agent

__all__ = ["client", "connect", "root", "shared_agent"]
