"""Example values for symbols: what each node of a graph computes for one set of example inputs.

A trace that knows these values can determine which path the program really takes. The idea is that of concolic
execution (Godefroid, Klarlund and Sen, "DART", 2005): run the program on symbols and on values at the same time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch

from fxcore.explore.shape_rules import known_result
from fxcore.node import Node, map_arg
from fxcore.tracing.trace_session import outside_of_traces


class Unknown(Exception):
    """The value of a node can't be computed."""


class Shadows:
    """The values of one graph's nodes for ``examples``, which has a value for each placeholder's target.

    ``attribute`` returns the value at a dotted path below the root; these values are never written to. If ``on_meta``
    is set, all values are on the meta device, wherever the root's parameters are: they cost next to nothing, but have
    only shapes and dtypes. Values on the CPU are complete, but have to be computed in the program's order.
    """

    def __init__(self, examples: Mapping[str, Any], attribute: Callable[[str], Any], *, on_meta: bool = False) -> None:
        self._examples = examples
        self._attribute = attribute
        self._on_meta = on_meta
        self._values: dict[Node, Any] = {}
        self._unknown: set[Node] = set()
        self._twins: dict[torch.nn.Module, torch.nn.Module] = {}

    def __getitem__(self, node: Node) -> Any:
        """The value of ``node``. Raises `Unknown` if it can't be computed."""
        if node not in self._values:
            self.compute(node)
        if node in self._unknown:
            raise Unknown
        return self._values[node]

    def compute(self, node: Node) -> None:
        """Compute the value of ``node`` and the values that it is computed from, or note that this is impossible."""
        missing = {node}
        waiting = [node]
        while waiting:
            for source in waiting.pop().all_input_nodes:
                if source not in self._values and source not in self._unknown and source not in missing:
                    missing.add(source)
                    waiting.append(source)
        with torch.no_grad(), outside_of_traces():
            for current in sorted(missing):
                self._compute(current)

    def _compute(self, node: Node) -> None:
        if not self._unknown.isdisjoint(node.all_input_nodes):
            self._unknown.add(node)
            return
        try:
            args, kwargs = map_arg((node.args, node.kwargs), self._values.__getitem__)
            self._values[node] = self._run(node, args, kwargs)
        except Exception:  # whatever a function of the program raises on an example, there is no value
            self._unknown.add(node)

    def _run(self, node: Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target: Any = node.target
        if node.op == "placeholder":
            return self._examples[target] if target in self._examples else args[0]
        if node.op == "get_attr":
            return self._own(self._attribute(target))
        if node.op == "call_function":
            known = self._known(target, args, kwargs)
            return target(*args, **kwargs) if known is None else known
        if node.op == "call_method":
            known = self._known(getattr(type(args[0]), target, None), args, kwargs)
            return getattr(args[0], target)(*args[1:], **kwargs) if known is None else known
        module = self._attribute(target)
        known = self._known(module, args, kwargs)
        return self._twin(module)(*args, **kwargs) if known is None else known

    def _known(self, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor | None:
        return known_result(callee, args, kwargs) if self._on_meta else None

    def _twin(self, module: torch.nn.Module) -> torch.nn.Module:
        if module not in self._twins:
            self._twins[module] = self._runnable(module)
        return self._twins[module]

    def _own(self, value: Any) -> Any:
        """A value that the program may write to, in place of ``value``, which belongs to the root."""
        if not isinstance(value, torch.Tensor):
            return value
        return torch.empty_like(value, device="meta") if self._on_meta else value.detach().clone()

    def _runnable(self, module: torch.nn.Module) -> torch.nn.Module:
        """A module that may be run in place of one of the root's: the module itself if running it writes to nothing."""
        writes = module.training or not module.__module__.startswith("torch.nn.")
        if not self._on_meta:
            return copy.deepcopy(module) if writes else module
        if not module._modules:
            return self._with_own_tensors(module)
        if not module.__module__.startswith("torch.nn."):
            raise Unknown  # a copy costs more than a guess is worth
        tensors = [*module.parameters(), *module.buffers()]
        return copy.deepcopy(module, {id(tensor): self._own(tensor) for tensor in tensors})

    def _with_own_tensors(self, module: torch.nn.Module) -> torch.nn.Module:
        twin: torch.nn.Module = type(module).__new__(type(module))
        twin.__dict__.update(module.__dict__)
        for kind in ("_parameters", "_buffers"):
            twin.__dict__[kind] = {name: self._own(tensor) for name, tensor in module.__dict__[kind].items()}
        return twin
