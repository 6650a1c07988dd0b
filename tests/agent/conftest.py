"""Real agents in a real Python, and a workspace whose path is a nuisance."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from .client import Client, make_client

Connect = Callable[..., Client]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "mes modèles 😋"
    folder.mkdir()
    return folder


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def shared_agent(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    client = make_client(tmp_path_factory.mktemp("cwd"))
    yield client
    await client.agent.close()


@pytest.fixture
def client(shared_agent: Client, root: Path) -> Client:
    """The shared agent, which is up already, with a workspace of the test's own."""
    return lent(shared_agent, root)


def lent(shared: Client, root: Path) -> Client:
    """An agent that several tests share, with a workspace of one's own."""
    shared.log.clear()
    shared.states.clear()
    return Client(shared.agent, root, shared.states, shared.log)


@pytest_asyncio.fixture(loop_scope="session")
async def connect(root: Path) -> AsyncIterator[Connect]:
    """Makes agents that belong to one test."""
    clients: list[Client] = []

    def make(*python: str, env: dict[str, str] | None = None) -> Client:
        clients.append(make_client(root, *python, env=env))
        return clients[-1]

    yield make
    for client in clients:
        await client.agent.close()
