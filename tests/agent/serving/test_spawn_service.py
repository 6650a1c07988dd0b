"""The same as elsewhere, where processes can't be forked: one is started for each trace. Here a setting says so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.messages import Limits
from tests.agent.building import test_recipes
from tests.agent.client import ENDLESS, Client, make_client, text_at
from tests.agent.conftest import Connect, lent
from tests.agent.importing import test_workspace_importer
from tests.agent.processes import test_hazards
from tests.agent.proving.edits import Edit, prove
from tests.agent.sandbox import test_isolation
from tests.supervisor import test_supervised_agent

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Tests of other modules, which run here once more, with the `client` below.
test_abandoning_a_request_ends_its_processes = test_supervised_agent.test_abandoning_a_request_ends_its_processes
test_two_requests_at_once = test_supervised_agent.test_two_requests_at_once
test_a_crash_behind_a_form_feed_in_unsaved_text = test_hazards.test_a_crash_behind_a_form_feed_in_unsaved_text
test_a_hang_that_no_signal_interrupts = test_hazards.test_a_hang_that_no_signal_interrupts
test_memory_eaten_by_a_constructor = test_hazards.test_memory_eaten_by_a_constructor
test_writing_to_every_open_descriptor = test_hazards.test_writing_to_every_open_descriptor
test_unsaved_text_is_traced = test_workspace_importer.test_unsaved_text_is_traced
test_the_limits_of_a_child = test_isolation.test_the_limits_of_a_child
test_a_submodule_of_a_built_module_beats_invented_arguments = (
    test_recipes.test_a_submodule_of_a_built_module_beats_invented_arguments
)

HOBBLED = """\
import os, signal, subprocess, sys
for owner, names in ((os, "fork forkpty killpg setpgid setsid wait4"), (signal, "SIGALRM SIGCHLD alarm setitimer")):
    for name in names.split():
        delattr(owner, name)
sys.modules["resource"] = sys.modules["_posixsubprocess"] = None
"""
"""Runs first in a Python, and takes from it what Windows doesn't have and the agent uses."""


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def spawning_agent(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    client = make_client(tmp_path_factory.mktemp("cwd"), env={"FX_LSP_WITHOUT": "fork"})
    yield client
    await client.agent.close()


@pytest.fixture
def client(spawning_agent: Client, root: Path) -> Client:
    """One for all tests here, with a workspace of the test's own."""
    return lent(spawning_agent, root)


async def test_a_fix_is_not_tried(client: Client) -> None:
    proof = await prove(client, Edit("def model(x):\n    return x / len(x)\n", "len(x)", "x.size(0)", root="model"))
    assert (proof.verdict, proof.reason) == (
        "untried",
        "fixes are tried in forked processes, and this system cannot fork",
    )


async def test_imports_are_preloaded_except_those_that_fail(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "deadly.py").write_text("import os, sys\nif sys.argv[0] == '-c': os._exit(1)\n")
    (tmp_path / "neighbour.py").write_text("import sys\nAHEAD = int(sys.argv[0] == '-c')\n")
    client = connect(env={"FX_LSP_WITHOUT": "fork", "PYTHONPATH": str(tmp_path)})
    file = client.write("net.py", "import deadly, neighbour\n\ndef model(x):\n    return x + neighbour.AHEAD\n")
    assert (await client.trace(file, "model")).only.outcome == "traced"
    assert "x + 1" in (await client.trace(file, "model")).only.code


async def test_a_system_without_what_windows_lacks(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOBBLED)
    client = connect(env={"PYTHONPATH": str(tmp_path)})
    file = client.write(
        "net.py",
        """
        def good(x):
            return x.cos()

        def bad(x):
            return x / len(x)

        def endless(x):
            while True: pass

        def deadly(x):
            import os
            os.abort()
        """,
    )
    reports = (await client.trace(file, "good", "bad", "endless", "deadly", limits=Limits(seconds=2))).reports
    outcomes = {key: report.outcome for key, report in reports.items()}
    assert outcomes == {"good": "traced", "bad": "failed", "endless": "timed-out", "deadly": "crashed"}
    places = [text_at(reports[key].failures[0].chain[-1]) for key in ("bad", "endless", "deadly")]
    assert places == ["len(x)", ENDLESS, "os.abort()"]
