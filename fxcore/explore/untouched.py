"""Restores the modules of a program after a run, whatever attributes the program sets on them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

_REGISTRIES = ("_parameters", "_buffers", "_modules")


@contextlib.contextmanager
def untouched(root: object) -> Iterator[None]:
    """After the block, restore the attributes, parameters, buffers and submodules of ``root`` and the modules below it.

    Otherwise a forward that stores something (``self.cache = x``) would leave traced values on the model. What the
    program writes into a tensor or a list that existed before is not undone.
    """
    modules = list(root.modules()) if isinstance(root, torch.nn.Module) else []
    before = [(dict(vars(module)), [dict(vars(module)[name]) for name in _REGISTRIES]) for module in modules]
    try:
        yield
    finally:
        for module, (attributes, registries) in zip(modules, before, strict=True):
            module.__dict__.clear()
            module.__dict__.update(attributes)
            for name, registry in zip(_REGISTRIES, registries, strict=True):
                attributes[name].clear()
                attributes[name].update(registry)
