"""How many of the failures of real models have a fix, and how many a proven one; docs/fixes.md.

    .venv/bin/python benchmarks/fixes.py [--library torchvision timm transformers others] [--match PART] [--write]

The packages' source files are copied into a workspace of their own, and each model of `recall_models.py` is traced
there by the agent, as the language server does it. Each place that fails in a package's own code is taken up once, with
the first model that fails there: its fixes are tried, in order, until one is proven. No inputs are given.
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
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.recall_models import CASES
from fx_lsp.agent.messages import Failure, Limits
from fx_lsp.agent_pool import AgentPool
from fx_lsp.agents import Agent
from fx_lsp.analysis import Analysis
from fx_lsp.config import Settings
from fx_lsp.documents import Documents
from fx_lsp.fixes import fixes_for
from fx_lsp.interpreter import Interpreter
from fx_lsp.proofs import MOST_FIXES, Proofs
from fx_lsp.tracing_calls import calls_with
from fx_lsp.workspace import Workspace

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


@dataclass
class Attempt:
    """One fix, and what came of it."""

    title: str
    verdict: str
    reason: str


@dataclass
class Taken:
    """A place that fails, and what came of its fixes."""

    library: str
    model: str
    kind: str
    place: str
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """What is best known of its fixes; ``none`` where there is none."""
        verdicts = {attempt.verdict for attempt in self.attempts}
        return next((verdict for verdict in ("proven", "untried", "refuted") if verdict in verdicts), "none")


def packages(library: str) -> set[str]:
    """The packages whose models are measured; those of ``others`` are named by them."""
    return {case.name.partition(".")[0] for case in CASES[library]()} if library == "others" else {library}


def copy_sources(library: str, folder: Path) -> None:
    """Make ``folder`` a workspace that has the library's packages, and this project's list of models."""
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
    """One library's workspace, and what came of its models so far, which is kept in a file."""

    def __init__(self, library: str, folder: Path, results: Path) -> None:
        self.library = library
        self.folder = folder
        self._own = tuple(str(folder / name) + os.sep for name in packages(library))
        self._results = results
        known = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {"models": [], "places": []}
        self.models: list[str] = known["models"]
        """Those that are done."""
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
        """The text of a file that is to be mended."""
        return Path(path).read_text(encoding="utf-8") if path.startswith(str(self.folder)) else None

    def new(self, name: str, failure: Failure) -> Taken | None:
        """The innermost place in the package's own code; None where there is none, or it is known."""
        own = [step.span for step in failure.chain if step.span.file.startswith(self._own)]
        if not own:
            return None
        place = f"{Path(own[-1].file).relative_to(self.folder)}:{own[-1].line}:{own[-1].col}"
        if (place, failure.kind) in self._seen:
            return None
        self._seen.add((place, failure.kind))
        return Taken(self.library, name, failure.kind, place)

    def keep(self) -> None:
        """Write down what is known."""
        plain = {"models": self.models, "places": [asdict(taken) for taken in self.places]}
        self._results.write_text(json.dumps(plain, indent=1), encoding="utf-8")


def told(item: dict[str, Any]) -> Taken:
    """A place as it was kept."""
    return Taken(**{**item, "attempts": [Attempt(**attempt) for attempt in item["attempts"]]})


class Worker:
    """The rooms of the server, with an agent of its own."""

    def __init__(self, bench: Bench, limits: Limits) -> None:
        self._bench = bench
        self._agents = AgentPool(lambda folder: Interpreter((sys.executable,), "this benchmark"), start_agent)
        workspace = Workspace([str(bench.folder)])
        settings = Settings(time_limit=limits.seconds, memory_limit=limits.memory_mb)
        self._analysis = Analysis(Documents(), workspace, self._agents.agent_for, lambda path: settings)
        self._proofs = Proofs(self._analysis, self._agents.agent_for)

    async def work(self, names: list[str]) -> None:
        """Take models from ``names`` until there are none left."""
        try:
            while names:
                await self._measure(names.pop(0))
        finally:
            await self._analysis.close()
            await self._agents.close()

    async def _measure(self, name: str) -> None:
        path = self._bench.main_of(name)
        await self._analysis.trace(path)
        reports = [traced.report for traced in self._analysis.results[path].traced.values()]
        found = [failure for report in reports if report for failure in report.failures]
        if not found:
            logging.warning("%s: nothing fails: %s", name, reports)
        for failure in found:
            if taken := self._bench.new(name, failure):
                self._bench.places.append(await self._tried(taken, failure))
                self._bench.keep()
        self._bench.models.append(name)
        self._bench.keep()

    async def _tried(self, taken: Taken, failure: Failure) -> Taken:
        calls = calls_with(failure, self._analysis.results)
        for fix in fixes_for(failure, self._bench.own_text, calls)[:MOST_FIXES]:
            began = time.perf_counter()
            proof = await self._proofs.prove(failure, fix)
            took = time.perf_counter() - began
            taken.attempts.append(Attempt(fix.title, proof.verdict, proof.reason))
            logging.info("%.0f s %s: %s: %s, %s", took, taken.place, fix.title, proof.verdict, proof.reason)
            if proof.verdict == "proven":
                break
        if not taken.attempts:
            logging.info("%s: no fix: %s %s", taken.place, failure.kind, failure.error)
        return taken


