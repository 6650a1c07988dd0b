"""Which edits are tried for a failure, and on what program."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fx_lsp.agent.messages import Proof, Recipe, Snippet, Verdict
from fx_lsp.analysis.engine import Engine
from fx_lsp.analysis.fix_trials import FixTrials, has_part
from fx_lsp.settings.settings import Settings
from tests.agent.client import PATIENT
from tests.agent.proving.edits import MERGE

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


UNUSABLE = """

def load():
    return Whole(open("missing").read())
"""


def recorded_attempts(trials: FixTrials, monkeypatch: pytest.MonkeyPatch) -> list[Proof]:
    """A list to which the result of each further attempt is added."""
    proofs: list[Proof] = []
    attempt = trials.attempt

    async def recorded(*args: Any, **kwargs: Any) -> Proof:
        proofs.append(await attempt(*args, **kwargs))
        return proofs[-1]

    monkeypatch.setattr(trials, "attempt", recorded)
    return proofs


@contextlib.asynccontextmanager
async def traced_in(folder: Path, file: Path, env: dict[str, str] | None = None) -> AsyncIterator[Engine]:
    """An engine for ``folder`` that has traced ``file``."""
    settings = Settings(time_limit=PATIENT.seconds, env=env or {})
    engine = Engine(lambda path: settings, folders=[str(folder)], python=[sys.executable])
    try:
        await engine.scheduler.trace(str(file))
        yield engine
    finally:
        await engine.close()


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("source", [SOURCE, SOURCE + UNUSABLE], ids=["invented arguments", "after a failing call"])
async def test_a_part_that_only_its_host_can_build(tmp_path: Path, source: str) -> None:
    file = tmp_path / "parts.py"
    file.write_text(source, encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        traced = engine.results[str(file)].traced["class:Part"]
        assert traced.report is not None
        assert traced.report.recipe == "Whole(depth=2).parts[0]"
        (failure,) = traced.report.failures
        trials = engine.proofs.trials
        proofs = [await trials.attempt(str(file), traced, [failure], fix) for fix in trials.first_fixes(failure)]
        assert "proven" in {proof.verdict for proof in proofs}, proofs


@pytest.mark.parametrize(
    ("source", "made_up", "shown", "expected"),
    [
        ("Whole", True, "Whole(depth=2).parts[0]", True),
        ("Whole", True, "Whole(depth=2)", False),
        ("Whole", True, "Wholesale(depth=2).parts[0]", False),
        ("Whole", False, "Whole(depth=2).parts[0]", False),
        ("Whole(2)", False, "Whole(2).parts[0]", True),
        ("Whole(2)", False, "Whole(2)", False),
        ("layers", False, "layers[0].attn", True),
        ("layers", False, "layers2.attn", False),
    ],
)
def test_the_host_of_a_part(source: str, made_up: bool, shown: str, expected: bool) -> None:
    assert has_part(Recipe(Snippet(source, 1), made_up=made_up), shown) is expected


TWO_WAYS = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        if x.shape[0] > 2:
            x = self.layer(x)
        else:
            x = self.layer(x) + x
        return x
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_an_edit_that_can_not_be_proven_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "net.py"
    file.write_text(TWO_WAYS, encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        (failure,) = engine.results[str(file)].traced["class:Net"].report.failures  # type: ignore[union-attr]
        trials = engine.proofs.trials
        fixes = trials.first_fixes(failure)
        rejecting = [fix for fix in fixes if fix.rejects_inputs]
        assert [fix.title for fix in rejecting] == ["Require x.shape[0] <= 2", "Require x.shape[0] > 2"]
        assert fixes[-2:] == tuple(rejecting)
        attempts = recorded_attempts(trials, monkeypatch)
        proofs = [await trials.prove(failure, fix) for fix in rejecting]
        assert {proof.verdict for proof in proofs} == {"untried"}
        assert not attempts
        assert trials.known(failure, rejecting[0]) == proofs[0]

        async def refuse(*args: Any, **kwargs: Any) -> Proof:
            return Proof(0, "refuted", "as this test wants it")

        monkeypatch.setattr(trials, "attempt", refuse)
        assert await engine.proofs.combinations.prove_together(str(file), unproven=True) is None


ALWAYS_EVEN = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width=512, depth=6):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return halved(torch.cat([x, x], -1))


def halved(x):
    if x.shape[-1] % 2 != 0:
        x = nn.functional.pad(x, (0, 1))
    return x[..., ::2] + x[..., 1::2]


Net()
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_a_function_is_run_alone_before_a_large_program_if_no_input_of_a_twin_reaches_the_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net.py"
    file.write_text(ALWAYS_EVEN, encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        trials = engine.proofs.trials
        (failure,) = next(iter(engine.results[str(file)].traced.values())).report.failures  # type: ignore[union-attr]
        fix = next(fix for fix in trials.first_fixes(failure) if "sym_ite" in fix.title)
        attempts = recorded_attempts(trials, monkeypatch)
        proof = await trials.prove(failure, fix)
        assert proof.verdict == "proven"
        assert proof.reason.startswith("`halved`, run alone, behaves the same")
        assert [attempt.of_lone_twin for attempt in attempts] == [True, False]
        other = next(fix for fix in trials.first_fixes(failure) if "sym_ite" not in fix.title)

        async def refuted(*args: Any, function_only: bool = False, twins_only: bool = False, **kwargs: Any) -> Proof:
            verdict: Verdict = "proven" if function_only else "refuted"
            return Proof(0, verdict, "as this test wants it", of_lone_twin=twins_only)

        monkeypatch.setattr(trials, "attempt", refuted)
        assert (await trials.prove(failure, other)).verdict == "refuted"


SET_UP_BY_ITS_HOST = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.size = None

    def forward(self, x):
        assert x.shape[1] == self.size * self.size, "wrong size"
        return self.norm(x)


class Net(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim) for _ in range(2))

    def forward(self, x):
        if x.shape[-1] > 1_000_000:
            raise ValueError("too wide")
        x = nn.functional.adaptive_avg_pool1d(x.transpose(1, 2), 16).transpose(1, 2)
        for block in self.blocks:
            block.size = 4
            x = block(x)
        return x


Net()
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_a_part_that_its_host_sets_up_is_tried_in_all_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net.py"
    file.write_text(SET_UP_BY_ITS_HOST, encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        trials = engine.proofs.trials
        traced = engine.results[str(file)].traced["class:Block"]
        assert traced.report is not None
        (failure,) = traced.report.failures
        fix = trials.first_fixes(failure)[0]
        attempts = recorded_attempts(trials, monkeypatch)
        assert (await trials.prove(failure, fix)).verdict == "proven"
        assert [attempt.reason for attempt in attempts[:-1]] == ["the failure did not occur again"]


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


@pytest.mark.asyncio(loop_scope="session")
async def test_files_outside_the_workspace_are_not_edited(tmp_path: Path) -> None:
    library, folder = tmp_path / "installed" / "library.py", tmp_path / "project"
    for path, text in ((library, LIBRARY), (folder / "net.py", USER)):
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
    file = str(folder / "net.py")
    async with traced_in(folder, Path(file), {**os.environ, "PYTHONPATH": str(library.parent)}) as engine:
        report = engine.results[file].traced["class:Net"].report
        assert report is not None
        (failure,) = report.failures
        assert failure.chain[-1].span.file == str(library)
        fixes = engine.proofs.trials.fixes(failure)
        assert fixes
        assert {change.span.file for fix in fixes for change in fix.changes} == {file}


REPEATED = """\
import torch


