"""Measures how many failures of real models have a fix, and how many have a proven fix; writes docs/fixes.md.

    .venv/bin/python benchmarks/fixes.py [--library torchvision timm transformers others] [--match PART] [--write]
        [--full-size]

The script copies the packages' source files into a workspace, and the agent traces each model of `recall_models.py`
there, as it does for the language server. For each place that fails in a package's own code, the script takes the first
model that fails there, and tries the fixes in order until one is proven. It gives the models no example inputs.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import importlib.util
import json
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.recall_models import CASES
from fx_lsp.agent.messages import Failure, Limits
from fx_lsp.analysis.engine import Engine
from fx_lsp.analysis.fix_trials import MOST_FIXES
from fx_lsp.fixes import Fix, fixes_for
from fx_lsp.settings.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "fixes.md"

MODEL = """\
import torch.fx

import tests.zoo  # torchvision can't be imported before
from benchmarks.recall_models import CASES, implement_operators


implement_operators()


def main():
    case = next(case for case in CASES[{library!r}]() if case.name == {name!r})
    torch.fx.symbolic_trace({arguments})
"""


FULL_SIZE_SECONDS = 120.0
"""The time limit of a step on a model at its full size."""


@dataclass
class Attempt:
    """One fix, with the result of trying it."""

    title: str
    verdict: str
    reason: str
    full_size: str = ""
    """For a fix that was proven on small twins: the verdict on the model itself, if that was asked for."""


@dataclass
class Taken:
    """A place that fails, with the results of trying its fixes."""

    library: str
    model: str
    kind: str
    place: str
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The best verdict among its fixes; ``none`` if it has no fixes."""
        verdicts = {attempt.verdict for attempt in self.attempts}
        return next((verdict for verdict in ("proven", "untried", "refuted") if verdict in verdicts), "none")


async def at_full_size(engine: Engine, failure: Failure, fix: Fix, attempt: Attempt) -> Attempt:
    """A proven attempt with the verdict on the model itself, if the attempt was made on small twins."""
    owner = engine.results.owner(failure)
    if owner is None or " inputs, with " not in attempt.reason:
        return attempt
    proof = await engine.proofs.trials.attempt(*owner, [failure], fix, full_size=True)
    verdict = proof.verdict if proof.verdict == "proven" else f"{proof.verdict}: {proof.reason}"
    return replace(attempt, full_size=verdict)


def packages(library: str) -> set[str]:
    """The packages whose models are measured; the models of ``others`` are named after their packages."""
    return {case.name.partition(".")[0] for case in CASES[library]()} if library == "others" else {library}


def copy_sources(library: str, folder: Path) -> None:
    """Make ``folder`` a workspace with the library's packages and this project's list of models."""
    for name in packages(library):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        shutil.copytree(Path(spec.origin).parent, folder / name)
    for file in (
        "benchmarks/__init__.py",
        "benchmarks/recall_models.py",
        "tests/__init__.py",
        "tests/torchvision_operators.py",
        "tests/zoo.py",
    ):
        (folder / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, folder / file)


class Bench:
    """One library's workspace, and the results for its models so far, which are stored in a file."""

    def __init__(self, library: str, folder: Path, results: Path) -> None:
        self.library = library
        self.folder = folder
        self._own = tuple(str(folder / name) + os.sep for name in packages(library))
        self._results = results
        known = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {"models": [], "places": []}
        self.models: list[str] = known["models"]
        """The models that are finished."""
        self.places = [told(item) for item in known["places"]]
        self._seen = {(taken.place, taken.kind) for taken in self.places}

    def main_of(self, name: str) -> str:
        """A file that traces the model."""
        concrete = next(case.concrete_args for case in CASES[self.library]() if case.name == name)
        arguments = f"case.build(), concrete_args={concrete}" if concrete else "case.build()"
        path = self.folder / f"trace_{name.replace('.', '_')}.py"
        path.write_text(MODEL.format(library=self.library, name=name, arguments=arguments), encoding="utf-8")
        return str(path)

    def own_text(self, path: str) -> str | None:
        """The text of a file that a fix edits; None if the file is outside the workspace."""
        return Path(path).read_text(encoding="utf-8") if path.startswith(str(self.folder)) else None

    def new(self, name: str, failure: Failure) -> Taken | None:
        """The innermost place in the package's own code; None if there is no such place or it is already known."""
        own = [step.span for step in failure.chain if step.span.file.startswith(self._own)]
        if not own:
            return None
        place = f"{Path(own[-1].file).relative_to(self.folder)}:{own[-1].line}:{own[-1].col}"
        if (place, failure.kind) in self._seen:
            return None
        self._seen.add((place, failure.kind))
        return Taken(self.library, name, failure.kind, place)

    def keep(self) -> None:
        """Store the results so far."""
        plain = {"models": self.models, "places": [asdict(taken) for taken in self.places]}
        self._results.write_text(json.dumps(plain, indent=1), encoding="utf-8")


