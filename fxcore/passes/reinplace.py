"""Replaces operators of a functional graph with in-place variants where the difference can't be observed.

Source: the interface and results are those of ``torch.fx.passes.reinplace``.
"""

import operator
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
from fxcore.torch_compat import FakeTensorMode, FunctionSchema, OpOverload, has_internal_overlap, torch_pytree

__all__ = [
    "Aliases",
    "ViewType",
    "inplace_variant",
    "reinplace",
    "schema_of",
    "takes_tensor_first",
    "view_type",
]


class ViewType(Enum):
    """Whether an operator returns no view of its first operand, a single view, or several."""

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
    """Whether an operator's result is a view of its first operand's memory, or several views."""
    if not isinstance(target, OpOverload) or not schema_of(target).arguments:
        return ViewType.NONE
    alias: Any = schema_of(target).arguments[0].alias_info
    if alias is None or alias.is_write:
        return ViewType.NONE
    return ViewType.SEVERAL if "*" in alias.after_set else ViewType.SINGLE


def inplace_variant(target: object) -> OpOverload | None:
    """The overload, if any, that writes the same result to its first operand: ``add_.Tensor`` for ``add.Tensor``."""
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
    """The values of a graph's nodes, as fake tensors, and which nodes share memory.

    Args:
        gm: the module.
        sample_args: the module's positional arguments; inputs share memory if the tensors among these do.
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
        """The nodes whose values share memory with the node's value, including the node itself."""
        return set().union(*(self._sharing[storage] for storage in self._storages(node)))

    def join(self, node: Node, other: Node) -> None:
        """Record that the values of the two nodes share memory from now on."""
        together = self.sharing(node) | self.sharing(other)
        for storage in self._storages(node) | self._storages(other):
            self._sharing[storage] |= together


# Operators that put a part back into a tensor, mapped to the operators that return that part as a view.
_VIEW_OF_SCATTER: dict[Any, OpOverload] = {
    torch.ops.aten.diagonal_scatter.default: torch.ops.aten.diagonal.default,
    torch.ops.aten.select_scatter.default: torch.ops.aten.select.int,
    torch.ops.aten.slice_scatter.default: torch.ops.aten.slice.Tensor,
    torch.ops.aten.as_strided_scatter.default: torch.ops.aten.as_strided.default,
}

_maybe_get_inplace_op = inplace_variant


def _is_view_op(tgt: object) -> bool:
    """Whether a target is an operator that returns views of its first operand."""
    return view_type(tgt) is not ViewType.NONE


def reinplace(gm: GraphModule, *sample_args: Any) -> GraphModule:
    """Turn ``b = add(a, …)`` into ``b = add_(a, …)`` wherever the memory of ``a`` isn't used later.

    A ``select_scatter``, ``slice_scatter``, ``diagonal_scatter`` or ``as_strided_scatter`` that puts a part back into
    the tensor from which it was taken is removed if the part was written to in place; otherwise it becomes a ``copy_``
    into a view. The memory of inputs is never written to.

    Args:
        gm: a module whose graph only calls functional ATen operators (``torch.ops.aten.…``); it is changed.
        sample_args: the module's positional arguments; they determine the shapes, and which inputs share memory.

    Returns:
        The same module.
    """
    work = _Reinplacing(gm, sample_args)
    for node in gm.graph.nodes:
        if work.may_write(node):
            work.rewrite(node)
    for node in sorted(work.superseded, reverse=True):
        gm.graph.erase_node(node)
    gm.recompile()
    return gm


