"""Annotates the value of a node with a type while its graph is being traced.

Source: the interface and results are those of ``torch.fx.annotate``.
"""

from typing import TypeVar

from fxcore.proxy import Proxy

__all__ = ["annotate"]

_Value = TypeVar("_Value")


def annotate(val: _Value, type: object) -> _Value:
    """Return ``val``; if it is a proxy, set its node's type to ``type``, which may also be a `TensorType`.

    Raises:
        RuntimeError: the node has a type already.
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(f"{val.node} already has the type {val.node.type}")
        val.node.type = type
    return val
