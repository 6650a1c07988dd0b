"""The two halves of `recall.py`: the true failures of a model, and those that fxcore finds, each in its own process.

The oracle has to rewrite the libraries' code, so the two halves can't share a process. The results are written as JSON
after each case. If a process is restarted, it continues with the first case that has no result.
"""

from __future__ import annotations

import copy
import gc
import json
import resource
import signal
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.fx
from torch.utils import _pytree as pytree

from benchmarks.oracle import Oracle, Place, place_of_return, raised_place, rewrite_imports
from benchmarks.recall_models import CASES, Case, implement_operators

PACKAGES = (
    "torchvision",
    "timm",
    "transformers",
    "vit_pytorch",
    "segmentation_models_pytorch",
    "denoising_diffusion_pytorch",
    "x_transformers",
    "einops",
)
"""The packages whose code the oracle rewrites."""
ROUNDS = 3
"""The number of times that each duration is measured."""
MOST_SECONDS = 300
"""The time limit for one case, after which its process is ended."""
MOST_MEMORY = 12 * 2**30
"""The limit on a process's address space, in bytes."""

Result = dict[str, Any]


def truth_of(case: Case) -> Result:
    """The places that the oracle finds, and those after which it couldn't continue.

    ``sites``: each place, torch.fx's reason, and the oracle's answer. ``same_outputs``: whether the graph of the
    oracle's path has the same outputs as the model; None if a torch.fx graph can't return the model's outputs.
    """
    oracle = Oracle(case.inputs())
    oracle.run(case.build(), case.concrete_args)
    with torch.no_grad():
        outputs = case.build()(**case.inputs())
    return {
        "sites": [[place, why, oracle.answers.get(place, [])] for place, why in oracle.sites.items()],
        "gaps": oracle.gaps,
        "same_outputs": None if oracle.outputs is None else same_tensors(oracle.outputs, outputs),
    }


def same_tensors(one: Any, other: Any) -> bool:
    """Whether two nested structures hold the same tensors, bit for bit."""
    tensors = [[leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)] for value in (one, other)]
    return len(tensors[0]) == len(tensors[1]) and all(
        torch.allclose(left, right, rtol=0, atol=0, equal_nan=True) for left, right in zip(*tensors, strict=True)
    )


def found_by_exploring(case: Case) -> Result:
    """The places and assumptions of fxcore, with and without example inputs; torch.fx's first failure; CPU seconds."""
    import fxcore
    from fxcore.explore import explore
    from fxcore.explore.failure_sites import Site
    from fxcore.explore.other_sides import explore_other_sides
    from fxcore.explore.untouched import untouched

    module = case.build()
    fresh = copy.deepcopy(module)
    concrete = case.concrete_args
    guessed = explore(module, concrete)
    informed = explore(case.build(), concrete, examples=case.inputs())  # the other may have kept traced values

    others = [other.site for other in explore_other_sides(case.build, concrete, guessed)]

    def places(sites: list[Site]) -> list[Any]:
        found = [(site.failure.span, site.assumption) for site in sites]
        return [
            [span and (span.file, span.line, span.end_line, span.col, span.end_col), assumption]
            for span, assumption in found
        ]

    def plain() -> None:
        try:
            with untouched(module):
                fxcore.Tracer().trace(module, concrete)
        except fxcore.failures.TraceFailure:
            pass

    times = [(seconds(plain), seconds(lambda: explore(module, concrete))) for _ in range(ROUNDS)]
    return {
        "first": first_of_torch(fresh, concrete),
        "without": places(guessed.sites),
        "with": places(informed.sites),
        "others": places(others),
        "plain": statistics.median(time for time, _ in times),
        "explore": statistics.median(time for _, time in times),
        "explore_others": statistics.median(
            seconds(lambda: explore_other_sides(lambda: module, concrete, guessed)) for _ in range(ROUNDS)
        ),
    }


def first_of_torch(module: torch.nn.Module, concrete: dict[str, Any]) -> Place | None:
    """The place where the installed torch.fx fails."""
    try:
        torch.fx.Tracer().trace(module, concrete)
    except Exception as error:
        return raised_place(error) or place_of_return(module)
    raise AssertionError("torch.fx traces this model")


def seconds(work: Callable[[], object]) -> float:
    """The CPU seconds of this process that ``work`` takes, not counting other processes."""
    began = time.process_time()
    work()
    return time.process_time() - began


PARTS: dict[str, Callable[[Case], Result]] = {"truth": truth_of, "found": found_by_exploring}


def run_part(part: str, library: str, name: str, output: Path) -> None:
    """Write the results of those cases of a library that have no results yet."""
    if part == "truth":
        rewrite_imports(PACKAGES)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    implement_operators()
    results: dict[str, Result] = json.loads(output.read_text()) if output.exists() else {}
    waiting = [case for case in CASES[library]() if name in case.name and case.name not in results]
    for case in waiting:
        results[case.name] = {"error": f"the process of its {part} ended"}  # what stands there if it does
        output.write_text(json.dumps(results))
        signal.alarm(MOST_SECONDS)
        began = time.perf_counter()
        try:
            results[case.name] = PARTS[part](case)
        except Exception as error:
            if case is not waiting[0] and is_out_of_memory(error):
                del results[case.name]
                output.write_text(json.dumps(results))
                sys.exit("out of memory, which earlier cases may have taken: to be started again")
            results[case.name] = {"error": f"{type(error).__name__}: {error}"[:300]}
        signal.alarm(0)
        took = time.perf_counter() - began
        print(f"{part} {case.name} {took:.1f} s {results[case.name].get('error', '')}", file=sys.stderr, flush=True)
        output.write_text(json.dumps(results))
        gc.collect()
    assert part == "found" or "fxcore" not in sys.modules, "the truth is to be independent"


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out, according to Python's error or torch's, which on the CPU has no specific type."""
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)
