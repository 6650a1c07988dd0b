"""Measures how many of the places that stop a capture fx-lsp finds in one run, and how many of its places are true.

    python benchmarks/capture_recall.py FOLDER [--library NAME ...] [--match PART ...] [--minutes M]

The truth is what `capture_oracle/` finds, which mends one failure and tries again. The programs are the modules in
``tests/workspaces/many_failures`` (the library ``hand-made``) and in the folders of ``capture_files``, each of which
``fx-lsp check --capture export,compile`` checks in one run, and those ``models`` of `capture_models.py` that the
captures reject, which fx-lsp's agent captures. The results are stored in FOLDER, and those that it contains are reused.
The libraries are those that recall.py needs. Of programs that are held out, only the counts are printed.

The oracle follows the path of a real run. A place that it doesn't meet there counts as wrong, unless the oracle meets
it when conditions that depend on data have other answers than in the real run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.capture_models import all_cases
from benchmarks.capture_oracle.programs import FOLDERS, example
from benchmarks.captures import CAPTURES, ROOT, agent_in, report_on, workspace_in
from fx_lsp.agent.messages import Capture

Place = tuple[str, int, int, int, int]
"""As in `oracle/places.py`, with only the file's folder and name."""

LIBRARIES = (*FOLDERS, "models")

MOST_SECONDS = 900
"""The time limit of one pass of the oracle, which tries again and again."""


@dataclass(frozen=True)
class Program:
    """One program that fx-lsp has captured, and the places that it told."""

    group: str
    library: str
    name: str
    capture: Capture
    found: tuple[Place, ...]

    def oracle(self, folder: Path, way: str) -> dict[str, Any]:
        """What the oracle finds when conditions are answered in this ``way``: see `all_places.py`."""
        file = folder / f"{self.library}-{self.name}-{self.capture}-{way}.json"
        if not file.exists():
            script = str(ROOT / "benchmarks/capture_oracle/all_places.py")
            command = [sys.executable, script, self.library, self.name, self.capture, way, str(file)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS)
                ended = done.stderr.strip().splitlines()[-1:] if done.returncode else []
            except subprocess.TimeoutExpired:
                ended = [f"took more than {MOST_SECONDS} s"]
            if ended:
                file.write_text(
                    json.dumps({"sites": [], "covered": [], "gap": f"the oracle: {ended[0]}"}), encoding="utf-8"
                )
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found


@dataclass(frozen=True)
class Compared:
    """A program's true places beside those that fx-lsp told."""

    program: Program
    true: dict[Place, str]
    """The places of a real run, with torch's reasons."""
    elsewhere: frozenset[Place]
    """Those that conditions with other answers lead to."""
    covered: tuple[Place, ...]
    """The expressions of which the oracle did not look into any part."""
    gap: str | None

    @property
    def missed(self) -> list[Place]:
        """The true places that fx-lsp did not tell."""
        return [place for place in self.true if place not in self.program.found]

    @property
    def wrong(self) -> list[Place]:
        """The places that fx-lsp told, which the oracle meets nowhere; none if it could not look everywhere."""
        extra = [place for place in self.program.found if place not in self.true and place not in self.elsewhere]
        return [] if self.gap else [place for place in extra if not any(_is_in(place, whole) for whole in self.covered)]


def _is_in(part: Place, whole: Place) -> bool:
    """Whether a place is the ``whole`` expression or within it."""
    (file, line, end_line, column, end_column), (of_whole, first, last, begin, end) = part, whole
    return file == of_whole and (first, begin) <= (line, column) and (end_line, end_column) <= (last, end)


def compare(program: Program, folder: Path) -> Compared:
    """Ask the oracle, and about other answers only where fx-lsp tells more than the real run meets."""
    real = program.oracle(folder, "real")
    true = {place_of(*site): why for site, why in real["sites"]}
    elsewhere: set[Place] = set()
    gap = real["gap"]
    for way in ("false", "opposite"):
        if set(program.found) - set(true) - elsewhere:
            other = program.oracle(folder, way)
            elsewhere |= {place_of(*site) for site, _ in other["sites"]}
            gap = gap or other["gap"]
    covered = tuple(place_of(*place) for place in real["covered"])
    return Compared(program, true, frozenset(elsewhere), covered, gap)


def place_of(file: str, line: int, end_line: int, column: int, end_column: int) -> Place:
    """A place that doesn't depend on the folder of the workspace."""
    return "/".join(Path(file).parts[-2:]), line, end_line, column, end_column


