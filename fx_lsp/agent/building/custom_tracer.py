"""The tracer to use, which follows the file's own tracer if the file has one."""

from __future__ import annotations

from typing import Any

import torch.fx

import fxcore


def tracer_for(own: object, leaves: tuple[type, ...] = ()) -> fxcore.Tracer:
    """The tracer to use for a file with the tracer ``own`` (or its class, or None); instances of ``leaves`` are leaves.

    If ``own`` is a tracer of torch.fx, only its ``is_leaf_module`` is used: its other hooks create torch.fx's nodes.
    """
    tracer = own() if isinstance(own, type) else own
    follower = tracer if isinstance(tracer, fxcore.Tracer) else fxcore.Tracer()
    asked = tracer if isinstance(tracer, torch.fx.Tracer) else follower
    if asked is not follower or leaves:
        follower.is_leaf_module = _with(leaves, asked.is_leaf_module)  # type: ignore[method-assign]
    return follower


def _with(leaves: tuple[type, ...], is_leaf_module: Any) -> Any:
    return lambda m, module_qualified_name: isinstance(m, leaves) or is_leaf_module(m, module_qualified_name)
