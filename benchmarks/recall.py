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
ROUNDS = 3
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

    module = case.build()
    fresh = copy.deepcopy(module)
    concrete = case.concrete_args
    guessed, informed = explore(module, concrete), explore(module, concrete, examples=case.inputs())

    def places(exploration: Exploration) -> list[Any]:
        spans = [site.failure.span for site in exploration.sites]
        return [None if span is None else (span.file, span.line, span.col) for span in spans]

    def plain() -> None:
        try:
            fxcore.Tracer().trace(module, concrete)
        except fxcore.failures.TraceFailure:
            pass

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
    command = [sys.executable, __file__, "--part", part, "--library", library, "--name", name, "--output", str(output)]
    subprocess.run(command, check=True)
    return json.loads(output.read_text())  # type: ignore[no-any-return]


def main() -> int:
    """Measure, and print or write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--library", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--name", default="", help="only models with this in their names")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--part", choices=list(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help="where results are kept; the oracle's are used again")
    options = parser.parse_args()
    if options.part:
        if options.part == "truth":
            oracle.rewrite_imports(PACKAGES)
        run_part(PARTS[options.part], options.library[0], options.name, options.output)
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
