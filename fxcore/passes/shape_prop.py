"""Record the shape, dtype and other properties of each node's value, by running the graph on sample inputs."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import torch

from fxcore.graph_module import GraphModule
from fxcore.interpreter import Interpreter
from fxcore.node import Node, map_aggregate
from fxcore.torch_compat import deepcopy_to_fake, detect_fake_mode, enable_python_dispatcher

__all__ = ["ShapeProp", "TensorMetadata"]

_MEMORY_FORMATS = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
_SPARSE_LAYOUTS = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
_PER_TENSOR = (torch.per_tensor_affine, torch.per_tensor_symmetric)


class TensorMetadata(NamedTuple):
    """The properties of a tensor, other than the values of its elements.

    Attributes:
        shape: Its size in each dimension.
        dtype: The type of its elements.
        requires_grad: Whether gradients are computed for it.
        stride: The distance in memory, in elements, from one element to the next in each dimension; empty if sparse.
        memory_format: The first of contiguous, channels last and channels last 3d that applies; None if none does, or
            if the tensor is sparse.
        is_quantized: Whether its elements are quantized.
        qparams: If quantized: ``qscheme``, ``scale``, ``zero_point`` and, for per-channel parameters, ``axis``.
    """

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple[int | torch.SymInt, ...]
    memory_format: torch.memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


class ShapeProp(Interpreter):
    """Runs a graph and records in every node's ``meta`` the ``type`` of its value and, for tensors, ``tensor_meta``.

    ``tensor_meta`` is a ``TensorMetadata``; for tensors in tuples, lists and dicts, it is the same structure with a
    ``TensorMetadata`` in place of each tensor::

        ShapeProp(graph_module).propagate(torch.randn(50, 1000))
        for node in graph_module.graph.nodes:
            print(node.name, node.meta["tensor_meta"].shape)
    """

    def __init__(self, gm: GraphModule, fake_mode: Any = None) -> None:
        """Prepare to run a graph.

        Args:
            gm: The module.
            fake_mode: A ``FakeTensorMode`` in which to run the graph, without computing any values; by default the
                active mode, if there is one. The parameters and buffers of ``gm`` remain real tensors.
        """
        super().__init__(gm)
        self.fake_mode = detect_fake_mode() if fake_mode is None else fake_mode
        self.real_module = self.module
        self.fake_module = None if self.fake_mode is None else deepcopy_to_fake(self.module, self.fake_mode)

    def run_node(self, n: Node) -> Any:
        """Execute a node and record the properties of its value.

        Raises:
            RuntimeError: The node can't be executed; the exception's cause is the original one.
        """
        try:
            result = self._run_real_or_fake(n)
        except Exception as error:
            raise RuntimeError(f"No shape for {n.format_node()} with meta {n.meta}: {error}") from error
        metadata = map_aggregate(result, _metadata_of_tensor)
        if _holds_tensor(result):
            n.meta["tensor_meta"] = metadata
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on sample inputs and record the properties of each node's value.

        Args:
            *args: The inputs; tensors among them have the shapes to propagate.

        Returns:
            The graph's result; with a fake mode, its tensors are fake.

        Raises:
            RuntimeError: A node can't be executed with these inputs.
        """
        if self.fake_mode is not None:
            args = tuple(self.fake_mode.from_tensor(arg) if isinstance(arg, torch.Tensor) else arg for arg in args)
        return self.run(*args)

    def _run_real_or_fake(self, n: Node) -> Any:
        """Execute a node; in a fake mode, use the copy of the module that has fake parameters."""
        if self.fake_mode is None:
            return super().run_node(n)
        self.module = cast(torch.nn.Module, self.fake_module)
        try:
            with self.fake_mode, enable_python_dispatcher():
                return super().run_node(n)
        finally:
            self.module = self.real_module


def _extract_tensor_metadata(result: torch.Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """Describe a tensor.

    Args:
        result: The tensor.
        include_contiguity: Whether to determine the memory format; if not, it is None.
    """
    sparse = result.layout in _SPARSE_LAYOUTS
    return TensorMetadata(
        shape=result.shape,
        dtype=result.dtype,
        requires_grad=result.requires_grad,
        stride=() if sparse else result.stride(),
        memory_format=_memory_format(result) if include_contiguity and not sparse else None,
        is_quantized=result.is_quantized,
        qparams=_quantization(result) if result.is_quantized else {},
    )


def _memory_format(tensor: torch.Tensor) -> torch.memory_format | None:
    return next((each for each in _MEMORY_FORMATS if tensor.is_contiguous(memory_format=each)), None)


def _quantization(tensor: torch.Tensor) -> dict[str, Any]:
    """The scheme and parameters of a quantized tensor; per-channel parameters are lists."""
    scheme: Any = tensor.qscheme()
    if scheme in _PER_TENSOR:
        return {"qscheme": scheme, "scale": tensor.q_scale(), "zero_point": tensor.q_zero_point()}
    return {
        "qscheme": scheme,
        "scale": tensor.q_per_channel_scales().tolist(),
        "zero_point": tensor.q_per_channel_zero_points().tolist(),
        "axis": tensor.q_per_channel_axis(),
    }


def _metadata_of_tensor(value: Any) -> Any:
    return _extract_tensor_metadata(value) if isinstance(value, torch.Tensor) else value


def _holds_tensor(value: Any) -> bool:
    found = False

    def look(each: Any) -> Any:
        nonlocal found
        found = found or isinstance(each, torch.Tensor)
        return each

    map_aggregate(value, look)
    return found
