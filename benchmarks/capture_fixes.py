"""Measures for how many places that stop torch.export or torch.compile a fix is offered, and is proven.

    python benchmarks/capture_fixes.py FOLDER [--models PART ...] [--programs PART ...] [--minutes M]

The programs are those of `capture_programs.py`, some of them held out, and the models of `capture_models.py` that can't
be captured, whose packages are copied into FOLDER, so that their files can be edited. Of places at which several models
fail, only the first is counted. Results are stored in FOLDER, and those that it contains are reused. A proven edit is
tried once more, on other values than the proof has used: by `capture_fix_truth.py`, in a process that knows nothing of
fx-lsp. The last thing that is printed is a table for docs/captures-measured.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.capture_models import all_cases
from benchmarks.capture_programs import FRESH, HELD_OUT, LATER, PROGRAMS, WHOLE, WHOLE_HELD_OUT, text_of
from benchmarks.fixes import Attempt, Taken, copy_sources, grouped, packages, share, told
from benchmarks.recall_models import CASES, Case
from fx_lsp.agent.messages import Capture, Failure
from fx_lsp.analysis.engine import Engine
from fx_lsp.fixes import Fix
from fx_lsp.fixes.editing.text_edits import applied
from fx_lsp.rules import rule_for
from fx_lsp.settings.settings import Settings

GROUPS = {
    "programs": PROGRAMS,
    "held out": HELD_OUT,
    "later": LATER,
    "fresh": FRESH,
    "whole files": WHOLE,
    "whole files, held out": WHOLE_HELD_OUT,
}
"""The programs, by what their places are counted with."""

ROOT = Path(__file__).resolve().parents[1]
CAPTURES: tuple[Capture, ...] = ("export", "compile")
SOURCES = ("capture_models.py", "recall_models.py", "__init__.py")

MODEL = """\
from benchmarks.capture_models import arguments, build, load

load({library!r}, {name!r})
given = arguments({library!r}, {name!r})


# fx: inputs(*given[0], **given[1])
model = build({library!r}, {name!r})
"""


class Bench:
    """A workspace with the programs and packages, and the results so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._results = folder.parent / f"{folder.name}.json"
        known = json.loads(self._results.read_text(encoding="utf-8")) if self._results.exists() else {}
        self.done: list[str] = known.get("done", [])
        """The programs and models that are finished, with the capture."""
        self.places: list[Taken] = [told(item) for item in known.get("places", [])]
        self._seen = {(taken.place, taken.kind) for taken in self.places}

    def keep(self) -> None:
        """Store the results so far."""
        plain = {"done": self.done, "places": [asdict(taken) for taken in self.places]}
        self._results.write_text(json.dumps(plain, indent=1), encoding="utf-8")

    def new(self, library: str, name: str, failure: Failure) -> Taken | None:
        """The innermost place in the workspace; None if it is already known."""
        own = [step.span for step in failure.chain if step.span.file.startswith(f"{self.folder}{os.sep}")]
        if not own:
            return Taken(library, name, failure.kind, "outside of the package")
        place = f"{Path(own[-1].file).relative_to(self.folder)}:{own[-1].line}:{own[-1].col}"
        if (place, failure.kind) in self._seen:
            return None
        self._seen.add((place, failure.kind))
        return Taken(library, name, failure.kind, place)

    def write_program(self, name: str) -> Path:
        """The file of a small program."""
        path = self.folder / f"program_{name}.py"
        path.write_text(text_of(name), encoding="utf-8")
        return path

    def write_model(self, case: Case) -> Path:
        """A file that builds a model, whose package is in the workspace."""
        missing = [name for name in packages(case.library) if not (self.folder / name).exists()]
        if missing and case.library in CASES:
            copy_sources(case.library, self.folder)
        for source in SOURCES:
            (self.folder / "benchmarks" / source).write_bytes((ROOT / "benchmarks" / source).read_bytes())
        path = self.folder / f"model_{case.name.replace('.', '_')}.py"
        path.write_text(MODEL.format(library=case.library, name=case.name), encoding="utf-8")
        return path


