"""The annotations of verbose code: dtype and shape of each value, and the colors for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from fxcore import torch_compat
from fxcore.node import Node
from fxcore.printing import is_strided_tensor, stringify_shape, tensor_value

if TYPE_CHECKING:
    from fxcore.emitter import CodeOptions

_RESET = "\033[0m"


class Painter:
    """Puts the escape sequences of ANSI terminals around text, or leaves it as it is."""

    def __init__(self, colored: bool) -> None:
        self._colored = colored

    def _paint(self, code: str, text: str) -> str:
        return f"{code}{text}{_RESET}" if self._colored else text

    def red(self, text: str) -> str:
        """For dtypes."""
        return self._paint("\033[31m", text)

    def blue(self, text: str) -> str:
        """For constants and shapes."""
        return self._paint("\033[34m", text)

    def dim(self, text: str) -> str:
        """For what is not read at first."""
        return self._paint("\033[2m", text)

    def dim_blue(self, text: str) -> str:
        """For strides."""
        return self._paint("\033[2m\033[34m", text)

    def dim_green(self, text: str) -> str:
        """For devices."""
        return self._paint("\033[2m\033[32m", text)


def tensor_annotation(node: Node, options: CodeOptions, paint: Painter) -> str:
    """The annotation that tells the node's dtype and shape, as ``: "f32[2, 3]"``; empty where they aren't known."""
    value = tensor_value(node)
    if is_strided_tensor(value):
        text = _describe(value, options, paint)
        plain = type(value) is torch.Tensor or torch_compat.is_fake_tensor(value)
        return f': "{text}"' if plain else f': "{type(value).__name__}({text})"'
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return f': "Sym({value!r})"'
    if _is_tensor_metadata(value):
        return f': "{torch_compat.dtype_abbrs[value.dtype]}{stringify_shape(value.shape)}"'
    return ""


def _is_tensor_metadata(value: object) -> bool:
    """Whether ``value`` is a ``TensorMetadata`` of shape propagation, of fxcore or of torch.fx."""
    return {"dtype", "shape", "stride"}.issubset(getattr(value, "_fields", ()))


def _describe(tensor: Any, options: CodeOptions, paint: Painter) -> str:
    parts = [paint.red(torch_compat.dtype_abbrs[tensor.dtype]), paint.blue(stringify_shape(tensor.shape))]
    parts.append(paint.dim_blue(stringify_shape(tensor.stride()) if options.include_stride else ""))
    parts.append(paint.dim_green(str(tensor.device) if options.include_device else ""))
    return "".join(parts)
