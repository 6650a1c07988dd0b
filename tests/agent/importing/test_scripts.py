"""Files that were written to be run, not to be imported: what is said of their classes with no configuration.

Each file of ``tests/workspaces/scripts`` says in comments what is expected: of each class or instance the outcome, with
the kind of the failure or that it is conditional, and after ``import`` what its import was short of.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fx_lsp.agent.messages import Failure, Limits, Report, Trace
from fx_lsp.documents.documents import Documents
from fx_lsp.targets import find_targets
from fx_lsp.targets.workspace_recipes import WorkspaceRecipes
from tests.agent.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="session")

FOLDER = Path(__file__).parents[2] / "workspaces" / "scripts"

ELSEWHERE = WorkspaceRecipes(lambda: [str(FOLDER)], Documents().text)
"""How the files show that the classes of other files are built."""

EXPECTED = re.compile(r"^# (?!fx:)(\w+): (.+)$", re.MULTILINE)

SECONDS = {"slow_work": 1}
"""The time limits of files that exceed it; all others have plenty of time."""

OF_IMPORT = ("import", "missing-package", "definitions-only")


@pytest.mark.parametrize("script", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
async def test_the_notices_of_a_script(client: Client, script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    targets = ELSEWHERE.completed(str(script), find_targets(str(script), text) or ())
    assert targets
    limits = Limits(seconds=SECONDS.get(script.stem, 60))
    request = Trace(file=str(script), targets=targets, roots=(str(FOLDER),), limits=limits)
    reports: dict[str, Report] = {}
    async for answer in client.agent.trace(request):
        if isinstance(answer, Report):
            reports.setdefault(answer.target, answer)
    said = {target.title: _verdict(reports[target.key]) for target in targets}
    notices = {notice.kind for report in reports.values() for notice in report.notices if notice.kind in OF_IMPORT}
    assert {**said, **({"import": " ".join(sorted(notices))} if notices else {})} == dict(EXPECTED.findall(text))


def _verdict(report: Report) -> str:
    kinds: tuple[Failure, ...] = report.failures[:1] if report.outcome == "failed" else ()
    condition = ["on a condition"] if report.outcome == "traced" and report.reason else []
    return " ".join([report.outcome, *condition, *(failure.kind for failure in kinds)])
