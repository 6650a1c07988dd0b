"""Measures how many failures in public research repositories have a fix, and how many have a proven fix.

    .venv/bin/python benchmarks/fix_repositories.py FOLDER [--python PYTHON] [--keep KEPT] [--match PART]
        [--only HALF] [--full-size] [--write]

The repositories are those of `reach_repositories.py`, whose checkouts are in FOLDER. For each place in a repository
that fails, the script tries the fixes of the first target that fails there, in order, until one is proven. It prints
the counts of each repository and half, and the seconds of a processor that each place took. Of the ``seen`` half, it
also prints why fixes were not proven. With ``--write``, the script writes docs/fixes-repositories.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.fixes import FULL_SIZE_SECONDS, Attempt, Taken, at_full_size, share, told
from benchmarks.reach_reasons import without_details
from benchmarks.reach_repositories import Repository, check_out, repositories
from fx_lsp.agent.messages import Failure
from fx_lsp.analysis.engine import Engine
from fx_lsp.settings.settings import Settings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "fixes-repositories.md"

TICKS = os.sysconf("SC_CLK_TCK")
"""How many units of processor time of `/proc` a second has."""


@dataclass
class Place:
    """A place that fails, with the results of trying its fixes."""

    taken: Taken
    seconds: float
    """Of a processor."""


def places_of(repository: Repository, folder: Path, python: str, kept: Path, *, full_size: bool) -> list[Place]:
    """The failing places of a repository; those in ``kept``, if it exists. ``full_size``: see `at_full_size`."""
    if not kept.exists():
        found = asyncio.run(measured(repository.name, repository.folder(folder).resolve(), python, full_size))
        kept.write_text(json.dumps([asdict(place) for place in found], indent=1), encoding="utf-8")
    plain: list[dict[str, Any]] = json.loads(kept.read_text(encoding="utf-8"))
    return [Place(told(item["taken"]), item["seconds"]) for item in plain]


async def measured(name: str, folder: Path, python: str, full_size: bool) -> list[Place]:
    """Trace the files in ``folder`` with the interpreter ``python``, and try fixes for each place that fails."""
    settings = Settings(env=dict(os.environ))
    if full_size:
        settings = replace(settings, time_limit=FULL_SIZE_SECONDS)
    engine = Engine(lambda path: settings, folders=[str(folder)], python=[python])
    files = [path for path in sorted(folder.rglob("*.py")) if b"torch" in path.read_bytes()]
    try:
        for path in files:
            await engine.scheduler.trace(str(path))
        failing: dict[tuple[str, str], Failure] = {}
        for failure in _failures(engine, map(str, files)):
            own = [step.span for step in failure.chain if step.span.file.startswith(str(folder))]
            if own:
                span = own[-1]
                place = f"{Path(span.file).relative_to(folder)}:{span.line}:{span.col}"
                failing.setdefault((place, failure.kind), failure)
        return [await _tried(engine, name, place, failure, full_size) for (place, _), failure in failing.items()]
    finally:
        await engine.close()


def _failures(engine: Engine, files: Iterable[str]) -> Iterator[Failure]:
    """The failures of the targets that were traced, without those on other sides of branches."""
    for path in files:
        result = engine.results.get(path)
        for traced in result.traced.values() if result else ():
            if traced.report and traced.report.outcome == "failed":
                yield from (failure for failure in traced.report.failures if not failure.other_side)


async def _tried(engine: Engine, name: str, place: str, failure: Failure, full_size: bool) -> Place:
    taken = Taken(name, name, failure.kind, place)
    before = processor_seconds()
    async for fix in engine.proofs.trials.one_by_one(failure):
        proof = await engine.proofs.trials.prove(failure, fix)
        taken.attempts.append(Attempt(fix.title, proof.verdict, proof.reason))
        if proof.verdict == "proven":
            if full_size:
                taken.attempts[-1] = await at_full_size(engine, failure, fix, taken.attempts[-1])
            break
    return Place(taken, processor_seconds() - before)


def processor_seconds() -> float:
    """The processor time of this process and all that it has started, the dead included."""
    parents = {}
    used = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it is gone
                continue
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = sum(map(int, fields[11:15])) / TICKS
    return sum(seconds for pid, seconds in used.items() if os.getpid() in _ancestors(pid, parents))


def _ancestors(pid: int, parents: dict[int, int]) -> set[int]:
    found = {pid}
    while (pid := parents.get(pid, 0)) and pid not in found:
        found.add(pid)
    return found


def shares(places: Sequence[Place]) -> str:
    """How many places there are, how many have a fix and a proven one, and the time that they took."""
    verdicts = Counter(place.taken.verdict for place in places)
    seconds = sorted(place.seconds for place in places) or [0.0]
    slowest = seconds[math.ceil(0.95 * (len(seconds) - 1))]
    return (
        f"{len(places)} places | fix {share(len(places) - verdicts['none'], len(places))} | "
        f"proven {share(verdicts['proven'], len(places))} | refuted {verdicts['refuted']} | "
        f"untried {verdicts['untried']} | {statistics.median(seconds):.1f} s, 95 %: {slowest:.1f} s"
    )


def row(name: str, places: Sequence[Place]) -> str:
    """The counts of a repository or a half, as a row of the page's table."""
    verdicts = Counter(place.taken.verdict for place in places)
    offered = len(places) - verdicts["none"]
    cells = (len(places), share(offered, len(places)), share(verdicts["proven"], len(places)))
    return f"| {' | '.join(map(str, (name, *cells, verdicts['refuted'], verdicts['untried'])))} |"