def told(item: dict[str, Any]) -> Taken:
    """A place from its stored form."""
    return Taken(**{**item, "attempts": [Attempt(**attempt) for attempt in item["attempts"]]})


class Worker:
    """An engine with its own agent."""

    def __init__(self, bench: Bench, limits: Limits, *, full_size: bool) -> None:
        self._bench = bench
        self._full_size = full_size
        settings = Settings(time_limit=limits.seconds, memory_limit=limits.memory_mb, env=dict(os.environ))
        self._engine = Engine(lambda path: settings, folders=[str(bench.folder)], python=[sys.executable])

    async def work(self, names: list[str]) -> None:
        """Measure the models in ``names`` until none are left."""
        try:
            while names:
                await self._measure(names.pop(0))
        finally:
            await self._engine.close()

    async def _measure(self, name: str) -> None:
        path = self._bench.main_of(name)
        await self._engine.scheduler.trace(path)
        reports = [traced.report for traced in self._engine.results[path].traced.values()]
        failures = [failure for report in reports if report for failure in report.failures]
        found = [failure for failure in failures if not failure.other_side]
        if not found:
            logging.warning("%s: nothing fails: %s", name, reports)
        for failure in found:
            if taken := self._bench.new(name, failure):
                self._bench.places.append(await self._tried(taken, failure))
                self._bench.keep()
        self._bench.models.append(name)
        self._bench.keep()

    async def _tried(self, taken: Taken, failure: Failure) -> Taken:
        calls = self._engine.results.calls_with(failure)
        found = fixes_for(failure, self._bench.own_text, calls)
        for fix in sorted(found, key=lambda fix: fix.rejects_inputs)[:MOST_FIXES]:
            began = time.perf_counter()
            proof = await self._engine.proofs.trials.prove(failure, fix)
            took = time.perf_counter() - began
            taken.attempts.append(Attempt(fix.title, proof.verdict, proof.reason))
            logging.info("%.0f s %s: %s: %s, %s", took, taken.place, fix.title, proof.verdict, proof.reason)
            if proof.verdict == "proven":
                if self._full_size:
                    taken.attempts[-1] = await at_full_size(self._engine, failure, fix, taken.attempts[-1])
                break
        if not taken.attempts:
            logging.info("%s: no fix: %s %s", taken.place, failure.kind, failure.error)
        return taken


