"""Runs a graph, or a program with its weights, on the meta device, on inputs that it may or may not accept.

Nothing is computed there, so a large model takes as long as a small model with as many nodes.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import torch

import fxcore
from fx_lsp.agent.running.meta_convolutions import CountedChannels
from fx_lsp.agent.running.observation import Input, modules_of, weights_of
from fx_lsp.agent.running.plain_values import map_tensors
from fx_lsp.agent.traceback_steps import describe
from fxcore.graph import Graph
from fxcore.node import Node

MOST_INPUTS = 40
"""How many inputs are tried."""

MOST_NODES = 100_000
"""How many nodes are run in all, for all inputs and sizes."""

MANY_WEIGHTS = 5_000_000
"""From so many weights on, it takes long to run a model as it is."""

MODULES_FOR_META = ("torch._meta_registrations", "torch.fx.experimental.symbolic_shapes")
"""The modules that torch imports for the first operation on the meta device; the import takes half a second."""


class NotRun(Exception):
    """The graph does not run on an input, or too many nodes have been run. The text says why, as part of a sentence."""


@dataclass(frozen=True)
class MetaProgram:
    """A graph that can be run on the meta device. `program_on_meta` makes one."""

    graph: Graph
    module: torch.nn.Module
    """Holds what the graph refers to, on the meta device."""
    signature: inspect.Signature
    left: Iterator[int]
    """Has an item for each node that may still be run."""

    def bound(self, given: Input) -> inspect.BoundArguments:
        """The arguments by parameter. Raises `NotRun` if they don't fit the signature."""
        try:
            return self.signature.bind(*given.args, **given.kwargs)
        except TypeError as error:
            raise _refused(error) from None

    def run(self, given: Input, run: _Run) -> _Run:
        """Do ``run`` on ``given``, and return it. Raises `NotRun`."""
        arguments = self.bound(given)
        arguments.apply_defaults()
        try:
            with torch.no_grad(), torch.device("meta"):
                run.run(*arguments.args, *arguments.kwargs.values())
        except NotRun:
            raise
        except Exception as error:
            raise _refused(error) from None
        return run

    def first_run(self, inputs: Iterator[Input], begin: Callable[[], _Run]) -> tuple[Input, _Run]:
        """The first of ``inputs`` on which the graph runs, on the meta device, and that run.

        Raises `NotRun` if there is none; the text is about the last one.
        """
        refusal = NotRun("there is no input to try")
        for given in itertools.islice(inputs, MOST_INPUTS):
            try:
                given = _on_meta(given)
                # The program may change the shape of what it gets, e.g. by `x.unsqueeze_(0)`.
                return given, self.run(_mapped(torch.Tensor.clone, given), begin())
            except NotRun as error:
                refusal = error
        raise refusal


def program_on_meta(graph: Graph, module: torch.nn.Module, forward: Callable[..., Any]) -> MetaProgram:
    """Move ``module``, which holds what ``graph`` refers to, to the meta device, to run the graph there.

    ``forward`` is what the graph was traced from. At most `MOST_NODES` nodes are run.
    """
    return MetaProgram(graph, _moved_to_meta(module), inspect.signature(forward), iter(range(MOST_NODES)))


class MetaRun(fxcore.Interpreter):
    """One run of a program, which continues past nodes whose values depend on data."""

    def __init__(self, program: MetaProgram) -> None:
        super().__init__(program.module, graph=program.graph)
        self.extra_traceback = False
        self.unknown: set[Node] = set()
        """The nodes whose values are not known: torch needs data for them, or has no implementation for meta."""
        self._left = program.left

    def record(self, node: Node, value: Any) -> None:
        """Called with each node whose value is known."""

    def run_node(self, n: Node) -> Any:
        """The node's value; None if it is unknown."""
        if next(self._left, None) is None:
            raise NotRun("its graph has too many nodes")
        if not self.unknown.isdisjoint(n.all_input_nodes):
            self.unknown.add(n)
            return None
        try:
            value = super().run_node(n)
        except Exception as error:
            # On meta, tensors have no values: did the node fail because its operation needs them?
            if not isinstance(error, NotImplementedError) and "meta tensor" not in str(error):
                raise _refused(error, f", at `{n.name}`") from None
            self.unknown.add(n)
            return None
        self.record(n, value)
        return value

    def fetch_attr(self, target: str) -> Any:
        """The attribute, moved to the meta device: the program may have created constants on any device."""
        value = super().fetch_attr(target)
        return value.to("meta") if isinstance(value, torch.Tensor) else value


_Run = TypeVar("_Run", bound=MetaRun)


def _refused(error: Exception, where: str = "") -> NotRun:
    return NotRun(f"the model does not accept it{where}: {describe(error)}")


def _moved_to_meta(module: torch.nn.Module) -> torch.nn.Module:
    """The module on the meta device. Parameters and buffers that were shared still are, as `Module.to` doesn't keep."""
    holders: dict[int, list[tuple[torch.nn.Module, str]]] = {}
    for holder in module.modules():
        for name, tensor in (*holder.named_parameters(recurse=False), *holder.named_buffers(recurse=False)):
            holders.setdefault(id(tensor), []).append((holder, name))
    moved = module.to("meta")
    for (first, name), *others in holders.values():
        for holder, other in others:
            setattr(holder, other, getattr(first, name))
    return moved


def _on_meta(given: Input) -> Input:
    return _mapped(partial(torch.Tensor.to, device="meta"), given)


def _mapped(change: Callable[[torch.Tensor], torch.Tensor], given: Input) -> Input:
    return Input(map_tensors(change, given.args), map_tensors(change, dict(given.kwargs)))


def is_large(root: Callable[..., Any]) -> bool:
    """Whether ``root`` has so many weights that it should not be run often."""
    return sum(weight.numel() for weight in weights_of(root)) >= MANY_WEIGHTS


def to_meta(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor without values that is otherwise the same."""
    return tensor.detach().to("meta").requires_grad_(tensor.requires_grad)


class MetaWeights:
    """The weights and buffers of a program without their values."""

    def __init__(self, root: Callable[..., Any]) -> None:
        attributes = list(map(vars, modules_of(root)))
        held = [value for own in attributes for value in own.values() if type(value) in (dict, list, set)]
        self._state: list[Any] = [*attributes, *held]
        """What a run may change: the attributes of modules, and the containers in these, most of them empty."""
        self._stores: list[dict[str, Any]] = [own[kind] for own in attributes for kind in ("_parameters", "_buffers")]
        self._on_meta = [
            {name: None if weight is None else to_meta(weight) for name, weight in store.items()}
            for store in self._stores
        ]

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Within the block, the program has these weights, and new tensors have no values either.

        Afterwards, its modules have the attributes that they had before, so that they keep none of these tensors.
        """
        before = [one.copy() if one else () for one in self._state]
        try:
            for store, weights in zip(self._stores, self._on_meta, strict=True):
                store.update(weights)
            with torch.device("meta"), CountedChannels():
                yield
        finally:
            for one, contents in zip(self._state, before, strict=True):
                if not (one or contents):
                    continue
                one.clear()
                one.extend(contents) if isinstance(one, list) else one.update(contents)
