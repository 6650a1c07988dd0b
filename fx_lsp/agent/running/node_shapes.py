"""The values of a graph's nodes, for an input that was found, and for inputs that differ from it in some sizes.

The graph is run on the meta device. Nothing is computed there, so a large model takes as long as a small model with as
many nodes.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

import fxcore
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.running.plain_values import map_tensors, tensors_of
from fx_lsp.agent.running.symbolic_sizes import Symbols, Value, merged, value_of
from fxcore.graph import Graph
from fxcore.node import Node

MOST_INPUTS = 40
"""How many inputs are tried."""

MOST_NODES = 100_000
"""How many nodes are run in all, for all inputs and sizes."""

FACTOR, CHECK = 2, 3
"""How many times larger a size is in the run that varies only this size, and in the last run, which varies all."""

NAMES: Mapping[int, tuple[str, ...]] = {
    1: ("b",),
    2: ("b", "t"),
    3: ("b", "t", "c"),
    4: ("b", "c", "h", "w"),
    5: ("b", "c", "d", "h", "w"),
}
"""What the sizes of a tensor are called, by the number of its dimensions."""

MODULES_FOR_META = ("torch._meta_registrations", "torch.fx.experimental.symbolic_shapes")
"""The modules that torch imports for the first operation on the meta device; the import takes half a second."""

Run = dict[str, Value]
"""The values of one run by node name, except for values that depend on data."""


class NotRun(Exception):
    """The graph does not run on an input, or too many nodes have been run."""


@dataclass(frozen=True)
class NodeValues:
    """The values of a graph's nodes, as text."""

    input: str
    """The input that the values belong to, e.g. ``x: [2, 3, 224, 224]``."""
    symbols: Mapping[str, int]
    """The sizes of that input that may vary, by their names."""
    values: Mapping[str, tuple[Value, tuple[str, ...]]]
    """By node name: the value for the input, and its sizes as text."""


def values_of_nodes(
    graph: Graph,
    module: torch.nn.Module,
    forward: Callable[..., Any],
    inputs: Iterator[Input],
) -> NodeValues | None:
    """The nodes' values for the first of ``inputs`` on which the graph runs; None if the graph runs on none of them.

    ``module`` holds what the graph refers to, and is moved to the meta device; ``forward`` is what the graph was traced
    from. At most `MOST_NODES` nodes are run.
    """
    program = _Program(graph, module.to("meta"), inspect.signature(forward), iter(range(MOST_NODES)))
    for given in itertools.islice(inputs, MOST_INPUTS):
        try:
            given = _on_meta(given)
            base = program.run(given)
        except NotRun:
            continue
        return _varied(program, given, base)
    return None


def _varied(program: _Program, given: Input, base: Run) -> NodeValues:
    """The values of ``base`` with symbols for the sizes that may vary."""
    runs: dict[str, Run] = {}
    dims: dict[str, tuple[int, int]] = {}
    tensors = tensors_of([*given.args, *given.kwargs.values()])
    shape = tensors[0].shape if tensors else torch.Size()
    for dim, (name, size) in enumerate(zip(NAMES.get(len(shape), ()), shape, strict=False)):
        try:
            runs[name] = program.run(_resized(given, {dim: size}, FACTOR))
            dims[name] = dim, size
        except NotRun:
            continue
    try:
        together = program.run(_resized(given, dict(dims.values()), CHECK))
    except NotRun:  # each size may vary alone, but not all of them at once
        runs, dims, together = {}, {}, base
    symbols = Symbols({name: size for name, (_, size) in dims.items()}, FACTOR, CHECK)
    values = {
        node: merged(value, {name: run[node] for name, run in runs.items()}, together[node], symbols)
        for node, value in base.items()
        if node in together and all(node in run for run in runs.values())
    }
    return NodeValues(described(program.bound(given)), symbols.sizes, values)


@dataclass(frozen=True)
class _Program:
    """A graph that can be run."""

    graph: Graph
    module: torch.nn.Module
    signature: inspect.Signature
    left: Iterator[int]
    """Has an item for each node that may still be run."""

    def bound(self, given: Input) -> inspect.BoundArguments:
        """The arguments by parameter. Raises `NotRun` if they don't fit the signature."""
        try:
            return self.signature.bind(*given.args, **given.kwargs)
        except TypeError:
            raise NotRun from None

    def run(self, given: Input) -> Run:
        """The nodes' values for ``given``. Raises `NotRun`."""
        arguments = self.bound(given)
        arguments.apply_defaults()
        recorder = _Recorder(self.module, self.graph, self.left)
        try:
            with torch.no_grad(), torch.device("meta"):
                recorder.run(*arguments.args, *arguments.kwargs.values())
        except Exception:
            raise NotRun from None
        return recorder.values


class _Recorder(fxcore.Interpreter):
    """Records the nodes' values, and continues past nodes whose values depend on data."""

    def __init__(self, module: torch.nn.Module, graph: Graph, left: Iterator[int]) -> None:
        super().__init__(module, graph=graph)
        self.extra_traceback = False
        self.values: Run = {}
        self._left = left
        self._unknown: set[Node] = set()

    def run_node(self, n: Node) -> Any:
        """The node's value; None if it depends on data."""
        if next(self._left, None) is None:
            raise NotRun
        if not self._unknown.isdisjoint(n.all_input_nodes):
            self._unknown.add(n)
            return None
        try:
            value = super().run_node(n)
        except Exception as error:
            # On meta, tensors have no values: did the node fail because its operation needs them?
            if not isinstance(error, NotImplementedError) and "meta tensor" not in str(error):
                raise
            self._unknown.add(n)
            return None
        self.values[n.name] = value_of(value)
        return value

    def fetch_attr(self, target: str) -> Any:
        """The attribute, moved to the meta device: the program may have created constants on any device."""
        value = super().fetch_attr(target)
        return value.to("meta") if isinstance(value, torch.Tensor) else value


def _on_meta(given: Input) -> Input:
    move = partial(torch.Tensor.to, device="meta")
    return Input(map_tensors(move, given.args), map_tensors(move, dict(given.kwargs)))


def _resized(given: Input, sizes: Mapping[int, int], factor: int) -> Input:
    """A copy of ``given`` in which the dimensions listed in ``sizes`` (dimension -> size) are ``factor`` times larger.

    A dimension of a tensor is enlarged only if its size equals ``sizes[dimension]``.
    """

    def resized(tensor: torch.Tensor) -> torch.Tensor:
        shape = [size * factor if sizes.get(dim) == size else size for dim, size in enumerate(tensor.shape)]
        return torch.empty(shape, dtype=tensor.dtype, device="meta")

    return Input(map_tensors(resized, given.args), map_tensors(resized, dict(given.kwargs)))


def described(arguments: inspect.BoundArguments) -> str:
    """The arguments as text, e.g. ``x: [2, 3, 224, 224], mask: None``; the dtype ``float32`` is not shown."""
    parts = []
    for name, argument in arguments.arguments.items():
        value = value_of(argument)
        parts.append(f"{name}: {value.text(list(map(str, value.sizes)))}".removesuffix(" float32"))
    return ", ".join(parts)
