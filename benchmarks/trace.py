"""Compares fxcore with the installed torch.fx: the time to trace real models, and how cost grows with a graph's size.

    .venv/bin/python benchmarks/trace.py [--timm 40] [--rounds 5] [--match vgg] [--only models|growth|memory]

``models`` measures the time to trace a model, create the GraphModule, and generate its code. It uses the torchvision
models and some of the timm models that both tracers can trace, built on the meta device. The two tracers run
alternately, and the result for a model is the ratio of their medians.

``growth`` measures the time per node for tracing a chain of blocks that each read their own parameter, and for later
operations on graphs. It includes torch.fx if that finishes in a reasonable time. Each row processes the same total
number of nodes, either as many small graphs or as one large graph, so that only the size of the graphs differs and not
the memory in use. In addition, it shows the time per node for a single new small graph, which may fit into the CPU's
caches.

``memory`` measures the bytes per node of a large graph.

Times are the process's own CPU time, without garbage collection, as in `timeit`.
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
"""The minimum number of seconds to measure each tracer with each model. Small models are traced many times."""
SIZES = (1_000, 10_000, 100_000)
"""The numbers of nodes in the graphs."""
ALONE = 15
"""The number of times that a single small graph is created and processed."""
LONGEST_FOR_TORCH = 10_000
"""The most nodes for torch.fx. It searches all parameters for each one, so its time is quadratic."""


def seconds(work: Callable[[], object]) -> float:
    """The CPU seconds of ``work``, with garbage collected beforehand."""
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        gc.enable()


def in_turn(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The median seconds of each of ``works``, which run one after the other in each round, after a warm-up.

    There are more than ``rounds`` rounds if the fastest of them would otherwise run for less than `LEAST` seconds.
    """
    quickest = min(seconds(work) for work in works for _ in range(2))
    rounds = max(rounds, math.ceil(LEAST / quickest))
    times = [[seconds(work) for work in works] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def code_of(package: Any, module: nn.Module) -> str:
    """Trace ``module`` with ``package`` (torch.fx or fxcore), create the GraphModule, and generate its code."""
    code: str = package.GraphModule(module, package.Tracer().trace(module)).code
    return code


def measure_models(timm_models: int, rounds: int, match: str) -> None:
    """Print a row for each model, then the median and the worst of the ratios."""
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
    """torchvision's models, then ``timm_models`` models from all over timm's list, on the meta device.

    Models whose names don't contain ``match`` are left out.
    """
    vision = [case for case in sweep.torchvision_cases() if case.mode == "eval"]
    timm = [case for case in sweep.timm_cases() if case.mode == "eval"]
    gc.freeze()  # so that garbage collection visits only the models, not everything imported before
    for case in [*vision, *timm[:: len(timm) // timm_models][:timm_models]]:
        if match in case.name:
            yield case.name, sweep.build(case)


class Block(nn.Module):
    """A block of two nodes: it reads its own parameter and multiplies by it."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply ``x`` by the parameter; the shape stays the same."""
        return x * self.scale


def chain(nodes: int) -> nn.Module:
    """A chain of blocks whose graph has about ``nodes`` nodes."""
    return nn.Sequential(*(Block() for _ in range(nodes // 2)))


def relus(package: Any, nodes: int) -> Any:
    """A graph module with ``nodes`` calls to relu, created with ``package`` without tracing."""
    graph = package.Graph()
    node = graph.placeholder("x")
    for _ in range(nodes):
        node = graph.call_function(torch.relu, (node,))
    graph.output(node)
    return package.GraphModule(nn.Module(), graph)


def pairs(package: Any, nodes: int) -> Any:
    """A graph module with ``nodes`` nodes, in which ``relu`` and ``neg`` alternate."""
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
    """Print the microseconds per node for each operation and size."""
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
    """Print one row: the microseconds per node of ``work``, for each size and for one graph of the smallest size.

    For each size, there are as many graphs as needed for a total of ``longest`` nodes.
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
    """Print the bytes per node of a graph with ``nodes`` nodes."""
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
    parser.add_argument("--timm", type=int, default=40, help="how many of timm's models to trace")
    parser.add_argument("--rounds", type=int, default=5, help="how many times to measure each operation")
    parser.add_argument("--match", default="", help="only models whose names contain this")
    parser.add_argument("--only", choices=["models", "growth", "memory"], help="run only this part")
    options = parser.parse_args()
    if options.only in (None, "models"):
        measure_models(options.timm, options.rounds, options.match)
    if options.only in (None, "growth"):
        measure_growth(options.rounds)
    if options.only in (None, "memory"):
        measure_memory()


if __name__ == "__main__":
    main()
