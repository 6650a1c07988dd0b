"""What share of a program's failures fxcore finds in one run, and what share of what it finds is true; docs/recall.md.

    .venv/bin/python benchmarks/recall.py [--library torchvision timm transformers others] [--name PART] [--write]

Models that torch.fx can't trace (`recall_models.py`) are explored with example inputs and without, and the sites found
are compared with those that torch.fx itself fails at, one after the other (`oracle.py`). Each library is run in two
processes, since the oracle needs the libraries' code rewritten. Needs timm, transformers, vit-pytorch,
segmentation-models-pytorch and denoising-diffusion-pytorch.
"""

from __future__ import annotations

import argparse
import copy
import gc
import importlib.metadata
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.fx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import oracle
from benchmarks.recall_models import CASES, Case, implement_operators

PAGE = Path(__file__).parents[1] / "docs" / "recall.md"
PACKAGES = (
    "torchvision",
    "timm",
    "transformers",
    "vit_pytorch",
    "segmentation_models_pytorch",
    "denoising_diffusion_pytorch",
    "einops",
)
"""Whose code the oracle has rewritten."""
ROUNDS = 1
"""How often times are measured."""

Result = dict[str, Any]


# The two processes. Each gives a result for each case.


def truth_of(case: Case) -> Result:
    """What the oracle finds: its sites, each with torch.fx's reason, and where it couldn't look further."""
    found = oracle.Oracle(case.inputs())
    found.run(case.build(), case.concrete_args)
    return {"sites": [[site, why] for site, why in found.sites.items()], "gaps": found.gaps}


def found_by_exploring(case: Case) -> Result:
    """What fxcore finds, with example inputs and without; torch.fx's first failure; and seconds."""
    import fxcore
    from fxcore.explore import Exploration, explore
    from fxcore.untouched import untouched

    module = case.build()
    fresh = copy.deepcopy(module)
    concrete = case.concrete_args
    guessed, informed = explore(module, concrete), explore(module, concrete, examples=case.inputs())

    def places(exploration: Exploration) -> list[Any]:
        spans = [site.failure.span for site in exploration.sites]
        return [None if span is None else (span.file, span.line, span.col) for span in spans]

    def plain() -> None:
        try:
            with untouched(module):
                fxcore.Tracer().trace(module, concrete)
        except fxcore.failures.TraceFailure:
            pass

    plain()
    times = [(seconds(plain), seconds(lambda: explore(module, concrete))) for _ in range(ROUNDS)]
    return {
        "first": first_of_torch(fresh, concrete),
        "without": places(guessed),
        "with": places(informed),
        "complete": [guessed.graph is not None, informed.graph is not None],
        "plain": statistics.median(time for time, _ in times),
        "explore": statistics.median(time for _, time in times),
    }


def first_of_torch(module: torch.nn.Module, concrete: dict[str, Any]) -> oracle.Place | None:
    """Where the installed torch.fx fails."""
    try:
        torch.fx.Tracer().trace(module, concrete)
    except Exception as error:
        return oracle.raised_place(error) or oracle.place_of_return(module)
    raise AssertionError("torch.fx traces this model")


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock seconds of ``work``."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def run_part(part: Callable[[Case], Result], library: str, name: str, output: Path) -> None:
    """Write the results of a library's cases as JSON, after each case: what ends the process costs no more than it."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    implement_operators()
    results: dict[str, Result] = {}
    for case in CASES[library]():
        if name not in case.name:
            continue
        began = time.perf_counter()
        try:
            results[case.name] = part(case)
        except Exception as error:
            results[case.name] = {"error": f"{type(error).__name__}: {error}"[:300]}
        took = time.perf_counter() - began
        print(f"{part.__name__} {case.name} {took:.1f} s {results[case.name].get('error', '')}", file=sys.stderr)
        output.write_text(json.dumps(results))
        gc.collect()


PARTS: dict[str, Callable[[Case], Result]] = {"truth": truth_of, "found": found_by_exploring}


def results_of(part: str, library: str, name: str, folder: Path) -> dict[str, Result]:
    """Run a part in a process of its own."""
    output = folder / f"{part}-{library}.json"
    if output.exists():
        return json.loads(output.read_text())  # type: ignore[no-any-return]
    command = [sys.executable, __file__, "--part", part, "--library", library, "--name", name, "--output", str(output)]
    subprocess.run(command, check=True)
    return json.loads(output.read_text())  # type: ignore[no-any-return]


# The comparison.


@dataclass
class Compared:
    """One model: what is true, and what was found with example inputs and without."""

    library: str
    name: str
    truth: Result
    found: Result

    @property
    def true_places(self) -> list[Any]:
        """Where torch.fx fails."""
        return [tuple(place) for place, _ in self.truth["sites"]]

    def places(self, mode: str) -> list[Any]:
        """Where fxcore says that it does."""
        return [tuple(place) for place in self.found[mode]]

    def hits(self, mode: str) -> int:
        """How many of fxcore's places are true."""
        return len(set(self.true_places) & set(self.places(mode)))

    def first_is_right(self) -> bool:
        """Whether the first of fxcore's places is the first of torch.fx's."""
        first = tuple(self.found["first"])
        return all(self.places(mode)[:1] == [first] for mode in MODES)

    def misses(self, mode: str) -> list[str]:
        """A line for each place that was missed, with torch.fx's reason."""
        found = set(self.places(mode))
        return [f"{short(place)}: {why}" for place, why in self.truth["sites"] if tuple(place) not in found]

    def errors(self, mode: str) -> list[str]:
        """A line for each place that was found and isn't true."""
        return [short(place) for place in self.places(mode) if place not in self.true_places]


