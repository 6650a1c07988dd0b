"""Flatten the arguments of a call according to the structure that they had when the module was traced.

Generated code with a pytree signature refers to this module by the global name ``fx_pytree``, and calls its
`tree_flatten_spec`. Unlike `torch.utils._pytree.tree_flatten`, that function takes the structure from ``spec``: where
the spec has a leaf, the value counts as a leaf, even if it is a container.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import torch.return_types

from fxcore.torch_compat import children_of, torch_pytree

FlattenFnSpec = Callable[[Any, Any], list[Any]]
FlattenFnExactMatchSpec = Callable[[Any, Any], bool]
FlattenFuncSpec = FlattenFnSpec  # torch.fx's older names for the two types
FlattenFuncExactMatchSpec = FlattenFnExactMatchSpec

SUPPORTED_NODES: dict[Any, FlattenFnSpec] = {}
SUPPORTED_NODES_EXACT_MATCH: dict[Any, FlattenFnExactMatchSpec | None] = {}


def register_pytree_flatten_spec(
    cls: Any,
    flatten_fn_spec: FlattenFnSpec,
    flatten_fn_exact_match_spec: FlattenFnExactMatchSpec | None = None,
) -> None:
    """Register ``flatten_fn_spec(container, spec)``, which returns the children of a container of type ``cls``.

    ``flatten_fn_exact_match_spec`` is stored but not used.
    """
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _deregister_pytree_flatten_spec(cls: Any) -> None:
    del SUPPORTED_NODES[cls]
    del SUPPORTED_NODES_EXACT_MATCH[cls]


def tree_flatten_spec(pytree: Any, spec: Any) -> list[Any]:
    """The leaves of ``pytree``, from left to right, as ``spec`` (a ``torch.utils._pytree.TreeSpec``) divides it.

    Raises ``RuntimeError`` if ``spec`` contains a container of an unregistered type, and the corresponding part of
    ``pytree`` has a different structure.
    """
    if spec.is_leaf():
        return [pytree]
    children = SUPPORTED_NODES.get(spec.type)
    if children is not None:
        leaves: list[Any] = []
        for child, child_spec in zip(children(pytree, spec), children_of(spec), strict=False):
            leaves.extend(tree_flatten_spec(child, child_spec))
        return leaves
    leaves, found = torch_pytree.tree_flatten(pytree)
    if found != spec:
        raise RuntimeError(
            f"an argument has the structure {found}, but the module was traced for the structure {spec}: {pytree!r}"
        )
    return leaves


def _dict_flatten_spec(container: Any, spec: Any) -> list[Any]:
    return [container[key] for key in spec.context]


def _list_flatten_spec(container: Any, spec: Any) -> list[Any]:
    return [container[index] for index in range(spec.num_children)]


_tuple_flatten_spec = _namedtuple_flatten_spec = _list_flatten_spec


def _has_as_many(container: Any, spec: Any) -> bool:
    return len(container) == int(spec.num_children)


register_pytree_flatten_spec(dict, _dict_flatten_spec, _has_as_many)
for _sequence in (list, tuple, namedtuple, *torch.return_types.all_return_types):
    register_pytree_flatten_spec(_sequence, _list_flatten_spec, _has_as_many)
