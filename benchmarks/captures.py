"""Compares fx-lsp's verdicts on `torch.export` and `torch.compile` with those of the installed torch.

    python benchmarks/captures.py FOLDER [--most N] [--match PART ...] [--minutes M] [--seconds]

The models of `capture_models.py` are captured twice: by `capture_truth.py`, which calls torch in a fresh process, and
by fx-lsp's agent, which is given the same expressions. The results are stored in FOLDER, and those that it contains
are reused. The last thing that is printed is a table for docs/captures-measured.md. With ``--seconds``, the time that
fx-lsp takes for an export is compared with that of a process that has exported another model before. The libraries
are those that recall.py needs.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.capture_models import all_cases
from benchmarks.capture_truth import Result, place
from benchmarks.recall_models import Case
from fx_lsp.agent.messages import Capture, Limits, Recipe, Report, Snippet, Span, Target, Trace
from fx_lsp.supervisor.supervised_agent import SupervisedAgent

ROOT = Path(__file__).resolve().parents[1]
CAPTURES: tuple[Capture, ...] = ("export", "compile")
MOST_SECONDS = 300
"""The time limit of each capture, on each side."""

FILE = """\
import warnings

from benchmarks.capture_models import arguments, build, implement_operators, load

warnings.simplefilter("ignore")
implement_operators()
load({library!r}, {name!r})
given = arguments({library!r}, {name!r})
"""
SOURCES = (
    "benchmarks/capture_models.py",
    "benchmarks/recall_models.py",
    "tests/torchvision_operators.py",
    "tests/zoo.py",
)


@dataclass(frozen=True)
class Difference:
    """What fx-lsp and torch say differently about one capture of a model."""

    model: str
    capture: Capture
    what: str
    """``verdict``, ``dynamic batch``, ``kind`` or ``place``."""
    of_torch: str
    of_fx_lsp: str


def truth_of(case: Case, capture: str, output: Path) -> Result:
    """What torch says, from `capture_truth.py` in a process of its own."""
    command = [sys.executable, str(ROOT / "benchmarks/capture_truth.py"), case.library, case.name, capture, str(output)]
    try:
        subprocess.run(command, timeout=MOST_SECONDS, capture_output=True, check=True, text=True)
    except subprocess.TimeoutExpired:
        return {"verdict": f"took more than {MOST_SECONDS} s"}
    except subprocess.CalledProcessError as error:
        return {"verdict": f"the process ended: {error.stderr.strip().splitlines()[-1:]}"}
    found: Result = json.loads(output.read_text(encoding="utf-8"))
    return found


async def found_by(agent: SupervisedAgent, folder: Path, case: Case, capture: Capture) -> Result:
    """What fx-lsp says, in the same form."""
    return as_result(await report_on(agent, folder, case, capture))


async def report_on(agent: SupervisedAgent, folder: Path, case: Case, capture: Capture) -> Report:
    """The last report of fx-lsp's agent on a model; ``folder`` is the workspace."""
    path = folder / f"{case.library}_{case.name.replace('.', '_')}.py"
    path.write_text(FILE.format(library=case.library, name=case.name), encoding="utf-8")
    recipe = Recipe(Snippet(f"build({case.library!r}, {case.name!r})", 1), inputs=Snippet("(*given[0], **given[1])", 1))
    target = Target("model", case.name, Span(str(path), 1, 0, 1, 1), recipe)
    request = Trace(str(path), (target,), roots=(str(folder),), limits=Limits(MOST_SECONDS, 8192), capture=capture)
    reports: list[Report] = []
    async with contextlib.aclosing(agent.trace(request)) as answers:
        async for answer in answers:
            if isinstance(answer, Report):
                reports.append(answer)
    return reports[-1]


def as_result(report: Report) -> Result:
    """A report in the form of `capture_truth.py`'s results."""
    result: Result = {
        "verdict": report.outcome,
        "dynamic_batch": report.dynamic_batch,
        "seconds": report.processor_seconds,
    }
    if report.outcome not in ("traced", "failed"):
        return result | {"error": report.reason or "".join(failure.error for failure in report.failures)[:400]}
    if report.notices:
        result |= {"batch_error": report.notices[0].error[:400], "batch_place": innermost(report.notices[0].chain)}
    if report.failures:
        first = report.failures[0]
        result |= {"kind": first.kind, "error": first.error[:400], "place": innermost(first.chain)}
    return result


def innermost(chain: Sequence[Any]) -> str | None:
    """The place of the last step."""
    return place(chain[-1].span.file, chain[-1].span.line) if chain else None


def differences(case: Case, capture: Capture, truth: Result, found: Result) -> Iterator[Difference]:
    """In what the two sides differ; a place only counts where torch tells one."""
    whats = {"verdict": "verdict", "dynamic batch": "dynamic_batch"}
    if truth["verdict"] == found["verdict"] == "failed":
        whats |= {"kind": "kind"} | ({"place": "place"} if truth["place"] else {})
    for what, field in whats.items():
        if truth.get(field) != found.get(field):
            sides = [
                " ".join(str(side[key]) for key in (field, "error", "batch_error") if side.get(key) is not None)
                for side in (truth, found)
            ]
            yield Difference(f"{case.library}: {case.name}", capture, what, *sides)