def start_agent(interpreter: Interpreter, folder: Path) -> Agent:
    """As the server does."""
    return Agent(
        interpreter.command,
        cwd=folder,
        env=dict(os.environ),
        log=lambda line: logging.debug("%s", line),
        on_state=lambda state: None,
    )


async def measure(library: str, match: str, jobs: int, limits: Limits, results: Path) -> Bench:
    """What comes of the fixes for a library's models, ``jobs`` of them at a time; what is in ``results`` is known."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        copy_sources(library, folder)
        bench = Bench(library, folder, results / f"{library}.json")
        names = [case.name for case in CASES[library]() if match in case.name and case.name not in bench.models]
        await asyncio.gather(*(Worker(bench, limits).work(names) for _ in range(jobs)))
    return bench


def share(part: int, whole: int) -> str:
    """As a percentage."""
    return f"{100 * part / max(whole, 1):.0f} % ({part} of {whole})"


def table(what: str, groups: dict[str, list[Taken]]) -> Iterator[str]:
    """Rows of counts, one for each group."""
    yield f"| {what} | places | fix offered | proven | refuted | couldn't be tried |"
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
    """The places by what ``key`` says of each, in order."""
    return {name: [taken for taken in places if key(taken) == name] for name in sorted(set(map(key, places)))}


def page(benches: Sequence[Bench]) -> str:
    """docs/fixes.md."""
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
    in_part = f", and a part of {', '.join(begun)}" if begun else ""
    leaves = sum(taken.attempts[-1].title.endswith("as a leaf") for taken in places if taken.verdict == "proven")
    lines = [
        "# How many failures have a fix, and a proven one",
        "",
        "What `.venv/bin/python benchmarks/fixes.py --write` found: every place in their own code at which the models",
        "of `benchmarks/recall_models.py` fail, each taken up once. A place counts as proven when one of its fixes is,",
        "and as refuted when all are.",
        "",
        f"torch {importlib.metadata.version('torch')}; {len(models)} models of {cases} were looked at{in_part}.",
        f"{share(leaves, len(places))} of the places have no proven fix but a leaf, which keeps a module out of",
        "the graph.",
        "",
        *table("library", {**grouped(places, lambda taken: taken.library), "all": places}),
        "",
        *table("kind", grouped(places, lambda taken: taken.kind)),
        "",
        "## Why fixes were not proven",
        "",
        *[f"- {count} {verdict}: {reason}" for (verdict, reason), count in reasons.most_common()],
        "",
        "## The places without a proven fix",
        "",
    ]
    for taken in places:
        if taken.verdict != "proven":
            tried = "; ".join(f"{attempt.title}: {attempt.verdict}, {attempt.reason}" for attempt in taken.attempts)
            lines.append(f"- {taken.model}: {taken.place}, {taken.kind}: {tried or 'none is offered'}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, and print or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--library", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--match", default="", help="only models with this in their names")
    parser.add_argument("--jobs", type=int, default=2, help="models at a time")
    parser.add_argument("--seconds", type=float, default=Limits().seconds, help="the time limit of a trace")
    parser.add_argument("--folder", type=Path, help="where results are kept, and those of before are used again")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    benches = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for library in options.library:
            work = measure(library, options.match, options.jobs, Limits(options.seconds), folder)
            benches.append(asyncio.run(work))
    text = page(benches)
    print(text)
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
