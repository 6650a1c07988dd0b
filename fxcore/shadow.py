"""Example values beside the symbols: what each node of a graph computes for one set of example inputs.

A trace that knows them can tell which way the program really goes. The idea is concolic execution's (Godefroid,
Klarlund and Sen, "DART", 2005): run the program on symbols and on values at the same time.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch

from fxcore.node import Node, map_arg
from fxcore.session import outside_of_traces


class Unknown(Exception):
    """A node's value can't be told: something that it is computed from has none."""


class Shadows:
    """The values of one graph's nodes, for ``examples``: a value for each placeholder's target.

    ``attribute`` gives the value of a dotted path below the root. Examples on the meta device cost next to nothing and
    tell shapes and dtypes; on the CPU they tell everything.
    """

    def __init__(self, examples: Mapping[str, Any], attribute: Callable[[str], Any]) -> None:
        self._examples = examples
        self._attribute = attribute
        self._values: dict[Node, Any] = {}
        self._copies: dict[int, torch.nn.Module] = {}

    def __getitem__(self, node: Node) -> Any:
        """The value of ``node``. Raises `Unknown` where it can't be told."""
        try:
            return self._values[node]
        except KeyError:
            raise Unknown from None

    def compute(self, node: Node) -> None:
        """Compute the value of ``node``, which was just made, unless it can't be told."""
        # Whatever the program's functions raise on an example means no more than that there is no value.
        with contextlib.suppress(Exception), torch.no_grad(), outside_of_traces():
            args, kwargs = map_arg((node.args, node.kwargs), self.__getitem__)
            self._values[node] = self._run(node, args, kwargs)

    def _run(self, node: Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target: Any = node.target
        if node.op == "placeholder":
            return self._examples[target] if target in self._examples else args[0]
        if node.op == "get_attr":
            return self._attribute(target)
        if node.op == "call_function":
            return target(*args, **kwargs)
        if node.op == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        return self._runnable(self._attribute(target))(*args, **kwargs)

    def _runnable(self, module: torch.nn.Module) -> torch.nn.Module:
        """The module itself, or a copy where running it would write to it (running averages)."""
        if not module.training or next(module.buffers(), None) is None:
            return module
        if id(module) not in self._copies:
            self._copies[id(module)] = copy.deepcopy(module)
        return self._copies[id(module)]
