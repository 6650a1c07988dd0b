"""Files with many habits (tests/workspaces/scripts): what is reported from kept processes is what is reported anew."""

import contextlib
import dataclasses
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.messages import Done, Limits, Purpose, Report, Trace
from fx_lsp.targets.target_finder import TargetFinder
from tests.agent.client import Client, make_client

pytestmark = pytest.mark.asyncio(loop_scope="module")

FOLDER = Path(__file__).parents[2] / "workspaces" / "scripts"
NAMES = sorted(path.name for path in FOLDER.glob("*.py"))
SECONDS = {"slow_work.py": 1}
"""The limits of files that run until they are stopped; others get plenty."""

SOME = NAMES if os.environ.get("FX_LSP_ALL_SCRIPTS") else NAMES[::3]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def clients(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Client, Client]]:
    """One that keeps processes, and one that is never asked to, in the same workspace."""
    folder = tmp_path_factory.mktemp("workspace") / "scripts"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    both = make_client(folder), make_client(folder)
    yield both
    for client in both:
        await client.agent.close()


async def told(client: Client, request: Trace) -> dict[str, Report]:
    reports: dict[str, Report] = {}
    async with contextlib.aclosing(client.agent.trace(request)) as answers:
        async for answer in answers:
            if not isinstance(answer, Done):
                reports[answer.target] = dataclasses.replace(answer, id=0, seconds=0, processor_seconds=0)
    return reports


@pytest.mark.parametrize("name", SOME)
async def test_a_script(clients: tuple[Client, Client], name: str) -> None:
    keeping, fresh = clients
    path = str(keeping.root / name)
    steps: list[tuple[str, Purpose]] = [("", "edit"), ("\n# more\n", "edit"), ("", "confirm"), ("\n# more\n", "edit")]
    for more, purpose in steps:
        text = Path(path).read_text() + more
        finder = TargetFinder(lambda: [str(keeping.root)], {path: text}.get)
        targets = finder.completed(path, finder.find(path, text) or ())
        request = Trace(path, tuple(targets), {path: text}, (str(keeping.root),), Limits(seconds=SECONDS.get(name, 60)))
        assert await told(keeping, dataclasses.replace(request, purpose=purpose)) == await told(fresh, request)
