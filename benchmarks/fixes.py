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
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.recall_models import CASES
from fx_lsp.agent.messages import Failure, Limits, Span
from fx_lsp.agent_pool import AgentPool
from fx_lsp.agents import Agent
from fx_lsp.analysis import Analysis, Choices
from fx_lsp.documents import Documents
from fx_lsp.fixes import fixes_for
from fx_lsp.interpreter import Interpreter
from fx_lsp.proofs import MOST_FIXES, Proofs
from fx_lsp.workspace import Workspace

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "fixes.md"
PACKAGES = {
    "torchvision": ("torchvision",),
    "timm": ("timm",),
    "transformers": ("transformers",),
    "others": ("vit_pytorch", "segmentation_models_pytorch", "denoising_diffusion_pytorch"),
}

MODEL = """\
import torch.fx

from benchmarks.recall_models import CASES, implement_operators


implement_operators()


def main():
    case = next(case for case in CASES[{library!r}]() if case.name == {name!r})
    torch.fx.symbolic_trace(case.build(), case.concrete_args)
"""


@dataclass
class Attempt:
    """One fix, and what came of it."""

    title: str
    verdict: str
    reason: str
    seconds: float


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


def copy_sources(library: str, folder: Path) -> None:
    """Make ``folder`` a workspace that has the library's packages, and this project's list of models."""
    for name in PACKAGES[library]:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        shutil.copytree(Path(spec.origin).parent, folder / name)
    for file in ("benchmarks/__init__.py", "benchmarks/recall_models.py", "tests/__init__.py", "tests/zoo.py"):
        (folder / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, folder / file)


class Bench:
    """The rooms of the server on one library's workspace."""

    def __init__(self, library: str, folder: Path, limits: Limits) -> None:
        self.library = library
        self.folder = folder
        self._own = [str(folder / name) + os.sep for name in PACKAGES[library]]
        agents = AgentPool(lambda folder: Interpreter((sys.executable,), ""), self._start)
        documents, workspace = Documents(), Workspace([str(folder)])
        self.analysis = Analysis(documents, workspace, agents.agent_for, choices=Choices(limits=limits))
        self.proofs = Proofs(self.analysis, agents.agent_for)
        self._agents = agents
        self._seen: set[tuple[Span, str]] = set()

    def _start(self, interpreter: Interpreter, folder: Path) -> Agent:
        return Agent(
            interpreter.command,
            cwd=folder,
            env=dict(os.environ),
            log=lambda line: logging.info("%s", line),
            on_state=lambda state: None,
        )

    async def close(self) -> None:
        """End everything."""
        await self.analysis.close()
        await self._agents.close()

    async def measure(self, name: str) -> list[Taken]:
        """The places of one model that were not met before."""
        path = self.folder / f"trace_{name.replace('.', '_')}.py"
        path.write_text(MODEL.format(library=self.library, name=name), encoding="utf-8")
        await self.analysis.trace(str(path))
        reports = [traced.report for traced in self.analysis.results[str(path)].traced.values()]
        found = [failure for report in reports if report for failure in report.failures]
        if not found:
            logging.warning("%s: nothing fails: %s", name, reports)
        return [await self._take(name, failure, span) for failure in found if (span := self._new(failure))]

    def _new(self, failure: Failure) -> Span | None:
        """The innermost place in the package's own code; None where there is none, or it is known."""
        own = [step.span for step in failure.chain if step.span.file.startswith(tuple(self._own))]
        if not own or (own[-1], failure.kind) in self._seen:
            return None
        self._seen.add((own[-1], failure.kind))
        return own[-1]

    def _own_text(self, path: str) -> str | None:
        return self.analysis.documents.text(path) if path.startswith(str(self.folder)) else None

    async def _take(self, name: str, failure: Failure, span: Span) -> Taken:
        where = f"{Path(span.file).relative_to(self.folder)}:{span.line}:{span.col}"
        taken = Taken(self.library, name, failure.kind, where)
        for fix in fixes_for(failure, self._own_text)[:MOST_FIXES]:
            began = time.perf_counter()
            proof = await self.proofs.prove(failure, fix)
            taken.attempts.append(Attempt(fix.title, proof.verdict, proof.reason, time.perf_counter() - began))
            if proof.verdict == "proven":
                break
        for attempt in taken.attempts or [Attempt("", "none", failure.error, 0)]:
            logging.info(
                "%s %s %s %s %.1f s %s: %s",
                name,
                where,
                failure.kind,
                attempt.verdict,
                attempt.seconds,
                attempt.title,
                attempt.reason,
            )
        return taken


@asynccontextmanager
async def bench(library: str, limits: Limits) -> AsyncIterator[Bench]:
    """A bench whose workspace is gone afterwards."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        copy_sources(library, folder)
        made = Bench(library, folder, limits)
        try:
            yield made
        finally:
            await made.close()


async def measure(library: str, match: str, jobs: int, limits: Limits) -> list[Taken]:
    """What comes of the fixes for a library's models, ``jobs`` of them at a time."""
    names = [case.name for case in CASES[library]() if match in case.name]
    free = asyncio.Semaphore(jobs)
    async with bench(library, limits) as at:

        async def one(name: str) -> list[Taken]:
            async with free:
                return await at.measure(name)

        return [taken for found in await asyncio.gather(*map(one, names)) for taken in found]


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


def page(places: list[Taken]) -> str:
    """docs/fixes.md."""
    reasons = Counter(
        (attempt.verdict, re.sub(r"`[^`]*`|[(][^)]*[)]|\d+", "…", attempt.reason))
        for taken in places
        for attempt in taken.attempts
        if attempt.verdict != "proven"
    )
    lines = [
        "# How many failures have a fix, and a proven one",
        "",
        "What `.venv/bin/python benchmarks/fixes.py --write` found: every place in their own code at which the models",
        "of `benchmarks/recall_models.py` fail, each taken up once. A place counts as proven when one of its fixes is,",
        "and as refuted when all are.",
        "",
        f"torch {importlib.metadata.version('torch')}.",
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
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    places: list[Taken] = []
    for library in options.library:
        places += asyncio.run(measure(library, options.match, options.jobs, Limits(options.seconds)))
    text = page(places)
    print(text)
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
