"""Decides which nodes a backend can run."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from fxcore.node import Node
from fxcore.passes.shape_prop import TensorMetadata
from fxcore.passes.tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = [
    "OpSupports",
    "OperatorSupport",
    "OperatorSupportBase",
    "any_chain",
    "chain",
    "create_op_support",
]

# The name of what a node calls, as ``get_node_target`` returns it.
TargetTypeName = str

# The dtypes that an operation accepts in each positional argument, and in keyword arguments by name; None means any.
SupportedArgumentDTypes = (
    tuple[Sequence[Sequence[torch.dtype] | None], Mapping[str, Sequence[torch.dtype] | None]] | None
)

SupportDict = Mapping[TargetTypeName, SupportedArgumentDTypes]

Submodules = Mapping[str, torch.nn.Module]

IsNodeSupported = Callable[[Submodules, Node], bool]


class OperatorSupportBase(abc.ABC):
    """Decides whether a backend can run a node."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Submodules, node: Node) -> bool:
        """Whether the backend can run ``node``, given the submodules by qualified name."""


class OperatorSupport(OperatorSupportBase):
    """Supports the operations in a table, if their arguments have the dtypes that the table allows.

    The table maps the name of an operation (see ``get_node_target``) to None, which allows any dtypes, or to a pair:
    the dtypes allowed in each positional argument, and those in keyword arguments by name. Arguments whose entry is
    None or missing, and arguments that aren't nodes, are not checked. Nodes that don't call anything are supported.
    """

    _support_dict: SupportDict

    def __init__(self, support_dict: SupportDict | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Submodules, node: Node) -> bool:
        """Whether the table has the operation and allows the dtypes that ``ShapeProp`` recorded for its arguments."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        allowed = self._support_dict[target]
        if allowed is None:
            return True
        positional, by_name = allowed
        pairs = [*zip(node.args, positional, strict=False)]
        pairs += [(node.kwargs[name], dtypes) for name, dtypes in by_name.items() if name in node.kwargs]
        return all(
            _get_arg_dtype(argument) in dtypes
            for argument, dtypes in pairs
            if dtypes is not None and isinstance(argument, Node)
        )


class _FunctionalOperatorSupport(OperatorSupportBase):
    """Decides by calling a function."""

    def __init__(self, is_node_supported: IsNodeSupported) -> None:
        self._is_node_supported = is_node_supported

    def is_node_supported(self, submodules: Submodules, node: Node) -> bool:
        return self._is_node_supported(submodules, node)


def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """Make an operator support from a function ``(submodules, node) -> bool``."""
    return _FunctionalOperatorSupport(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Make an operator support that supports a node if all of ``op_support`` do; these are tried in order."""
    return create_op_support(lambda submodules, node: all(_ask(op_support, submodules, node)))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Make an operator support that supports a node if any of ``op_support`` does; these are tried in order."""
    return create_op_support(lambda submodules, node: any(_ask(op_support, submodules, node)))


class OpSupports:
    """Makes simple operator supports, to be combined by ``chain`` and ``any_chain``."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: torch.dtype) -> OperatorSupportBase:
        """Make an operator support that supports a node unless it has an input of this dtype."""
        return create_op_support(
            lambda submodules, node: all(_get_arg_dtype(used) != dtype for used in node.all_input_nodes)
        )

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Make an operator support that supports a node unless its name is in ``disallow_set``."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)


def _ask(supports: Iterable[OperatorSupportBase], submodules: Submodules, node: Node) -> Iterable[bool]:
    return (support.is_node_supported(submodules, node) for support in supports)


def _get_arg_dtype(arg: Node) -> Any:
    """The dtype of a node's value as ``ShapeProp`` recorded it; the value's type if it isn't a single tensor.

    Raises:
        KeyError: Nothing has been recorded for the node.
    """
    metadata = arg.meta.get("tensor_meta")
    return metadata.dtype if isinstance(metadata, TensorMetadata) else arg.meta["type"]
