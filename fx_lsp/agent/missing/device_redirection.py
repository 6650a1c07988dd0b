"""Redirects tensors while a file is imported and its modules are built: to the CPU or, for new weights, to meta."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch

from fx_lsp.agent.missing.element_writes import make_element_writes_fast, make_element_writes_usual
from fx_lsp.agent.missing.random_weights import fill, fills_large_weight
from fxcore.accelerators import OnCpu, is_accelerator

FACTORIES = frozenset(
    {torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.randint, torch.normal}
    | {torch.empty_strided, torch.randperm}
)
"""Functions that create weights. The results of other factories stay on the CPU, since constructors compute with them:
``torch.linspace(…).tolist()`` for stochastic depth rates is the classic example."""

IN_PLACE = frozenset({torch.Tensor.clamp_, torch.Tensor.erfinv_, torch.Tensor.normal_, torch.nn.init.normal_})
"""Functions that initialize weights and take torch up to a millisecond per call on the meta device, where they have no
effect. torch's other initializers are fast there."""


class Devices(OnCpu):
    """Within this mode, code that requests an accelerator gets the CPU. ``on_meta``: new weights have no memory."""

    def __init__(self, *, on_meta: bool = False) -> None:
        super().__init__()
        self._on_meta = on_meta

    def __enter__(self) -> Devices:
        """Start redirecting."""
        if self._on_meta:
            make_element_writes_fast()
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        """Stop redirecting."""
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        if self._on_meta:
            make_element_writes_usual()

    def call(self, function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Call a function of torch. If the mode is ``on_meta``, weights get no memory and are not initialized."""
        if self._on_meta and function in FACTORIES and "out" not in keywords:
            asked = keywords.get("device")
            if asked is None or is_accelerator(asked, number=True):
                keywords = {**keywords, "device": "meta"}
        elif self._on_meta and function in IN_PLACE and _is_without_effect(function, *args, *keywords.values()):
            return self._initialize(function, args, keywords)
        elif fills_large_weight(function, args, keywords):
            return fill(function, args, keywords)
        return super().call(function, args, keywords)

    def _initialize(self, function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Make an in-place call on an empty tensor instead of the given one, which has no memory to change."""
        tensor = args[0] if args else keywords["tensor"]
        empty = tensor.new_empty(0, device="cpu")  # torch still checks the other arguments
        if args:
            super().call(function, (empty, *args[1:]), keywords)
        else:
            super().call(function, (), {**keywords, "tensor": empty})
        return tensor


def _is_without_effect(function: Callable[..., Any], tensor: torch.Tensor, *others: object) -> bool:
    """Whether ``function``, one of `IN_PLACE`, neither changes ``tensor`` nor matters to autograd."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or not tensor.is_meta or tensor.is_inference():
        return False
    is_noted = tensor.requires_grad and torch.is_grad_enabled() and function is not torch.nn.init.normal_
    return tensor.is_floating_point() and not is_noted and not any(isinstance(other, torch.Tensor) for other in others)


class Idle:
    """A stream, event or device of an accelerator; it does nothing, even when used as a context manager."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None

    def __enter__(self) -> Idle:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def query(self) -> bool:
        """Whether all work is done: always True."""
        return True

    def elapsed_time(self, other: object) -> float:
        """The milliseconds between two events: always 0."""
        return 0.0


ANSWERS: dict[str, object] = {
    "current_device": 0,
    "get_device_capability": (0, 0),
    "get_device_name": "",
    "get_device_properties": SimpleNamespace(name="", major=0, minor=0, total_memory=1 << 34, multi_processor_count=1),
    "set_device": None,
    "synchronize": None,
}
"""Results for functions of ``torch.cuda`` that would otherwise fail because there is no device."""

IDLE = ("Event", "Stream", "current_stream", "default_stream", "device", "stream")
"""Names in ``torch.cuda`` that are replaced by subclasses of `Idle`."""


def stand_in_for_accelerators() -> None:
    """Patch ``Module.to`` and the parts of ``torch.cuda`` that fail without a device, permanently in this process.

    ``is_available`` and ``device_count`` report that there is no device, even if there is one: the sandbox keeps traced
    code from it, and the driver would print a warning. Each name gets a distinct object, since torch.compile keeps a
    table with these objects as keys.
    """
    for holder, name, count in ((torch._C, "_cuda_getDeviceCount", 0), (torch.cuda, "_device_count_nvml", -1)):
        if hasattr(holder, name):
            setattr(holder, name, partial(_answer, count))
    for name, answer in ANSWERS.items():
        setattr(torch.cuda, name, partial(_answer, answer))
    for name in IDLE:
        setattr(torch.cuda, name, type(name, (Idle,), {}))
    for name in [name for name in vars(torch.cuda) if name.endswith("Tensor") and hasattr(torch, name)]:
        setattr(torch.cuda, name, getattr(torch, name))
    module: Any = torch.nn.Module
    module.to = _to_cpu(module.to)


def _answer(answer: object, *args: object, **kwargs: object) -> object:
    return answer


def _to_cpu(to: Callable[..., Any]) -> Callable[..., Any]:
    """``Module.to``, except that any accelerator, even one given only by its number, means the CPU."""

    @functools.wraps(to)
    def moved(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        args = tuple("cpu" if is_accelerator(value, number=True) else value for value in args)
        kwargs = {name: "cpu" if is_accelerator(value, number=True) else value for name, value in kwargs.items()}
        return to(self, *args, **kwargs)

    return moved
