"""Compares the cost of exploring with that of a plain trace, over three sets of models.

    .venv/bin/python benchmarks/explore_cost.py [--rounds 5] [--match vgg] [--only tracing|failing] [--timm 20]

``tracing`` is the set of models that trace; exploring finds no failures in them. ``failing`` is the set of models in
`recall_models.py`; their plain trace ends at the first failure. ``all`` contains both. For each set, the script also
prints the time per recorded node, so that a trace that ends early has no advantage, and the time per place that was
found, because finding the places one after the other would need one plain trace for each.

The script explores and traces each model alternately, without example inputs. The result for a model is the ratio of
the medians. Times are the process's own CPU time, without garbage collection, as in `timeit`.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import math
import statistics
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import fxcore
from benchmarks.recall_models import CASES, implement_operators
from benchmarks.trace import in_turn, models
from fxcore.explore import explore
from fxcore.explore.untouched import untouched
from fxcore.failures import TraceFailure


@dataclass(frozen=True)
class Cost:
    """The CPU seconds for one model, and the number of nodes that were recorded in that time."""

    name: str
    plain: float
    plain_nodes: int
    exploring: float
    exploring_nodes: int
    places: int
    """The number of places that can't be traced."""

    @property
    def ratio(self) -> float:
        """The time to explore, as a multiple of the time of a plain trace."""
        return self.exploring / self.plain

    @property
    def ratio_per_node(self) -> float:
        """The same ratio for the time per recorded node; NaN if exploring produced no graph."""
        return self.ratio * self.plain_nodes / self.exploring_nodes if self.exploring_nodes else math.nan

    @property
    def ratio_per_place(self) -> float:
        """The same ratio for the time per place that was found; NaN if no place was found."""
        return self.ratio / self.places if self.places else math.nan


def cost_of(name: str, module: nn.Module, concrete: Mapping[str, Any], rounds: int) -> Cost:
    """Trace and explore ``module`` alternately."""
    plain, exploring = fxcore.Tracer(), fxcore.Tracer()

    def trace() -> None:
        with untouched(module), contextlib.suppress(TraceFailure):  # it may set something on a module before it fails
            plain.trace(module, concrete)

    trace_seconds, explore_seconds = in_turn(rounds, trace, lambda: explore(module, concrete, tracer=exploring))
    found = explore(module, concrete)
    nodes = len(found.graph.nodes) if found.graph else 0
    return Cost(name, trace_seconds, len(plain.graph.nodes), explore_seconds, nodes, len(found.sites))


def tracing(timm_models: int, match: str) -> Iterator[tuple[str, nn.Module, Mapping[str, Any]]]:
    """The models that trace."""
    for name, module in models(timm_models, match):
        try:
            fxcore.Tracer().trace(module)
        except TraceFailure:
            continue
        yield name, module, {}


def failing(match: str) -> Iterator[tuple[str, nn.Module, Mapping[str, Any]]]:
    """The models that fail."""
    for cases in CASES.values():
        for case in cases():
            if match in case.name:
                yield case.name, case.build(), case.concrete_args


def measure(kind: str, cases: Iterator[tuple[str, nn.Module, Mapping[str, Any]]], rounds: int) -> list[Cost]:
    """Measure the cost of each model. Print a row for each, then a summary."""
    columns = f"{'plain ms':>9} {'nodes':>6} {'explore ms':>11} {'nodes':>6} {'ratio':>7} {'per node':>9} {'places':>6}"
    print(f"{kind + ' models':42} {columns}")
    costs: list[Cost] = []
    for name, module, concrete in cases:
        gc.freeze()  # so that collecting garbage before each run doesn't go through all that was imported and built
        cost = cost_of(name, module, concrete, rounds)
        costs.append(cost)
        gc.unfreeze()
        print(
            f"{name:42} {cost.plain * 1e3:9.1f} {cost.plain_nodes:6} {cost.exploring * 1e3:11.1f} "
            f"{cost.exploring_nodes:6} {cost.ratio:7.2f} {cost.ratio_per_node:9.2f} {cost.places:6}",
            flush=True,
        )
    summarise(kind, costs)
    return costs


def summarise(kind: str, costs: Sequence[Cost]) -> None:
    """Print the medians and the worst ratios."""
    ways: dict[str, Callable[[Cost], float]] = {
        "ratio": lambda cost: cost.ratio,
        "per node": lambda cost: cost.ratio_per_node,
        "per place": lambda cost: cost.ratio_per_place,
    }
    for way, figure in ways.items():
        figures = [(figure(cost), cost.name) for cost in costs if not math.isnan(figure(cost))]
        if figures:
            median = statistics.median(value for value, _ in figures)
            worst, name = max(figures)
            print(f"{len(figures)} {kind} models, {way}: median {median:.2f}, worst {worst:.2f} ({name})")


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--timm", type=int, default=20, help="how many of timm's traceable models to use")
    parser.add_argument("--rounds", type=int, default=5, help="how many times to measure each model")
    parser.add_argument("--match", default="", help="only models whose names contain this")
    parser.add_argument("--only", choices=["tracing", "failing"], help="measure only this set of models")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    implement_operators()
    costs: list[Cost] = []
    if options.only != "failing":
        costs += measure("tracing", tracing(options.timm, options.match), options.rounds)
    if options.only != "tracing":
        costs += measure("failing", failing(options.match), options.rounds)
    if options.only is None:
        summarise("all", costs)


if __name__ == "__main__":
    main()
