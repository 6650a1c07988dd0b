"""fxcore against the installed torch.fx: time to trace real models, and how cost grows with the size of the graph.

    .venv/bin/python benchmarks/trace.py [--timm 40] [--rounds 5] [--match vgg] [--only models|growth|memory]

``models``: trace + GraphModule + code, for every torchvision model and some of timm's that both trace, built on the
meta device. The two tracers run in turn, and a model's figure is the ratio of their medians.

``growth``: the cost per node of tracing a chain of blocks that each read their own parameter, and of what is done to
graphs afterwards; torch.fx is run too where that ends in reasonable time. Each row is of the same number of nodes in
all, as many small graphs or as one large, so that what differs is the size of the graphs and not the memory in use.
Beside it stands what one small graph costs that was made just before and is alone: it may fit the processor's caches.

``memory``: bytes per node of a large graph.

Times are the process's own CPU time, with the collection of garbage held off as in `timeit`.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import gc
import math
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.fx
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import fxcore
from tests.core.sweep import cases as sweep

PACKAGES = (fxcore, torch.fx)
LEAST = 0.2
"""Seconds that each tracer is measured for with each model: small models are traced many times."""
SIZES = (1_000, 10_000, 100_000)
"""Nodes of a graph."""
ALONE = 15
"""How often a small graph is made and worked on alone."""
LONGEST_FOR_TORCH = 10_000
"""Nodes. torch.fx looks each parameter up among all of them, so its time grows with the square."""


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of ``work``, with garbage collected beforehand."""
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        gc.enable()


