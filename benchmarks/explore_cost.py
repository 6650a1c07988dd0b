"""What exploring costs against a plain trace, side by side: as multiples, over three sets of models.

    .venv/bin/python benchmarks/explore_cost.py [--rounds 5] [--match vgg] [--only tracing|failing] [--timm 20]

``tracing``: over models that trace, where exploring has nothing to find. ``failing``: over the models of
`recall_models.py`, against the plain trace that ends at the first failure. ``all``: over both. Of each, also the time
per recorded node: there a trace that ends early has no advantage; and per place that was found: to find them one after
the other takes a plain trace for each.

The two run in turn, without example inputs, and a model's figure is the ratio of their medians. Times are the process's
own CPU time, with the collection of garbage held off as in `timeit`.
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
from fxcore.failures import TraceFailure
from fxcore.untouched import untouched


@dataclass(frozen=True)
class Cost:
    """One model's: CPU seconds, and how many nodes were recorded in them."""

    name: str
    plain: float
    plain_nodes: int
    exploring: float
    exploring_nodes: int
    places: int
    """That can't be traced."""

    @property
    def ratio(self) -> float:
        """Exploring as a multiple of the plain trace."""
        return self.exploring / self.plain

    @property
    def ratio_per_node(self) -> float:
        """The same of the time per recorded node; not a number where exploring brought no graph."""
        return self.ratio * self.plain_nodes / self.exploring_nodes if self.exploring_nodes else math.nan

    @property
    def ratio_per_place(self) -> float:
        """The same of the time per place that was found; not a number where there is none."""
        return self.ratio / self.places if self.places else math.nan


def cost_of(name: str, module: nn.Module, concrete: Mapping[str, Any], rounds: int) -> Cost:
    """Trace and explore ``module`` in turn."""
    plain, exploring = fxcore.Tracer(), fxcore.Tracer()

    def trace() -> None:
        with untouched(module), contextlib.suppress(TraceFailure):  # it may set something on a module before it fails
            plain.trace(module, concrete)

    trace_seconds, explore_seconds = in_turn(rounds, trace, lambda: explore(module, concrete, tracer=exploring))
    found = explore(module, concrete)
    nodes = len(found.graph.nodes) if found.graph else 0
    return Cost(name, trace_seconds, len(plain.graph.nodes), explore_seconds, nodes, len(found.sites))


def tracing(timm_models: int, match: str) -> Iterator[tuple[str, nn.Module, Mapping[str, Any]]]:
    """Models that trace."""
    for name, module in models(timm_models, match):
        try:
            fxcore.Tracer().trace(module)
        except TraceFailure:
            continue
        yield name, module, {}


def failing(match: str) -> Iterator[tuple[str, nn.Module, Mapping[str, Any]]]:
    """Models that don't."""
    for cases in CASES.values():
        for case in cases():
            if match in case.name:
                yield case.name, case.build(), case.concrete_args


def measure(kind: str, cases: Iterator[tuple[str, nn.Module, Mapping[str, Any]]], rounds: int) -> list[Cost]:
    """The cost of each model. Prints a row for each, and then their summary."""
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
    """Print the medians and the worst."""
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
    parser.add_argument("--timm", type=int, default=20, help="how many of timm's models that trace")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--match", default="", help="what models have in their names")
    parser.add_argument("--only", choices=["tracing", "failing"])
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