def reasons(places: Iterable[Place]) -> Counter[str]:
    """Why fixes of places without a proven one were not proven, without details, and how many fixes."""
    return Counter(
        f"{attempt.verdict}: {without_details(attempt.reason)}"
        for place in places
        if place.taken.verdict != "proven"
        for attempt in place.taken.attempts
    )


def page(found: Sequence[tuple[Repository, list[Place]]], by_half: dict[str, list[Place]]) -> str:
    """The text of docs/fixes-repositories.md."""
    attempts = [attempt for _, places in found for place in places for attempt in place.taken.attempts]
    at_full = Counter(attempt.full_size.partition(":")[0] for attempt in attempts if attempt.full_size)
    rows = [row(one.name, places) for one, places in found]
    rows += [row(f"*{half}*", places) for half, places in by_half.items() if places]
    why = [f"- {count} × {reason}" for reason, count in reasons(by_half["seen"]).most_common(12)]
    full = f"""
Fixes that were proven on a small twin of a model were tried on the model itself: {at_full["proven"]} computed the same,
{at_full["refuted"]} did not, and {at_full["untried"]} could not be tried at that size.
"""
    return f"""# Fixes in repositories

`benchmarks/fix_repositories.py` tried fixes for each place in public repositories of research code that fails, with an
interpreter that has those of their packages that can be installed. A place counts as proven if one of its fixes is
proven, and as refuted if all its fixes are refuted. Otherwise, it counts as one that could not be tried. The held-out
half was never looked at place by place.

| repository | places | with a fix offered | proven | refuted | could not be tried |
|---|---|---|---|---|---|
{chr(10).join(rows)}
{full if at_full else ""}
## Why fixes were not proven

Each entry says how many fixes of the seen half had this result; "…" stands for details that differ between them.

{chr(10).join(why)}
"""


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of the checkouts")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that traces")
    parser.add_argument("--keep", type=Path, help="store results here, and skip repositories that have some")
    parser.add_argument("--match", default="", help="only repositories whose names contain this")
    parser.add_argument("--full-size", action="store_true", help="repeat what was proven on small twins at full size")
    parser.add_argument("--write", action="store_true", help="write docs/fixes-repositories.md")
    parser.add_argument("--only", choices=("seen", "held-out"), help="measure one half")
    arguments = parser.parse_args()
    found: list[tuple[Repository, list[Place]]] = []
    with tempfile.TemporaryDirectory() as scratch:
        kept = arguments.keep or Path(scratch)
        kept.mkdir(parents=True, exist_ok=True)
        for one in repositories():
            if arguments.only in (None, one.half) and arguments.match in one.name and check_out(one, arguments.folder):
                file = kept / f"{one.name.partition('/')[2]}.json"
                places = places_of(one, arguments.folder, arguments.python, file, full_size=arguments.full_size)
                found.append((one, places))
                print(f"{one.name:40} {one.half:8} | {shares(places)}", flush=True)
    halves = ("seen", "held-out")
    by_half = {half: [place for one, places in found if one.half == half for place in places] for half in halves}
    for half, places in by_half.items():
        print(f"{half}: {shares(places)}")
    attempts = [attempt for places in by_half.values() for place in places for attempt in place.taken.attempts]
    if arguments.full_size:
        print(
            "Proven on small twins, and on the model itself:",
            Counter(filter(None, (one.full_size for one in attempts))),
        )
    for reason, count in reasons(by_half["seen"]).most_common():
        print(f"{count:4} {reason}")
    if arguments.write:
        PAGE.write_text(page(found, by_half), encoding="utf-8")


if __name__ == "__main__":
    main()
