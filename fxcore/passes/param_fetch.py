"""Copy the attributes that a backend needs from common leaf modules to the nodes that call these modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import nn

from fxcore.graph_module import GraphModule

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]


def default_matching(name: str, target_version: int) -> str:
    """The name of an attribute in another version of its module class; this default returns ``name`` itself."""
    return name


# For each module class: the newest version of its state that this table supports, the attributes to copy, and a
# function that returns an attribute's name in another version.
module_fetch_book: dict[type, tuple[int, list[str], Callable[[str, int], str]]] = {
    nn.Linear: (1, ["weight", "bias"], default_matching),
    nn.Conv2d: (
        1,
        ["weight", "bias", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"],
        default_matching,
    ),
    nn.BatchNorm2d: (2, ["weight", "bias", "running_mean", "running_var", "eps"], default_matching),
    nn.AdaptiveAvgPool2d: (1, [], default_matching),
    nn.MaxPool2d: (
        1,
        ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"],
        default_matching,
    ),
    nn.ReLU: (1, ["inplace"], default_matching),
}


def extract_attrs_for_lowering(mod: nn.Module) -> dict[str, Any]:
    """Collect the attributes of a module that ``module_fetch_book`` lists for its class.

    Args:
        mod: The module. Its exact class must be in the table; a base class isn't enough.

    Returns:
        The attributes by name, and the full name of the class as ``name``.

    Raises:
        RuntimeError: The class is not in the table, or its version is newer than the table supports.
    """
    kind = torch.typename(mod)
    if type(mod) not in module_fetch_book:
        raise RuntimeError(f"{kind} is not in module_fetch_book")
    version, names, matching = module_fetch_book[type(mod)]
    if version < mod._version:
        raise RuntimeError(f"module_fetch_book knows {kind} up to version {version}, not version {mod._version}")
    return {"name": kind} | {name: getattr(mod, matching(name, mod._version)) for name in names}


def lift_lowering_attrs_to_nodes(fx_module: GraphModule) -> None:
    """Set ``attrs_for_lowering`` on every node that calls a leaf module, including nodes within called graph modules.

    Raises:
        RuntimeError: A leaf module's class is not in ``module_fetch_book``, or its version is newer than the book
            supports.
    """
    for node in fx_module.graph.nodes:
        if node.op != "call_module":
            continue
        submodule = fx_module.get_submodule(cast(str, node.target))
        if isinstance(submodule, GraphModule):
            lift_lowering_attrs_to_nodes(submodule)
        else:
            node.attrs_for_lowering = extract_attrs_for_lowering(submodule)  # type: ignore[attr-defined]