class Worker:
    """Has an engine try the fixes of one file after another."""

    def __init__(self, bench: Bench, seconds: float) -> None:
        self._bench = bench
        settings = Settings(time_limit=seconds, memory_limit=8192, env=dict(os.environ), captures=("fx", *CAPTURES))
        self._engine = Engine(lambda path: settings, folders=[str(bench.folder)], python=[sys.executable])

    async def measure(self, library: str, name: str, path: Path, capture: Capture) -> None:
        """Try the fixes for every place at which one capture of a file's model fails."""
        engine, key = self._engine, "instance:model"
        if str(path) not in engine.results:
            await engine.scheduler.trace(str(path))
        await engine.captures.capture(str(path), capture, [key])
        captured = engine.results[str(path)].captured.get((key, capture))
        report = captured.report if captured else None
        if report is None or report.outcome not in ("traced", "failed"):
            logging.warning("%s: %s: %s", name, capture, report and (report.outcome, report.reason))
        for failure in report.failures if report else ():
            if rule_for(failure.kind).capture == capture and (taken := self._bench.new(library, name, failure)):
                self._bench.places.append(await self._tried(taken, failure, path, capture))
                self._bench.keep()
        self._bench.done.append(f"{library} {name} {capture}")
        self._bench.keep()

    async def close(self) -> None:
        """Stop the agents."""
        await self._engine.close()

    async def _tried(self, taken: Taken, failure: Failure, path: Path, capture: Capture) -> Taken:
        async for fix in self._engine.proofs.trials.one_by_one(failure):
            proof = await self._engine.proofs.trials.prove(failure, fix)
            logging.info("%s: %s: %s, %s", taken.place, fix.title, proof.verdict, proof.reason)
            taken.attempts.append(Attempt(fix.title, proof.verdict, proof.reason))
            if proof.verdict == "proven":
                if taken.library in GROUPS:
                    taken.attempts[-1].full_size = self._checked(path, fix, capture)
                break
        if not taken.attempts:
            logging.info("%s: no fix: %s %s", taken.place, failure.kind, failure.error.partition("\n")[0])
        return taken

    def _checked(self, path: Path, fix: Fix, capture: Capture) -> str:
        """What `capture_fix_truth.py` says about an edit."""
        (text,) = applied(fix.changes, self._engine.documents.lines).values()
        edited = path.with_name(f"edited_{capture}_{path.name}")
        edited.write_text(text, encoding="utf-8")
        command = [sys.executable, str(ROOT / "benchmarks/capture_fix_truth.py"), str(path), str(edited), capture]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        edited.unlink()
        return done.stdout.strip() or f"the process ended: {done.stderr.strip().splitlines()[-1:]}"


def rows(places: Sequence[Taken]) -> Iterator[str]:
    """A table with a row for each kind of failure."""
    yield "| kind | places | with a fix offered | proven | proven, and found to change an output |"
    yield "|---|---|---|---|---|"
    for what, group in {**grouped(list(places), lambda taken: taken.kind), "all": list(places)}.items():
        verdicts = Counter(taken.verdict for taken in group)
        wrong = sum(attempt.full_size.startswith("differs") for taken in group for attempt in taken.attempts)
        offered, proven = share(len(group) - verdicts["none"], len(group)), share(verdicts["proven"], len(group))
        yield f"| {what} | {len(group)} | {offered} | {proven} | {wrong} |"


def _sample(taken: Taken) -> str:
    """What a place is counted with: one of `GROUPS`, or the models of all libraries."""
    return taken.library if taken.library in GROUPS else "models"


def summary(bench: Bench) -> str:
    """The tables, and every place without a proven fix."""
    lines = []
    for what in (*GROUPS, "models"):
        places = [taken for taken in bench.places if _sample(taken) == what]
        lines += [f"{what}:", "", *rows(places), ""]
    for taken in bench.places:
        tried = "; ".join(f"{one.title}: {one.verdict}, {one.reason} {one.full_size}" for one in taken.attempts)
        lines.append(f"- {taken.verdict}: {taken.model}: {taken.place}, {taken.kind}: {tried or 'no fix is offered'}")
    return "\n".join(lines)


async def measure(bench: Bench, work: Sequence[tuple[str, str, Any]], until: float) -> None:
    """Measure what is not done yet, until that time; the last item of ``work`` writes the file."""
    worker = Worker(bench, seconds=120)
    for library, name, write in work:
        for capture in CAPTURES:
            if time.time() < until and f"{library} {name} {capture}" not in bench.done:
                await worker.measure(library, name, write(), capture)
    await worker.close()


def main() -> int:
    """Measure, then print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="the workspace; the results are stored beside it")
    parser.add_argument("--models", nargs="*", default=[""], help="only models whose names contain one of these")
    parser.add_argument("--programs", nargs="*", default=[""], help="only programs whose names contain one of these")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin nothing after this time")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    options.folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(options.folder.resolve())
    work: list[tuple[str, str, Any]] = [
        (library, name, lambda name=name: bench.write_program(name))
        for library, programs in GROUPS.items()
        for name in programs
        if any(part in name for part in options.programs)
    ]
    cases = [case for case in all_cases() if any(part in case.name for part in options.models)]
    work += [(case.library, case.name, lambda case=case: bench.write_model(case)) for case in cases]
    asyncio.run(measure(bench, work, time.time() + options.minutes * 60))
    print(summary(bench))
    return 0


if __name__ == "__main__":
    sys.exit(main())