MODES = ("with", "without")


def short(place: Any) -> str:
    """A place without the folders above the package."""
    file, line, column = place
    return f"`{file.partition('site-packages/')[2] or Path(file).name}:{line}:{column}`"


def share(part: int, whole: int) -> str:
    """As a percentage."""
    return f"{100 * part / max(whole, 1):.1f} % ({part} of {whole})"


def page(compared: list[Compared], unknown: list[str]) -> str:
    """docs/recall.md."""
    libraries = dict.fromkeys(c.library for c in compared)
    ratios = {c.name: c.found["explore"] / c.found["plain"] for c in compared}
    lines = [
        "# How much of what fails is found",
        "",
        "What `.venv/bin/python benchmarks/recall.py --write` found. The truth is where the installed torch.fx fails,",
        "one place after the other, when each is answered by a real run on the CPU (`benchmarks/oracle.py`). *With*:",
        "fxcore explored with the same example inputs; *without*: with none. A place is a file, a line and a column.",
        "",
        f"torch {importlib.metadata.version('torch')}; {len(compared)} models.",
        "",
        "| library | models | places | recall with | precision with | recall without | precision without |",
        "|---|---|---|---|---|---|---|",
    ]
    for library in [*libraries, "all"]:
        rows = [c for c in compared if library in (c.library, "all")]
        true = sum(len(c.true_places) for c in rows)
        cells = []
        for mode in MODES:
            hits = sum(c.hits(mode) for c in rows)
            cells += [share(hits, true), share(hits, sum(len(c.places(mode)) for c in rows))]
        lines.append(f"| {library} | {len(rows)} | {true} | {' | '.join(cells)} |")
    right = sum(c.first_is_right() for c in compared)
    lines += ["", f"The first failure is torch.fx's: {share(right, len(compared))}."]
    lines += [
        "",
        f"Time to explore without inputs, as a multiple of a plain trace that ends at the first failure: median "
        f"{statistics.median(ratios.values()):.1f}, worst {max(ratios.values()):.1f}.",
        "",
        "| model | places | found with | found without | plain ms | explore ms | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for c in compared:
        counts = [str(len(c.true_places)), *(str(c.hits(mode)) for mode in MODES)]
        times = [f"{c.found[key] * 1e3:.0f}" for key in ("plain", "explore")]
        lines.append(f"| {c.name} | {' | '.join(counts + times)} | {ratios[c.name]:.1f} |")
    for mode in MODES:
        lines += ["", f"## Missed {mode} inputs, and why torch.fx fails there", ""]
        lines += [f"- {c.name}: {miss}" for c in compared for miss in c.misses(mode)]
        lines += ["", f"## Found {mode} inputs, but not true", ""]
        lines += [f"- {c.name}: {error}" for c in compared for error in c.errors(mode)]
    lines += ["", "## Where the truth isn't complete", ""]
    lines += [f"- {c.name}: {gap}".replace(SITE_PACKAGES, "") for c in compared for gap in c.truth["gaps"]]
    lines += ["", "## Not compared", "", *[f"- {line}" for line in unknown]]
    return "\n".join(lines) + "\n"


SITE_PACKAGES = str(Path(torch.__file__).parents[1]) + "/"


def compare(libraries: list[str], name: str, folder: Path) -> str:
    """Run what isn't in ``folder`` yet, and give the page."""
    compared, unknown = [], []
    for library in libraries:
        truth, found = (results_of(part, library, name, folder) for part in PARTS)
        for case in truth:
            errors = [result.get("error") for result in (truth[case], found.get(case, {"error": "not run"}))]
            if any(errors):
                unknown.append(f"{case}: {next(filter(None, errors))}".replace(SITE_PACKAGES, ""))
            else:
                compared.append(Compared(library, case, truth[case], found[case]))
    return page(compared, unknown)


def main() -> int:
    """Measure, and print or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--library", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--name", default="", help="only models with this in their names")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--part", choices=list(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help="where results are kept and used again")
    options = parser.parse_args()
    if options.part:
        if options.part == "truth":
            oracle.rewrite_imports(PACKAGES)
        run_part(PARTS[options.part], options.library[0], options.name, options.output)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        text = compare(options.library, options.name, options.folder or Path(temporary))
    print(text)
    if options.write:
        PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
