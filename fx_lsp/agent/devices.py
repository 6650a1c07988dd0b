"""Where tensors live while a file is imported and its modules built: on no accelerator, weights even nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

ACCELERATOR = re.compile(r"(cuda|hip|mps|xpu)(:\d+)?")
"""Device names that are read as the CPU's."""

FACTORIES = frozenset(
    {torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.randint, torch.normal}
    | {torch.empty_strided, torch.randperm}
)
"""What weights are made with. Other factories stay on the CPU, since constructors compute with what those make:
``torch.linspace(…).tolist()`` of the stochastic depth rates is the classic."""


class Devices(TorchFunctionMode):
    """Within it, what asks for an accelerator gets the CPU, and, ``on_meta``, new weights have shapes but no memory."""

    def __init__(self, *, on_meta: bool = False) -> None:
        super().__init__()
        self._on_meta = on_meta

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if function is torch.Tensor.cuda:
            return args[0]
        keywords = {name: _on_cpu(value) for name, value in (kwargs or {}).items()}
        asked = (kwargs or {}).get("device")
        is_free = asked is None or _is_accelerator(asked)
        if self._on_meta and function in FACTORIES and is_free and "out" not in keywords:
            keywords["device"] = "meta"
        return function(*map(_on_cpu, args), **keywords)


def _on_cpu(value: Any) -> Any:
    return "cpu" if _is_accelerator(value) else value


def _is_accelerator(value: object) -> bool:
    return isinstance(value, str | torch.device) and ACCELERATOR.fullmatch(str(value)) is not None