async def measure(library: str, match: str, jobs: int, limits: Limits, results: Path, *, full_size: bool) -> Bench:
    """Try the fixes for a library's models, ``jobs`` of them in parallel; skip those with stored ``results``.

    ``full_size``: see `at_full_size`.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        copy_sources(library, folder)
        bench = Bench(library, folder, results / f"{library}.json")
        names = [case.name for case in CASES[library]() if match in case.name and case.name not in bench.models]
        await asyncio.gather(*(Worker(bench, limits, full_size=full_size).work(names) for _ in range(jobs)))
    return bench


def share(part: int, whole: int) -> str:
    """``part`` of ``whole`` as a percentage."""
    return f"{100 * part / max(whole, 1):.0f} % ({part} of {whole})"


def table(what: str, groups: dict[str, list[Taken]]) -> Iterator[str]:
    """A table with a row of counts for each group."""
    yield f"| {what} | places | with a fix offered | proven | refuted | could not be tried |"
    yield "|---|---|---|---|---|---|"
    for name, group in groups.items():
        verdicts = Counter(taken.verdict for taken in group)
        whole = len(group)
        offered = share(whole - verdicts["none"], whole)
        yield (
            f"| {name} | {whole} | {offered} | {share(verdicts['proven'], whole)} | {verdicts['refuted']} "
            f"| {verdicts['untried']} |"
        )


def grouped(places: list[Taken], key: Callable[[Taken], str]) -> dict[str, list[Taken]]:
    """The places, grouped and sorted by ``key``."""
    return {name: [taken for taken in places if key(taken) == name] for name in sorted(set(map(key, places)))}


def page(benches: Sequence[Bench]) -> str:
    """The text of docs/fixes.md."""
    places = [taken for bench in benches for taken in bench.places]
    models = [name for bench in benches for name in bench.models]
    reasons = Counter(
        (attempt.verdict, re.sub(r"`[^`]*`|[(][^)]*[)]|\d+", "…", attempt.reason))
        for taken in places
        for attempt in taken.attempts
        if attempt.verdict != "proven"
    )
    cases = sum(len(list(its())) for its in CASES.values())
    begun = sorted({taken.model for taken in places} - set(models))
    in_part = f", and some of the places in {', '.join(begun)}" if begun else ""
    leaves = sum(taken.attempts[-1].title.endswith("as a leaf") for taken in places if taken.verdict == "proven")
    lines = [
        "# How many failures have a fix, and how many have a proven one",
        "",
        "`.venv/bin/python benchmarks/fixes.py --write` tried fixes for every place at which the models of",
        "`benchmarks/recall_models.py` fail in their own code. If several models fail at the same place, it was tried",
        "once. A place counts as proven if one of its fixes is proven, and as refuted if all its fixes are refuted.",
        "Otherwise, it counts as one that could not be tried.",
        "",
        f"torch {importlib.metadata.version('torch')}; {len(models)} of {cases} models were tried completely{in_part}.",
        f"For {share(leaves, len(places))} of the places, the only proven fix is to trace with a module",
        "as a leaf. The graph then contains a call to this module instead of the operations inside it.",
        "",
        *table("library", {**grouped(places, lambda taken: taken.library), "all": places}),
        "",
        *table("kind of failure", grouped(places, lambda taken: taken.kind)),
        "",
        "## Why fixes were not proven",
        "",
        'Each entry says how many fixes had this result; "…" stands for details that differ between them.',
        "",
        *[f"- {count} × {verdict}: {reason}" for (verdict, reason), count in reasons.most_common()],
        "",
        "## Places without a proven fix",
        "",
        "Each entry names the model, the place, the kind of failure, and the fixes that were tried with their results.",
        "",
    ]
    for taken in places:
        if taken.verdict != "proven":
            tried = "; ".join(f"{attempt.title}: {attempt.verdict}, {attempt.reason}" for attempt in taken.attempts)
            lines.append(f"- {taken.model}: {taken.place}, {taken.kind}: {tried or 'no fix is offered'}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, print the page, and write it if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--library", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--match", default="", help="only models whose names contain this")
    parser.add_argument("--jobs", type=int, default=2, help="how many models to try in parallel")
    parser.add_argument("--seconds", type=float, default=Limits().seconds, help="time limit for each trace, in seconds")
    parser.add_argument("--folder", type=Path, help="store results in this folder, and reuse those that it contains")
    parser.add_argument("--full-size", action="store_true", help="repeat what was proven on small twins at full size")
    parser.add_argument("--write", action="store_true", help="write docs/fixes.md")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    benches = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for library in options.library:
            limits = Limits(FULL_SIZE_SECONDS if options.full_size else options.seconds)
            work = measure(library, options.match, options.jobs, limits, folder, full_size=options.full_size)
            benches.append(asyncio.run(work))
    text = page(benches)
    print(text)
    if options.full_size:
        attempts = [attempt for bench in benches for taken in bench.places for attempt in taken.attempts]
        print(
            "Proven on small twins, and on the model itself:",
            Counter(filter(None, (one.full_size for one in attempts))),
        )
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
