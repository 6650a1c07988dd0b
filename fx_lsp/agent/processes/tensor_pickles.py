"""Pickles that hold thousands of small tensors, for which ``torch.save`` takes a tenth of a millisecond each."""

from __future__ import annotations

import base64
import ctypes
import io
import pickle
from typing import Any

import torch


def dumped(value: object) -> str:
    """The pickle of ``value``, as base64. Tensors that share memory no longer do."""
    return base64.b64encode(packed(value)).decode()


def loaded(pickled: str) -> Any:
    """The value that was `dumped`. Unpickling runs code: only use what this process, or its own copies, have dumped."""
    return unpacked(base64.b64decode(pickled))


def packed(value: object) -> bytes:
    """The pickle of ``value``. Tensors that share memory no longer do."""
    file = io.BytesIO()
    _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


def unpacked(pickled: bytes) -> Any:
    """The value that was `packed`; the same caution holds as for `loaded`."""
    return pickle.loads(pickled)


class _Pickler(pickle.Pickler):
    def reducer_override(self, item: Any) -> Any:
        """How to pickle ``item``: a plain tensor as its bytes, everything else as usual."""
        if type(item) is not torch.Tensor or not _is_plain(item):
            return NotImplemented
        strides = item.stride()
        order = sorted(range(len(strides)), key=lambda dim: -strides[dim])  # some programs ask for the memory format
        dense = item.permute(order).contiguous()
        content = ctypes.string_at(dense.data_ptr(), dense.nbytes) if dense.nbytes else b""
        return _tensor, (item.dtype, tuple(dense.shape), content, tuple(order))


def _is_plain(tensor: torch.Tensor) -> bool:
    is_dense = tensor.layout is torch.strided and tensor.device.type == "cpu" and not tensor.is_quantized
    return is_dense and not (tensor.requires_grad or tensor.is_conj() or tensor.is_neg() or vars(tensor))


def _tensor(dtype: torch.dtype, shape: tuple[int, ...], content: bytes, order: tuple[int, ...]) -> torch.Tensor:
    """The tensor whose dimensions are in this ``order`` in memory."""
    dense = torch.frombuffer(bytearray(content), dtype=dtype) if content else torch.empty(0, dtype=dtype)
    return dense.reshape(shape).permute([order.index(dim) for dim in range(len(order))])