class _Reinplacing:
    """The state of the pass on one graph. ``superseded`` holds the nodes that have been replaced and can be erased."""

    def __init__(self, gm: GraphModule, sample_args: tuple[Any, ...]) -> None:
        self.graph = gm.graph
        self.aliases = Aliases(gm, sample_args)
        self.superseded: set[Node] = set()
        self.of_inputs: set[Node] = set()
        for node in gm.graph.nodes:
            if node.op == "placeholder":
                self.of_inputs |= self.aliases.sharing(node)

    def may_write(self, node: Node) -> bool:
        """Whether the operator's result fits in its first operand's memory, and that memory may be written to."""
        if node.op != "call_function" or not takes_tensor_first(node.target):
            return False
        target = node.args[0]
        if not isinstance(target, Node) or node.args.count(target) > 1:
            return False
        return self._same_memory(target, node) and target not in self.of_inputs

    def _same_memory(self, target: Node, node: Node) -> bool:
        before, after = self.aliases.tensors(target), self.aliases.tensors(node)
        if len(before) != len(after) or node.target == torch.ops.aten.resize.default:
            return True
        return all(
            old.numel() == new.numel() and old.dtype == new.dtype and not has_internal_overlap(old)
            for old, new in zip(before, after, strict=True)
        )

    def rewrite(self, node: Node) -> None:
        """Have one operator write to its first operand, unless other operands share that memory or it is used later."""
        target: Node = node.args[0]
        shared = self.aliases.sharing(target)
        if not shared.isdisjoint(used for used in node.all_input_nodes if used is not target):
            return  # the operator reads the memory through another operand, too
        later = self._later_uses(shared, node)
        undone: list[Node] = []
        for user in sorted(later):
            if self._puts_back(user, shared, {node, *undone}):
                undone.append(user)
        if len(undone) < len(later):
            return
        if node.target in _VIEW_OF_SCATTER and node not in self.superseded:
            self._copy_into_view(node)
        else:
            variant = inplace_variant(node.target)
            if variant is None:
                return
            node.target = variant
        self.aliases.join(target, node)
        self.superseded.update(undone)
        for old in (node, *undone):
            self._use_operand_instead(old, node)

    def _later_uses(self, shared: set[Node], node: Node) -> set[Node]:
        """The nodes after ``node`` that use one of the ``shared`` nodes; taking another view doesn't count as a use."""
        return {
            user for each in shared for user in each.users if node < user and not (user in shared and _is_view(user))
        }

    def _puts_back(self, scatter: Node, shared: set[Node], written: set[Node]) -> bool:
        """Whether ``scatter`` puts a ``written`` value back to where a view in ``shared`` was taken from."""
        take = _VIEW_OF_SCATTER.get(scatter.target)
        if take is None or scatter.args[1] not in written:
            return False
        (base,) = self.aliases.tensors(scatter.args[0])
        for view in shared:
            origin = self._origin(view)
            if origin is None:
                continue
            (whole,) = self.aliases.tensors(origin)
            try:
                part = take(whole, *scatter.args[2:], **scatter.kwargs)
            except Exception:  # the arguments don't fit this view
                continue
            (given,) = self.aliases.tensors(view)
            if _layout(whole) == _layout(base) and _layout(part) == _layout(given):
                return True
        return False

    @staticmethod
    def _origin(view: Node) -> Node | None:
        """The node that ``view`` is a view of, directly or as an item of a list of views; None if it isn't a view."""
        if view.target is operator.getitem:
            source = view.args[0]
            is_list = isinstance(source, Node) and view_type(source.target) is ViewType.SEVERAL
            return source.args[0] if is_list else None
        if view_type(view.target) is not ViewType.SINGLE or not isinstance(view.args[0], Node):
            return None
        return view.args[0]

    def _copy_into_view(self, scatter: Node) -> None:
        """Replace ``scatter`` with an operation that copies the part into a view of the whole tensor."""
        whole, part, *arguments = scatter.args
        with self.graph.inserting_before(scatter):
            view = self.graph.call_function(_VIEW_OF_SCATTER[scatter.target], (whole, *arguments), dict(scatter.kwargs))
            self.graph.call_function(torch.ops.aten.copy_.default, (view, part))
        self.superseded.add(scatter)

    def _use_operand_instead(self, old: Node, node: Node) -> None:
        """Have the nodes after ``node`` use the first operand of ``old``, which by then holds the value of ``old``."""
        new: Node = old.args[0]
        for user in [user for user in old.users if node < user]:
            user.replace_input_with(old, new)
            if user in self.aliases.sharing(old):
                self.aliases.join(user, new)


def _is_view(node: Node) -> bool:
    return isinstance(node.target, OpOverload) or node.target is operator.getitem


def _layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.size(), tensor.stride(), tensor.storage_offset()
