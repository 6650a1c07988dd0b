"""Record a fake tensor for each node, by running the graph on fake inputs: shapes and aliases without any data."""

from __future__ import annotations

from typing import Any, cast

import torch

from fxcore.graph_module import GraphModule
from fxcore.interpreter import Interpreter
from fxcore.node import Node, map_aggregate
from fxcore.torch_compat import FakeTensorMode, is_fake_tensor, reset_nested_tensor_ids

__all__ = ["FakeTensorProp"]

_NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)


class FakeTensorProp(Interpreter):
    """Runs a graph on fake tensors and records each node's value in ``meta["val"]``.

    Unlike ``ShapeProp``, this pass computes and stores no data, and the recorded fake tensors show which values share
    memory. In a tuple, list or dict, items that are neither tensors nor numbers are recorded as None.
    """

    def __init__(self, module: GraphModule, mode: FakeTensorMode | None = None) -> None:
        """Prepare to run a graph.

        Args:
            module: The module; its parameters and buffers remain real tensors.
            mode: The mode in which fake tensors are made and computed; by default a new mode.
        """
        super().__init__(module)
        self._mode = FakeTensorMode() if mode is None else mode
        self._mode.epoch += 1
        reset_nested_tensor_ids(self._mode)
        self.seen_subgraphs: set[str] = set()

    def run_node(self, n: Node) -> Any:
        """Execute a node on fake values, and record its result if that is a tensor, a number or a container.

        When ``invoke_subgraph`` calls a subgraph for the first time, values are also propagated through the subgraph.
        """
        is_new = _invokes_subgraph(n) and n.args[1] not in self.seen_subgraphs
        result = self._propagate_subgraph(n) if is_new else super().run_node(n)
        recorded = map_aggregate(result, self._snapshot)
        if recorded is not None:
            n.meta["val"] = recorded
        return result

    def propagate(self, *args: object) -> Any:
        """Run the graph on sample inputs, after converting real tensors among them to fake ones; return its result."""
        return self.propagate_dont_convert_inputs(
            *(self._mode.from_tensor(arg) if isinstance(arg, torch.Tensor) else arg for arg in args)
        )

    def propagate_dont_convert_inputs(self, *args: object) -> Any:
        """Run the graph on fake tensors of the same mode, and return its result."""
        with self._mode:
            return self.run(*args)

    def _propagate_subgraph(self, n: Node) -> Any:
        """Run the graph module that a call to ``invoke_subgraph`` refers to, on the recorded values of its operands."""
        subgraph, identifier, *operands = n.args
        self.seen_subgraphs.add(identifier)
        module = self.fetch_attr(cast(str, subgraph.target))
        return FakeTensorProp(module, mode=self._mode).propagate(*(operand.meta["val"] for operand in operands))

    def _snapshot(self, value: Any) -> Any:
        """What to record for a value: for a tensor, a detached fake one, which later in-place changes don't affect."""
        if isinstance(value, torch.Tensor):
            fake = value if is_fake_tensor(value) else self._mode.from_tensor(value, static_shapes=True)
            return fake.detach()
        return value if isinstance(value, _NUMBERS) else None


def _invokes_subgraph(n: Node) -> bool:
    # Looked up by name, because older versions of torch don't have the operator.
    return n.op == "call_function" and n.target is getattr(torch.ops.higher_order, "invoke_subgraph", None)
