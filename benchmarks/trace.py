"""fxcore against the installed torch.fx: time to trace real models, and how cost grows with the size of the graph.

    .venv/bin/python benchmarks/trace.py [--timm 40] [--rounds 5] [--only models|growth|memory]

``models``: trace + GraphModule + code, for every torchvision model and some of timm's that both trace, built on the
meta device. The two tracers run in turn, and a model's figure is the ratio of their medians.

``growth``: the cost per node, from 1,000 to 100,000 nodes, of tracing a chain of blocks that each read their own
parameter, and of what is done to graphs afterwards; torch.fx is run too where that ends in reasonable time.

``memory``: bytes per node of a large graph.
"""

from __future__ import annotations

import argparse
import copy
import functools
import gc
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
from tests.core import sweep

PACKAGES = (fxcore, torch.fx)
LONGEST_FOR_TORCH = 10_000
"""Nodes. torch.fx looks each parameter up among all of them, so its time grows with the square."""


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock seconds of ``work``, with garbage collected beforehand."""
    gc.collect()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_turn(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The median seconds of each of ``works``, which run one after the other ``rounds`` times after a warm-up."""
    for work in works:
        work()
    times = [[seconds(work) for work in works] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def code_of(package: Any, module: nn.Module) -> str:
    """Trace ``module`` with ``package`` (torch.fx or fxcore), make the GraphModule and its code."""
    code: str = package.GraphModule(module, package.Tracer().trace(module)).code
    return code


def measure_models(timm_models: int, rounds: int) -> None:
    """Print a row for each model and the ratios' median and worst."""
    ratios: dict[str, float] = {}
    print(f"{'model':42} {'fxcore ms':>10} {'torch.fx ms':>12} {'ratio':>6}")
    for name, module in models(timm_models):
        try:
            ours, theirs = in_turn(rounds, *(functools.partial(code_of, package, module) for package in PACKAGES))
        except Exception as error:  # models that don't trace are the parity check's business
            print(f"{name:42} {type(error).__name__}")
            continue
        ratios[name] = ours / theirs
        print(f"{name:42} {ours * 1e3:10.1f} {theirs * 1e3:12.1f} {ratios[name]:6.2f}", flush=True)
    worst = max(ratios, key=ratios.__getitem__)
    print(f"{len(ratios)} models: median {statistics.median(ratios.values()):.2f}, worst {ratios[worst]:.2f} ({worst})")


def models(timm_models: int) -> Iterator[tuple[str, nn.Module]]:
    """torchvision's models, then ``timm_models`` of timm's, spread over its list; on the meta device."""
    vision = [case for case in sweep.torchvision_cases() if case.mode == "eval"]
    timm = [case for case in sweep.timm_cases() if case.mode == "eval"]
    for case in [*vision, *timm[:: len(timm) // timm_models][:timm_models]]:
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


def pairs(package: Any, matches: int) -> Any:
    """A graph module with ``matches`` places where ``neg`` follows ``relu``."""
    graph = package.Graph()
    node = graph.placeholder("x")
    for _ in range(matches):
        node = graph.call_function(torch.neg, (graph.call_function(torch.relu, (node,)),))
    graph.output(node)
    return package.GraphModule(nn.Module(), graph)


def rewrite(package: Any, matches: int) -> Callable[[], object]:
    """Work that replaces ``matches`` matches of a pattern, on a fresh graph each time."""
    return lambda: package.replace_pattern(
        pairs(package, matches), lambda x: torch.neg(torch.relu(x)), lambda x: torch.sigmoid(x)
    )


def measure_growth(rounds: int) -> None:
    """Print microseconds per node, for each kind of work and size."""
    sizes = (1_000, 10_000, 100_000)
    print(f"{'microseconds per node':28} {'':9}" + "".join(f"{size:>10,}" for size in sizes) + "   last/first")
    for package in PACKAGES:
        modules = {size: chain(size) for size in sizes if fits(package, size)}
        report(package, "trace", {n: functools.partial(package.Tracer().trace, m) for n, m in modules.items()}, rounds)
        graphs = {size: relus(package, size) for size in sizes}
        works: dict[str, Callable[[Any], object]] = {
            "lint": lambda g: g.graph.lint(),
            "eliminate_dead_code": lambda g: g.graph.eliminate_dead_code(),
            "code": lambda g: g.graph.python_code("self"),
            "deepcopy": lambda g: copy.deepcopy(g.graph),
        }
        for name, work in works.items():
            report(package, name, {n: functools.partial(work, g) for n, g in graphs.items()}, rounds)
        report(package, "replace_pattern, per match", {n: rewrite(package, n) for n in (100, 1_000)}, rounds)


def fits(package: Any, size: int) -> bool:
    """Whether ``package`` can trace a chain of ``size`` nodes while somebody waits."""
    return package is fxcore or size <= LONGEST_FOR_TORCH


def report(package: Any, name: str, works: dict[int, Callable[[], object]], rounds: int) -> None:
    """Print one row of microseconds per unit of size."""
    costs = {}
    for size, work in works.items():
        try:
            (spent,) = in_turn(1 if size > LONGEST_FOR_TORCH else rounds, work)
        except RecursionError:
            continue
        costs[size] = spent / size * 1e6
    cells = "".join(f"{cost:10.1f}" for cost in costs.values())
    first, last = min(costs), max(costs)
    print(f"{name:28} {package.__name__:9}{cells}   {costs[last] / costs[first]:.2f}", flush=True)


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
    parser.add_argument("--only", choices=["models", "growth", "memory"])
    options = parser.parse_args()
    if options.only in (None, "models"):
        measure_models(options.timm, options.rounds)
    if options.only in (None, "growth"):
        measure_growth(options.rounds)
    if options.only in (None, "memory"):
        measure_memory()


if __name__ == "__main__":
    main()
