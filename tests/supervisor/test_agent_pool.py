from pathlib import Path

from fx_lsp.supervisor.agent_pool import AgentPool, TracingAgent
from tests.analysis.fake_agent import FakeAgent


class ClosableAgent(FakeAgent):
    def __init__(self, python: str, folder: Path) -> None:
        super().__init__()
        self.made_for = (python, folder)
        self.closed = False

    async def close(self) -> None:
        self.closed = True


class Pool(AgentPool):
    """A pool whose agents are known, with one Python for all folders."""

    def __init__(self) -> None:
        self.python = "python"
        self.made: list[ClosableAgent] = []
        super().__init__()

    def agent_in(self, folder: Path) -> TracingAgent:
        return self.agent_for((folder, self.python), lambda: self._make(folder))

    def _make(self, folder: Path) -> ClosableAgent:
        self.made.append(ClosableAgent(self.python, folder))
        return self.made[-1]


A, B = Path("/a"), Path("/b")


async def test_each_folder_has_one_agent() -> None:
    pool = Pool()
    assert pool.agent_in(A) is pool.agent_in(A)
    assert pool.agent_in(A) is not pool.agent_in(B)
    assert [agent.made_for for agent in pool.made] == [("python", A), ("python", B)]
    await pool.close()
    assert all(agent.closed for agent in pool.made)


async def test_another_python_has_another_agent_beside_the_first() -> None:
    pool = Pool()
    first = pool.agent_in(A)
    pool.python = "other"
    assert pool.agent_in(A) is not first
    pool.python = "python"
    assert pool.agent_in(A) is first
    await pool.close()


async def test_agents_that_are_not_retained_are_closed() -> None:
    pool = Pool()
    pool.agent_in(A)
    pool.agent_in(B)
    pool.retain([(B, "python"), "a key that no agent has"])
    assert (A, "python") not in pool
    assert (B, "python") in pool
    pool.retain([])
    await pool.close()
    assert [agent.closed for agent in pool.made] == [True, True]


async def test_after_a_restart_there_are_new_ones() -> None:
    pool = Pool()
    old = pool.agent_in(A)
    pool.restart()
    assert pool.agent_in(A) is not old
    await pool.close()
    assert all(agent.closed for agent in pool.made)
