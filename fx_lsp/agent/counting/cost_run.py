"""Counts what a traced program costs, by running its graph once on the meta device."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from fx_lsp.agent.building.build import Built
from fx_lsp.agent.counting.live_memory import LiveMemory
from fx_lsp.agent.counting.module_tensors import OwnTensors, tensors_by_module
from fx_lsp.agent.counting.operator_counts import OperatorCounts
from fx_lsp.agent.inventing.invented_values import InventedModule
from fx_lsp.agent.messages import Costs, ModuleCosts, NodeCosts
from fx_lsp.agent.running.meta_run import MetaProgram, MetaRun, program_on_meta
from fx_lsp.agent.running.node_shapes import described
from fx_lsp.agent.running.observation import Input, forward_of
from fx_lsp.agent.running.plain_values import tensors_of
from fxcore.graph import Graph
from fxcore.node import Node
from fxcore.source.bytecode import is_in_place_operator

NO_INPUT = "fx-lsp found no example input that the model accepts"
NO_SHAPE = "some of its parameters get their shapes only when the model is called"
INVENTED = "it contains a module that fx-lsp invented"


def costs_of(request: int, target: str, built: Built, graph: Graph, inputs: Iterator[Input]) -> Costs:
    """What a program costs whose graph is ``graph``, for the first of ``inputs`` that it runs on, as its shapes are.

    The module that was built is moved to the meta device.
    """
    root: torch.nn.Module = built.tracer.root
    if any(isinstance(module, InventedModule) for module in root.modules()):
        return Costs(request, target, reason=INVENTED)
    try:
        tensors = tensors_by_module(root)  # before the move to the meta device, which may separate shared parameters
    except ValueError:
        return Costs(request, target, reason=NO_SHAPE)
    try:
        given, counted = _run(graph, built, inputs)
    except Exception:  # finding inputs runs the user's code, and not every module can be moved to meta
        return Costs(request, target, tuple(_module(path, own, None) for path, own in tensors.items()), reason=NO_INPUT)
    return Costs(
        request,
        target,
        tuple(_module(path, own, counted) for path, own in tensors.items()),
        tuple(counted.nodes),
        given,
        counted.operators.uncounted,
        tuple(node.name for node in graph.nodes if node in counted.unknown),
    )


def _run(graph: Graph, built: Built, inputs: Iterator[Input]) -> tuple[str, _CostRun]:
    """The input as text, and the run that counted. Raises `NotRun` if the graph runs on none of ``inputs``."""
    program = program_on_meta(graph, built.tracer.root, forward_of(built.root))
    # Without counting, so that the input is the one that the shapes are for.
    given, _ = program.first_run(inputs, lambda: MetaRun(program))
    shown = described(program.bound(given))
    program.module.requires_grad_(False)  # torch's counter follows gradients, which fails for views made without them
    run = _CostRun(program, given)
    with run.counting():
        program.run(given, run)
    return shown, run


def _module(path: str, own: OwnTensors, run: _CostRun | None) -> ModuleCosts:
    """The costs of one module; what is done within a module that was not called is not known."""
    flops, activations, peak = run.of_module(path) if run else (None, None, None)
    return ModuleCosts(path, own.type, own.parameters, own.trainable, own.buffers, flops, activations, peak)


class _CostRun(MetaRun):
    """Counts while the graph runs."""

    def __init__(self, program: MetaProgram, given: Input) -> None:
        super().__init__(program)
        self.operators = OperatorCounts()
        self.nodes: list[NodeCosts] = []
        state = [*program.module.parameters(), *program.module.buffers()]
        self._memory = LiveMemory([*state, *tensors_of([*given.args, *given.kwargs.values()])])
        self._flops: dict[str, int] = {}
        self._activations = {"": 0}
        self._peaks = {"": 0}
        self._called = {path for node in program.graph.nodes for path in _modules_of(node)}
        self._running: list[frozenset[str]] = [frozenset(("",))]
        """The paths of the modules that are running, with containers (see `_with_containers`); once more for each
        module within a node."""
        self._flops_before = 0
        self._is_in_place = False
        """Whether the node that is run was recorded for an operator such as ``+=``."""
        self._used_up: list[Node] = []
        """What nothing needs after the node that was run last."""

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Within the block, the run counts."""
        with ExitStack() as stack:
            for node in self.graph.nodes:
                if node.op == "call_module":
                    path = str(node.target)
                    for inner, module in self.submodules[path].named_modules():
                        if inner:
                            self._follow(stack, path, inner, module)
            stack.enter_context(self.operators.counting())
            yield

    def of_module(self, path: str) -> tuple[int | None, int | None, int | None]:
        """The FLOPs, the bytes of activations and their peak; None for what is not known."""
        return self._flops.get(path), self._activations.get(path), self._peaks.get(path)

    def run_node(self, n: Node) -> Any:
        """The node's value, and what it costs."""
        for used_up in self._used_up:
            self._memory.drop(used_up)
        self._used_up = [*self.user_to_last_uses.get(n, ()), *(() if n.users else (n,))]
        self._running = [self._with_containers(_modules_of(n))]
        self._is_in_place = _is_in_place(n)
        before = self.operators.flops
        try:
            value = super().run_node(n)
        finally:
            self._settle()
        if n.op.startswith("call_") and n not in self.unknown:
            self.nodes.append(NodeCosts(n.name, self.operators.flops - before, self._keep(n, value)))
        return value

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returns, with the memory that it takes on real devices.

        The graph has ``x = x + y`` for ``x += y``, which takes no memory of its own.
        """
        in_place = getattr(operator, f"i{target.__name__.strip('_')}", None) if self._is_in_place else None
        result = super().call_function(in_place or target, args, kwargs)
        return _laid_out(result) if target is torch.nn.functional.scaled_dot_product_attention else result

    def record(self, node: Node, value: Any) -> None:
        """Don't count the memory of what the graph reads from the module."""
        if node.op == "get_attr":
            self._memory.own(tensors_of([value]))

    def _keep(self, node: Node, value: Any) -> int:
        """Keep the node's value; the bytes that it takes."""
        new = self._memory.keep(node, tensors_of([value]))
        for path in self._running[0]:
            self._activations[path] = self._activations.get(path, 0) + new
            self._peaks[path] = max(self._peaks.get(path, 0), self._memory.bytes)
        return new

    def _settle(self) -> None:
        """Add what was counted since the last call to the modules that are running."""
        flops = self.operators.flops
        for path in self._running[-1]:
            self._flops[path] = self._flops.get(path, 0) + flops - self._flops_before
        self._flops_before = flops

    def _with_containers(self, paths: set[str]) -> frozenset[str]:
        """``paths``, the root, and the modules that contain these but are never called, such as a `ModuleList`.

        A module that is called has only what runs during its calls: another module may also call its submodules.
        """
        containers = {above for path in paths for above in _prefixes(path) if above not in self._called}
        return frozenset({"", *paths, *containers})

    def _follow(self, stack: ExitStack, path: str, inner: str, module: torch.nn.Module) -> None:
        """Until ``stack`` is closed, follow the calls of ``module``, which is ``inner`` in the module at ``path``.

        The latter is called by a node of the graph.
        """
        within = {f"{path}.{above}" for above in _prefixes(inner)}

        def begin(module: torch.nn.Module, args: Any) -> None:
            self._settle()
            self._running.append(self._running[-1] | within)

        def end(module: torch.nn.Module, args: Any, result: Any) -> None:
            self._settle()
            self._running.pop()

        for handle in (
            module.register_forward_pre_hook(begin),
            module.register_forward_hook(end, always_call=True),
        ):
            stack.callback(handle.remove)


def _laid_out(attention: torch.Tensor) -> torch.Tensor:
    """Attention as torch's fused kernels lay it out: heads vary after positions, so merging the heads is a view."""
    if attention.dim() != 4:
        return attention
    batch, heads, positions, width = attention.shape
    # Not made from `attention`, since that would count as another operator of the program.
    memory = torch.empty(batch, positions, heads, width, dtype=attention.dtype, device=attention.device)
    return memory.transpose(1, 2)


def _is_in_place(node: Node) -> bool:
    """Whether a node was recorded for an operator such as ``+=``."""
    is_operator = node.op == "call_function" and getattr(node.target, "__module__", "") == operator.add.__module__
    return is_operator and node.where is not None and is_in_place_operator(*node.where)


def _modules_of(node: Node) -> set[str]:
    """The paths of the modules in whose calls the node was recorded, and of the one that it calls."""
    paths = {str(path) for path, _ in node.meta.get("nn_module_stack", {}).values()}
    return paths | {str(node.target)} if node.op == "call_module" else paths


def _prefixes(path: str) -> Iterator[str]:
    """``path``, and the paths of the modules that contain it, except for the root's."""
    atoms = path.split(".")
    return (".".join(atoms[:depth]) for depth in range(1, len(atoms) + 1))