def padded(images):
    height = max(image.shape[-1] for image in images)
    return torch.stack([torch.nn.functional.pad(image, (0, height - len(image[0]))) for image in images])


class Net(torch.nn.Module):
    def forward(self, images: list[torch.Tensor]):
        return padded(images) * len(images)
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_one_proof_serves_all_failures_that_an_edit_fixes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net.py"
    file.write_text(REPEATED, encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        traced = engine.results[str(file)].traced["class:Net"]
        assert traced.report is not None
        trials = engine.proofs.trials
        attempts = recorded_attempts(trials, monkeypatch)
        shared = [
            (failure, fix)
            for failure in traced.report.failures
            for fix in trials.first_fixes(failure)
            if 'wrap("padded")' in fix.title
        ]
        assert len({id(failure) for failure, _ in shared}) > 1
        proofs = [await trials.prove(failure, fix) for failure, fix in shared]
        assert {proof.verdict for proof in proofs} == {"proven"}, proofs
        assert len(attempts) == 1


LOOP = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        n = len(x)
        rows = []
        for i in range(n):
            rows.append(x[i] * i)
        return torch.stack(rows)
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_a_number_that_stops_the_trace_again_where_it_is_used_gets_one_fix_of_two_edits(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(LOOP, encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        report = engine.results[str(file)].traced["class:Net"].report
        assert report is not None
        failure, trials = report.failures[0], engine.proofs.trials
        verdicts = {fix.title: (await trials.prove(failure, fix)).verdict async for fix in trials.one_by_one(failure)}
        *alone, (title, verdict) = verdicts.items()
        assert {verdict for _, verdict in alone} == {"refuted"}
        assert title == "Replace with x.size(0); then move the loop into _forward_rows and record its call"
        assert verdict == "proven"


PART = f"""\
from torch import nn
{MERGE}
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stages = nn.ModuleList(nn.Conv2d(a, b, 1) for a, b in ((3, 3), (3, 5), (5, 7)))
        self.merge = Merge(width)

    def forward(self, x):
        if x.sum() > 0:
            x = -x
        maps = []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        return self.merge({{"maps": maps, "gates": {{"all": x.mean()}}}})
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_a_part_without_inputs_is_tried_in_a_model_that_contains_it(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(PART, encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        traced = engine.results[str(file)].traced["class:Merge"]
        assert traced.report is not None
        (failure,) = traced.report.failures
        trials = engine.proofs.trials
        for fix in trials.first_fixes(failure):
            alone = await trials.attempt(str(file), traced, [failure], fix)
            assert (alone.verdict, alone.lacks_inputs) == ("untried", True), alone
            if "size" in fix.title:
                assert (await trials.prove(failure, fix)).verdict == "proven"
                break
        else:
            pytest.fail("no fix calls size")


ROWS = """
        rows, n = [], len(merged)
        for row in range(n):
            rows.append(merged[row] * row)
        return torch.stack(rows)"""
"""Where one edit is not enough, since `range` also needs a number."""


@pytest.mark.asyncio(loop_scope="session")
async def test_a_fix_of_two_edits_for_a_part_without_inputs_is_tried_in_a_model_that_contains_it(
    tmp_path: Path,
) -> None:
    file = tmp_path / "net.py"
    part = PART.replace('\n        return merged * state["gates"]["all"] / len(merged)', ROWS)
    file.write_text(f"import torch\n{part}", encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        traced = engine.results[str(file)].traced["class:Merge"]
        assert traced.report is not None
        (failure,) = (each for each in traced.report.failures if each.kind == "len")
        trials = engine.proofs.trials
        verdicts = {fix.title: (await trials.prove(failure, fix)).verdict async for fix in trials.one_by_one(failure)}
    (title,) = (title for title, verdict in verdicts.items() if verdict == "proven")
    assert title.startswith("Replace with merged.size(0); then")


LABELLED = """\
import torch


class Labelled(torch.nn.Module):
    def __init__(self, classes=None):
        super().__init__()
        self.classes = classes
        if classes is not None:
            self.labels = torch.nn.Embedding(classes, 4)

    def forward(self, x, y=None):
        assert (y is not None) == (self.classes is not None)
        if self.classes is not None:
            assert y.shape == (x.shape[0],)
            x = x + self.labels(y)
        return x
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_a_failure_found_with_invented_arguments_is_tried_with_these(tmp_path: Path) -> None:
    """Without any, the class can be built, too, but fails elsewhere."""
    file = tmp_path / "net.py"
    file.write_text(LABELLED, encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        traced = engine.results[str(file)].traced["class:Labelled"]
        assert traced.report is not None
        assert traced.report.intent == "assumed"
        assert "classes=" in traced.report.recipe
        (failure,) = traced.report.failures
        trials = engine.proofs.trials
        proofs = [await trials.prove(failure, fix) for fix in trials.first_fixes(failure)]
    assert "proven" in [proof.verdict for proof in proofs], proofs


WITH_SHARED_PART = """\
import torch


class Encoder(torch.nn.Module):
    def __init__(self, width=4, shared=None):
        super().__init__()
        self.own = torch.nn.Linear(width, width)
        self.shared = shared

    def forward(self, x):
        return self.shared(self.own(x)) / len(x)
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_a_failure_found_as_the_workspace_builds_a_class_is_tried_with_that(tmp_path: Path) -> None:
    """As its defaults build it, it fails elsewhere."""
    file = tmp_path / "net.py"
    file.write_text(WITH_SHARED_PART, encoding="utf-8")
    built = "shared = torch.nn.Linear(4, 4)\nencoder = Encoder(shared=shared)\n"
    (tmp_path / "train.py").write_text(f"import torch\nfrom net import *\n\n{built}", encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        traced = engine.results[str(file)].traced["class:Encoder"]
        assert traced.report is not None
        assert (traced.target.recipe.root.source, traced.report.recipe) == ("Encoder()", "Encoder(shared=shared)")
        (failure,) = traced.report.failures
        fix = engine.proofs.trials.first_fixes(failure)[0]
        proof = await engine.proofs.trials.prove(failure, fix)
    assert proof.verdict == "proven", proof.reason


WITH_STAND_IN = """\
import torch
from missing_package import sparse


class Net(torch.nn.Module):
    def patches(self, x):
        return x.reshape(len(x), -1)

    def forward(self, x):
        return sparse(self.patches(x), 3)
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_the_changed_function_of_a_program_that_cannot_be_run_is_tried_alone(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(WITH_STAND_IN, encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        traced = engine.results[str(file)].traced["class:Net"]
        assert traced.report is not None
        failure = traced.report.failures[0]
        trials = engine.proofs.trials
        proofs = {fix.title: await trials.prove(failure, fix) for fix in trials.first_fixes(failure)}
        (title,) = [title for title in proofs if "size" in title or "shape" in title]
        assert proofs[title].verdict == "proven", proofs
        assert "`Net.patches`, run alone," in proofs[title].reason


PART_OF_FLAGGED = """\
import torch
from torch import nn


class Part(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x, doubled=False):
        return x * 2 if doubled else self.layer(x)


class Whole(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.part = Part(width)

    def forward(self, x, doubled=-1):
        return self.part(x, doubled == 1)
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_a_directive_is_tried_on_the_class_that_it_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net.py"
    file.write_text(PART_OF_FLAGGED, encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        trials, traced = engine.proofs.trials, engine.results[str(file)].traced
        part, whole = (traced[key].report for key in ("class:Part", "class:Whole"))
        assert part is not None
        assert whole is not None
        fix = trials.first_fixes(whole.failures[0])[0]
        assert fix.title == "Trace with doubled=-1"
        monkeypatch.setattr(trials, "first_fixes", lambda failure: (fix,))
        assert (await trials.attempt(str(file), traced["class:Part"], part.failures, fix)).verdict == "refuted"
        assert (await trials.prove(part.failures[0], fix)).verdict == "proven"


UNREACHED = """\
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 3, 3, padding=1)

    def forward(self, x):
        y = self.conv(x)
        pad = (x.shape[-1] - y.shape[-1]) // 2
        if pad > 0:
            x = x[..., pad:-pad]
        return x + y


class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Residual()

    def forward(self, x):
        return self.block(x)


class Second(First):
    def forward(self, x):
        return self.block(x) + 1


class Third(First):
    def forward(self, x):
        return self.block(x) + 2
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_code_that_no_input_reaches_is_not_looked_for_in_every_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net.py"
    file.write_text(UNREACHED, encoding="utf-8")
    async with traced_in(tmp_path, file) as engine:
        report = engine.results[str(file)].traced["class:Residual"].report
        assert report is not None
        (failure,) = report.failures
        trials = engine.proofs.trials
        proofs = recorded_attempts(trials, monkeypatch)
        fix = trials.first_fixes(failure)[0]
        assert fix.title == "Choose with torch.sym_ite"
        assert (await trials.prove(failure, fix)).verdict == "proven"
        assert [proof.unreached for proof in proofs] == [True, True, False]
        assert proofs[1].reason == "no input was found that reaches line 14"
        assert "the changed statements of `Residual.forward`, run alone" in proofs[-1].reason
