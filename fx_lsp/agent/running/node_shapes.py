"""The values of a graph's nodes, for an input that was found, and for inputs that differ from it in some sizes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from fx_lsp.agent.running.meta_run import MetaProgram, MetaRun, NotRun, program_on_meta
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.running.plain_values import map_tensors, tensors_of
from fx_lsp.agent.running.symbolic_sizes import Symbols, Value, merged, value_of
from fxcore.graph import Graph
from fxcore.node import Node

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

Run = dict[str, Value]
"""The values of one run by node name, except for values that depend on data."""


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
) -> NodeValues:
    """The nodes' values for the first of ``inputs`` on which the graph runs.

    The other arguments are those of `program_on_meta`. Raises `NotRun` if the graph runs on none of the inputs.
    """
    program = program_on_meta(graph, module, forward)
    given, run = program.first_run(inputs, lambda: _ShapeRun(program))
    return _varied(program, given, run.values)


def _varied(program: MetaProgram, given: Input, base: Run) -> NodeValues:
    """The values of ``base`` with symbols for the sizes that may vary."""
    runs: dict[str, Run] = {}
    dims: dict[str, tuple[int, int]] = {}
    tensors = tensors_of([*given.args, *given.kwargs.values()])
    shape = tensors[0].shape if tensors else torch.Size()
    for dim, (name, size) in enumerate(zip(NAMES.get(len(shape), ()), shape, strict=False)):
        try:
            runs[name] = program.run(_resized(given, {dim: size}, FACTOR), _ShapeRun(program)).values
            dims[name] = dim, size
        except NotRun:
            continue
    try:
        together = program.run(_resized(given, dict(dims.values()), CHECK), _ShapeRun(program)).values
    except NotRun:  # each size may vary alone, but not all of them at once
        runs, dims, together = {}, {}, base
    symbols = Symbols({name: size for name, (_, size) in dims.items()}, FACTOR, CHECK)
    values = {
        node: merged(value, {name: run[node] for name, run in runs.items()}, together[node], symbols)
        for node, value in base.items()
        if node in together and all(node in run for run in runs.values())
    }
    return NodeValues(described(program.bound(given)), symbols.sizes, values)


class _ShapeRun(MetaRun):
    """Records the nodes' values."""

    def __init__(self, program: MetaProgram) -> None:
        super().__init__(program)
        self.values: Run = {}

    def record(self, node: Node, value: Any) -> None:
        """Keep the description of the value."""
        self.values[node.name] = value_of(value)


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