def in_turn(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The median seconds of each of ``works``, which are run one after the other in each round, after a warm-up.

    There are more rounds than asked for where it takes more for the quickest to come to `LEAST` seconds in all.
    """
    quickest = min(seconds(work) for work in works for _ in range(2))
    rounds = max(rounds, math.ceil(LEAST / quickest))
    times = [[seconds(work) for work in works] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def code_of(package: Any, module: nn.Module) -> str:
    """Trace ``module`` with ``package`` (torch.fx or fxcore), make the GraphModule and its code."""
    code: str = package.GraphModule(module, package.Tracer().trace(module)).code
    return code


def measure_models(timm_models: int, rounds: int, match: str) -> None:
    """Print a row for each model and the ratios' median and worst."""
    ratios: dict[str, float] = {}
    print(f"{'model':42} {'fxcore ms':>10} {'torch.fx ms':>12} {'ratio':>6}")
    for name, module in models(timm_models, match):
        try:
            ours, theirs = in_turn(rounds, *(functools.partial(code_of, package, module) for package in PACKAGES))
        except Exception as error:  # models that don't trace are the parity check's business
            print(f"{name:42} {type(error).__name__}")
            continue
        ratios[name] = ours / theirs
        print(f"{name:42} {ours * 1e3:10.1f} {theirs * 1e3:12.1f} {ratios[name]:6.2f}", flush=True)
    worst = max(ratios, key=ratios.__getitem__)
    print(f"{len(ratios)} models: median {statistics.median(ratios.values()):.2f}, worst {ratios[worst]:.2f} ({worst})")


def models(timm_models: int, match: str) -> Iterator[tuple[str, nn.Module]]:
    """torchvision's models, then ``timm_models`` of timm's, spread over its list; on the meta device.

    Of these, those that have ``match`` in their names.
    """
    vision = [case for case in sweep.torchvision_cases() if case.mode == "eval"]
    timm = [case for case in sweep.timm_cases() if case.mode == "eval"]
    gc.freeze()  # so that collecting garbage goes through the models alone, not through all that is imported by now
    for case in [*vision, *timm[:: len(timm) // timm_models][:timm_models]]:
        if match in case.name:
            yield case.name, sweep.build(case)


class Block(nn.Module):
    """Two nodes: it reads its own parameter and multiplies by it."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape of ``x`` in, the same out."""
        return x * self.scale


def chain(nodes: int) -> nn.Module:
    """Blocks in a row, whose graph has about ``nodes`` nodes."""
    return nn.Sequential(*(Block() for _ in range(nodes // 2)))


def relus(package: Any, nodes: int) -> Any:
    """A graph module of ``nodes`` calls of relu, built by hand with ``package``."""
    graph = package.Graph()
    node = graph.placeholder("x")
    for _ in range(nodes):
        node = graph.call_function(torch.relu, (node,))
    graph.output(node)
    return package.GraphModule(nn.Module(), graph)


def pairs(package: Any, nodes: int) -> Any:
    """A graph module of ``nodes`` nodes, in which ``neg`` follows ``relu`` again and again."""
    graph = package.Graph()
    node = graph.placeholder("x")
    for _ in range(nodes // 2):
        node = graph.call_function(torch.neg, (graph.call_function(torch.relu, (node,)),))
    graph.output(node)
    return package.GraphModule(nn.Module(), graph)


WORKS: dict[str, Callable[[Any], object]] = {
    "lint": lambda module: module.graph.lint(),
    "eliminate_dead_code": lambda module: module.graph.eliminate_dead_code(),
    "code": lambda module: module.graph.python_code("self"),
    "deepcopy": lambda module: copy.deepcopy(module.graph),
}


def rewrite(package: Any, module: Any) -> object:
    """Replace every match of a pattern of two nodes."""
    return package.replace_pattern(module, lambda x: torch.neg(torch.relu(x)), lambda x: torch.sigmoid(x))


def measure_growth(rounds: int) -> None:
    """Print microseconds per node, for each kind of work and size."""
    gc.freeze()  # so that collecting garbage goes through the graphs alone
    sizes = "".join(f"{size:>10,}" for size in SIZES)
    print(f"{'microseconds per node':28} {'':9}{sizes}   last/first    {SIZES[0]:,} alone   last/alone")
    for package in PACKAGES:
        longest = SIZES[-1] if package is fxcore else LONGEST_FOR_TORCH
        report(package, "trace", chain, package.Tracer().trace, rounds, longest)
        for name, work in WORKS.items():
            report(package, name, functools.partial(relus, package), work, rounds)
        report(package, "replace_pattern", functools.partial(pairs, package), functools.partial(rewrite, package), 1)


def report(
    package: Any,
    name: str,
    make: Callable[[int], Any],
    work: Callable[[Any], object],
    rounds: int,
    longest: int = SIZES[-1],
) -> None:
    """Print one row: microseconds per node of ``work`` on as many graphs of each size as come to ``longest`` nodes.

    And on one graph of the first size.
    """
    sizes = [size for size in SIZES if size <= longest]
    costs: list[float] = []
    with contextlib.suppress(RecursionError):
        alone = statistics.median(seconds(functools.partial(work, make(sizes[0]))) for _ in range(ALONE))
        alone *= 1e6 / sizes[0]
        for size in sizes:
            made = [make(size) for _ in range(longest // size)]
            spent = [seconds(lambda made=made: [work(one) for one in made]) for _ in range(rounds)]  # type: ignore[misc]
            costs.append(statistics.median(spent) / longest * 1e6)
    cells = "".join(f"{cost:10.1f}" for cost in costs).ljust(10 * len(SIZES))
    ratios = f"{costs[-1] / costs[0]:13.2f}{alone:15.1f}{costs[-1] / alone:13.2f}" if costs else ""
    print(f"{name:28} {package.__name__:9}{cells}{ratios}", flush=True)


def measure_memory(nodes: int = 100_000) -> None:
    """Print the bytes per node of a graph of ``nodes`` nodes."""
    for package in PACKAGES:
        gc.collect()
        tracemalloc.start()
        graph = relus(package, nodes).graph
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(f"{package.__name__:9} {used / len(graph.nodes):8.0f} bytes per node at {nodes:,} nodes")


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--timm", type=int, default=40, help="how many of timm's models")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--match", default="", help="what models have in their names")
    parser.add_argument("--only", choices=["models", "growth", "memory"])
    options = parser.parse_args()
    if options.only in (None, "models"):
        measure_models(options.timm, options.rounds, options.match)
    if options.only in (None, "growth"):
        measure_growth(options.rounds)
    if options.only in (None, "memory"):
        measure_memory()


if __name__ == "__main__":
    main()