def workspace_in(folder: Path) -> Path:
    """A folder with what builds the models."""
    workspace = folder / "workspace"
    for name in SOURCES:
        target = workspace / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (target.parent / "__init__.py").touch()
        shutil.copy(ROOT / name, target)
    return workspace


def agent_in(workspace: Path) -> SupervisedAgent:
    """An agent that runs in this Python."""
    return SupervisedAgent(
        [sys.executable],
        cwd=workspace,
        env=dict(os.environ),
        log=lambda line: None,
        on_state=lambda state: None,
    )


class Bench:
    """The results so far, which are stored in a folder."""

    def __init__(self, folder: Path) -> None:
        self.workspace = workspace_in(folder)
        self._folder = folder

    def file(self, side: str, case: Case, capture: Capture) -> Path:
        """The file of one result."""
        return self._folder / f"{case.library}-{case.name}-{capture}-{side}.json"

    def known(self, side: str, case: Case, capture: Capture) -> Result | None:
        """A stored result."""
        file = self.file(side, case, capture)
        found: Result | None = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
        return found

    async def measure(self, cases: Sequence[Case], until: float) -> None:
        """Get the results that are missing, until that time."""
        agent = agent_in(self.workspace)
        for case in cases:
            for capture in CAPTURES:
                if time.time() > until:
                    break
                if self.known("torch", case, capture) is None:
                    file = self.file("torch", case, capture)
                    file.write_text(json.dumps(truth_of(case, capture, file)), encoding="utf-8")
                if self.known("fx-lsp", case, capture) is None:
                    found = await found_by(agent, self.workspace, case, capture)
                    self.file("fx-lsp", case, capture).write_text(json.dumps(found), encoding="utf-8")
                truth, found = (self.known(side, case, capture) or {} for side in ("torch", "fx-lsp"))
                for different in differences(case, capture, truth, found):
                    print(different, flush=True)
        await agent.close()

    async def compare_seconds(self, cases: Sequence[Case]) -> str:
        """The CPU seconds that an export takes fx-lsp and torch, for models that can be exported."""
        agent = agent_in(self.workspace)
        lines, ratios = ["| model | fx-lsp | torch | ratio |", "|---|---|---|---|"], []
        for case in cases:
            await found_by(agent, self.workspace, case, "export")  # the agent learns what to import
            found = await found_by(agent, self.workspace, case, "export")
            truth = truth_of(case, "seconds", self._folder / "seconds.json")
            if found["verdict"] == "traced" and "seconds" in truth:
                ratios.append(found["seconds"] / truth["seconds"])
                lines.append(f"| {case.name} | {found['seconds']:.2f} | {truth['seconds']:.2f} | {ratios[-1]:.2f} |")
        await agent.close()
        return "\n".join([*lines, f"median ratio: {statistics.median(ratios):.2f}"])

    def table(self, cases: Sequence[Case]) -> str:
        """What was compared, as Markdown."""
        counts: Counter[tuple[str, str]] = Counter()
        found_differences: list[Difference] = []
        for case in cases:
            for capture in CAPTURES:
                truth, found = self.known("torch", case, capture), self.known("fx-lsp", case, capture)
                if truth is None or found is None:
                    continue
                counts[capture, "models"] += 1
                counts[capture, "capturable"] += truth["verdict"] == "traced"
                counts[capture, "dynamic"] += truth.get("dynamic_batch") is True
                counts[capture, "places"] += truth["verdict"] == "failed" and truth["place"] is not None
                counts[capture, "traced by fx"] += bool(truth.get("fx"))
                new = list(differences(case, capture, truth, found))
                counts.update((capture, different.what) for different in new)
                found_differences += new
        return "\n".join([*rows(counts), "", *(f"- {item}" for item in found_differences)])


def rows(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """One row for each capture and each thing that is compared."""
    yield f"torch.fx traces {counts['export', 'traced by fx']} of these models."
    yield ""
    yield "| capture | models | captured | what is compared | compared | equal |"
    yield "|---|---|---|---|---|---|"
    for capture in CAPTURES:
        models, captured = counts[capture, "models"], counts[capture, "capturable"]
        of = {"verdict": models, "kind": models - captured, "place": counts[capture, "places"]}
        if capture == "export":
            of["dynamic batch"] = captured
        for what, number in of.items():
            yield f"| {capture} | {models} | {captured} | {what} | {number} | {number - counts[capture, what]} |"


def main() -> int:
    """Measure, then print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the results are stored")
    parser.add_argument("--most", type=int, default=None, help="only this many models")
    parser.add_argument("--match", nargs="+", default=[""], help="only models whose names contain one of these")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no capture after this time")
    parser.add_argument("--seconds", action="store_true", help="compare the times instead of the verdicts")
    options = parser.parse_args()
    bench = Bench(options.folder.resolve())
    cases = [case for case in all_cases() if any(part in case.name for part in options.match)][: options.most]
    if options.seconds:
        print(asyncio.run(bench.compare_seconds(cases)))
        return 0
    asyncio.run(bench.measure(cases, time.time() + options.minutes * 60))
    print(bench.table(cases))
    return 0


if __name__ == "__main__":
    sys.exit(main())
