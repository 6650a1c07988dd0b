"""Which edits are tried for a failure, and on what program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fx_lsp.analysis.engine import Engine
from fx_lsp.settings.settings import Settings
from tests.agent.client import PATIENT

pytestmark = pytest.mark.asyncio(loop_scope="session")

SOURCE = """\
import torch
from torch import nn

KNOWN = {"first secret": 4, "second secret": 6}


class Part(nn.Module):
    def __init__(self, secret):
        super().__init__()
        self.width = dict(KNOWN)[secret.strip("<>")[1:-1]]
        self.layer = nn.Linear(self.width, self.width)

    def forward(self, x):
        if x.shape[-1] != self.width:
            raise ValueError("wrong width")
        return self.layer(x)


class Whole(nn.Module):
    def __init__(self, depth):
        super().__init__()
        secret = f"< {['first', 'second'][min(depth, 1)]} secret >"
        self.parts = nn.ModuleList([Part(secret)] + [nn.Identity() for _ in range(depth)])

    def forward(self, x):
        return self.parts[0](x)
"""


async def test_a_part_that_only_its_host_can_build(tmp_path: Path) -> None:
    file = tmp_path / "parts.py"
    file.write_text(SOURCE, encoding="utf-8")
    engine = Engine(lambda path: Settings(time_limit=PATIENT.seconds), folders=[str(tmp_path)], python=[sys.executable])
    try:
        await engine.scheduler.trace(str(file))
        traced = engine.results[str(file)].traced["class:Part"]
        assert traced.report is not None
        assert traced.report.recipe == "Whole(depth=2).parts[0]"
        (failure,) = traced.report.failures
        trials = engine.proofs.trials
        proofs = [await trials.attempt(str(file), traced, [failure], fix) for fix in trials.first_fixes(failure)]
        assert "proven" in {proof.verdict for proof in proofs}, proofs
    finally:
        await engine.close()


LIBRARY = """\
import torch


def clipped(x):
    return halved(x)


def halved(x):
    return x / 2 if x.sum() > 0 else x
"""

USER = """\
import torch
from library import clipped


class Net(torch.nn.Module):
    def forward(self, x):
        return clipped(x)
"""


async def test_files_outside_the_workspace_are_not_edited(tmp_path: Path) -> None:
    library, folder = tmp_path / "installed" / "library.py", tmp_path / "project"
    for path, text in ((library, LIBRARY), (folder / "net.py", USER)):
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
    settings = Settings(time_limit=PATIENT.seconds, env={**os.environ, "PYTHONPATH": str(library.parent)})
    engine = Engine(lambda path: settings, folders=[str(folder)], python=[sys.executable])
    try:
        file = str(folder / "net.py")
        await engine.scheduler.trace(file)
        report = engine.results[file].traced["class:Net"].report
        assert report is not None
        (failure,) = report.failures
        assert failure.chain[-1].span.file == str(library)
        fixes = engine.proofs.trials.fixes(failure)
        assert fixes
        assert {change.span.file for fix in fixes for change in fix.changes} == {file}
    finally:
        await engine.close()
