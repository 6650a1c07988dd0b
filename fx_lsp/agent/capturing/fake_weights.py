"""Gives a module that was built on the meta device weights that claim to be on the CPU.

On the meta device itself, a program that asks ``x.device.type`` would go another way than it does for its users.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any

import torch

from fx_lsp.agent.capturing.torch_internals import as_fake
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.running.plain_values import map_tensors, tensors_of


def fake_input(mode: Any, given: Input) -> Input:
    """``given`` with fake tensors."""
    fake = partial(as_fake, mode)
    return Input(map_tensors(fake, given.args), map_tensors(fake, dict(given.kwargs)))


def fake_weights(root: torch.nn.Module, mode: Any) -> ExitStack:
    """Replace all tensors of ``root`` by fake ones; closing what is returned puts them back.

    A tensor that stands at several places stays one.
    """
    return _FakeWeights(mode).replace_in(root)


class _FakeWeights:
    """Replaces the tensors of one module."""

    def __init__(self, mode: Any) -> None:
        self._mode = mode
        self._fakes: dict[int, torch.Tensor] = {}
        """The fake of each tensor, by the tensor's id."""
        self._kept: list[torch.Tensor] = []
        """The tensors themselves, so that no other tensor gets the id of one of them."""

    def replace_in(self, root: torch.nn.Module) -> ExitStack:
        undo = ExitStack()
        for module in root.modules():
            for held in (module._parameters, module._buffers):
                undo.callback(partial(dict.update, held, dict(held)))
                held.update({name: self._fake(tensor) for name, tensor in held.items() if tensor is not None})
            for name, value in vars(module).items():
                if not name.startswith("_") and any(tensor.is_meta for tensor in tensors_of(_plain(value))):
                    undo.callback(vars(module).__setitem__, name, value)
                    vars(module)[name] = map_tensors(self._fake, value)
        return undo

    def _fake(self, tensor: torch.Tensor) -> Any:
        if id(tensor) not in self._fakes:
            self._kept.append(tensor)
            fake = as_fake(self._mode, tensor.detach())
            if isinstance(tensor, torch.nn.Parameter):
                fake = torch.nn.Parameter(fake, requires_grad=tensor.requires_grad)
            self._fakes[id(tensor)] = fake
        return self._fakes[id(tensor)]


def _plain(value: Any) -> list[Any]:
    """``value`` if it is a tensor or a container of tensors; its attributes do not count."""
    return [value] if isinstance(value, torch.Tensor | list | tuple | dict) else []
