"""Which of ATen's operators give views or write to their operands, and which values of a graph share memory."""

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any, cast

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from fxcore import torch_compat
from fxcore.graph_module import GraphModule
from fxcore.interpreter import Interpreter
from fxcore.node import Node
from fxcore.torch_compat import FakeTensorMode, FunctionSchema, OpOverload, torch_pytree

__all__ = ["Aliases", "ViewType", "inplace_variant", "schema_of", "takes_tensor_first", "view_type"]


class ViewType(Enum):
    """Whether an operator gives a view of its first operand, or several."""

    NONE = 0
    SINGLE = 1
    SEVERAL = 2


def schema_of(target: OpOverload) -> FunctionSchema:
    """The schema of one overload of an operator."""
    (schema,) = cast(list[FunctionSchema], torch_compat.schemas_of(target))
    return schema


def takes_tensor_first(target: object) -> bool:
    """Whether the target is an overload of an operator whose first operand is a tensor."""
    if not isinstance(target, OpOverload):
        return False
    arguments = schema_of(target).arguments
    return bool(arguments) and str(arguments[0].type) == "Tensor"


def view_type(target: object) -> ViewType:
    """What an operator's result has to do with its first operand's memory."""
    if not isinstance(target, OpOverload) or not schema_of(target).arguments:
        return ViewType.NONE
    alias: Any = schema_of(target).arguments[0].alias_info
    if alias is None or alias.is_write:
        return ViewType.NONE
    return ViewType.SEVERAL if "*" in alias.after_set else ViewType.SINGLE


def inplace_variant(target: object) -> OpOverload | None:
    """The overload that does the same, but writes to its first operand: ``add_.Tensor`` for ``add.Tensor``."""
    if not isinstance(target, OpOverload) or view_type(target) is not ViewType.NONE:
        return None
    functional = schema_of(target)
    namespace, _, name = functional.name.partition("::")
    packet: Any = getattr(getattr(torch.ops, namespace), f"{name}_", None)
    if packet is None:
        return None
    for overload in torch_compat.overloads_of(packet):
        schema = schema_of(overload)
        first: Any = schema.arguments[0].alias_info
        types = [argument.type for argument in schema.arguments]
        writes_first_only = (first is not None and first.is_write) and all(
            argument.alias_info is None for argument in schema.arguments[1:]
        )
        if writes_first_only and types == [argument.type for argument in functional.arguments]:
            return cast(OpOverload, overload)
    return None


class _Values(Interpreter):
    """Runs a graph on fake tensors and keeps every value."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.values: dict[Node, Any] = {}

    def run_node(self, n: Node) -> Any:
        self.values[n] = super().run_node(n)
        return self.values[n]


class Aliases:
    """The values of a graph, as fake tensors, and which nodes share memory.

    Args:
        gm: the module.
        sample_args: its positional arguments; tensors among them tell which inputs share memory.
    """

    def __init__(self, gm: GraphModule, sample_args: Iterable[Any]) -> None:
        runner = _Values(gm)
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            runner.run(*(mode.from_tensor(each) if isinstance(each, torch.Tensor) else each for each in sample_args))
        self.values = runner.values
        self._sharing: dict[StorageWeakRef, set[Node]] = defaultdict(set)
        for node in self.values:
            for storage in self._storages(node):
                self._sharing[storage].add(node)

    def tensors(self, node: Node) -> list[torch.Tensor]:
        """The tensors in the node's value."""
        leaves = torch_pytree.tree_leaves(self.values.get(node))
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def _storages(self, node: Node) -> set[StorageWeakRef]:
        return {StorageWeakRef(tensor.untyped_storage()) for tensor in self.tensors(node)}  # type: ignore[no-untyped-call]

    def sharing(self, node: Node) -> set[Node]:
        """The nodes whose values share memory with the node's, itself among them."""
        return set().union(*(self._sharing[storage] for storage in self._storages(node)))

    def join(self, node: Node, other: Node) -> None:
        """From now on the values of the two nodes share memory."""
        together = self.sharing(node) | self.sharing(other)
        for storage in self._storages(node) | self._storages(other):
            self._sharing[storage] |= together