def of_files(library: str, folder: Path) -> Iterator[Program]:
    """The programs in the files of one of `FOLDERS`, as one run of ``fx-lsp check`` sees them."""
    report = folder / f"{library}.jsonl"
    if not report.exists():
        arguments = ["check", str(FOLDERS[library]), "--no-cache", "--capture", "export,compile"]
        command = [sys.executable, "-m", "fx_lsp", *arguments, "--report", str(report)]
        subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    rows = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    for path in sorted(FOLDERS[library].glob("*.py")):
        root = example(path).class_name
        for row in rows:
            if Path(row["path"]).stem == path.stem and row["qualname"] == root:
                places = tuple(_place_in_report(path, failure) for failure in row["failures"] if failure["range"])
                yield Program(library, library, path.stem, row["capture"], places)


def _place_in_report(path: Path, failure: dict[str, Any]) -> Place:
    start, end = failure["range"]["start"], failure["range"]["end"]
    file = str(path.with_name(Path(failure["path"]).name))
    return place_of(file, start["line"] + 1, end["line"] + 1, start["character"], end["character"])


async def models(folder: Path, parts: list[str], until: float) -> list[Program]:
    """The models that a capture rejects, as fx-lsp's agent sees them."""
    workspace = workspace_in(folder)
    agent = agent_in(workspace)
    found = []
    for case in all_cases():
        for capture in CAPTURES:
            file = folder / f"{case.library}-{case.name}-{capture}-fx-lsp.json"
            if any(part in case.name for part in parts) and not file.exists() and time.time() < until:
                report = await report_on(agent, workspace, case, capture)
                spans = [failure.chain[-1].span for failure in report.failures if failure.chain]
                places = [(span.file, span.line, span.end_line, span.col, span.end_col) for span in spans]
                file.write_text(json.dumps([report.outcome, places]), encoding="utf-8")
            if file.exists():
                outcome, places = json.loads(file.read_text(encoding="utf-8"))
                if outcome == "failed":
                    told = tuple(place_of(*place) for place in places)
                    found.append(Program("models", case.library, case.name, capture, told))
    await agent.close()
    return found


def table(compared: Iterable[Compared]) -> Iterator[str]:
    """A row for each group and capture, as Markdown."""
    yield "| programs | capture | number | places | found | recall | elsewhere | wrong | not looked into |"
    yield "|---|---|---|---|---|---|---|---|---|"
    groups: dict[tuple[str, str], list[Compared]] = {}
    for one in compared:
        groups.setdefault((one.program.group, one.program.capture), []).append(one)
    for (group, capture), members in groups.items():
        true = sum(len(one.true) for one in members)
        hits = true - sum(len(one.missed) for one in members)
        wrong = sum(len(one.wrong) for one in members)
        elsewhere = sum(len(set(one.program.found) & one.elsewhere - set(one.true)) for one in members)
        gaps = sum(one.gap is not None for one in members)
        counts = [len(members), true, hits, f"{100 * hits / max(true, 1):.1f} %", elsewhere, wrong, gaps]
        yield f"| {group} | {capture} | {' | '.join(map(str, counts))} |"


def main() -> int:
    """Measure, then print what differs, and the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the results are stored")
    parser.add_argument("--library", nargs="+", choices=LIBRARIES, default=LIBRARIES)
    parser.add_argument("--match", nargs="+", default=[""], help="only programs whose names contain one of these")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin with no program after this time")
    options = parser.parse_args()
    folder, until = options.folder.resolve(), time.time() + options.minutes * 60
    folder.mkdir(parents=True, exist_ok=True)
    programs = [item for library in options.library if library in FOLDERS for item in of_files(library, folder)]
    if "models" in options.library:
        programs += asyncio.run(models(folder, options.match, until))
    compared = []
    for program in programs:
        if any(part in program.name for part in options.match) and time.time() < until:
            compared.append(one := compare(program, folder))
            if program.library.endswith("held_out"):
                continue
            for place in one.missed:
                print(f"{program.name} [{program.capture}] missed {place}: {one.true[place]}", flush=True)
            for place in one.wrong:
                print(f"{program.name} [{program.capture}] wrong {place}", flush=True)
            if one.gap:
                print(f"{program.name} [{program.capture}] not looked into: {one.gap}", flush=True)
    print("\n".join(table(compared)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
