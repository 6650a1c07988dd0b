"""Pickled tensors keep their values, shapes and kinds."""

from __future__ import annotations

import pytest
import torch

from fx_lsp.agent.processes.tensor_pickles import dumped, loaded


@pytest.mark.parametrize(
    "tensor",
    [
        torch.rand(2, 3),
        torch.rand(2, 3).t(),
        torch.ones(2, 3)[:, ::2],
        torch.tensor(4),
        torch.empty(0, 3),
        torch.tensor([True, False]),
        torch.tensor([1.5, float("nan")], dtype=torch.bfloat16),
        torch.tensor([1 + 2j]).conj(),
        torch.rand(3).to_sparse(),
        torch.rand(3, requires_grad=True),
        torch.nn.Parameter(torch.rand(2)),
        torch.rand(2, device="meta"),
    ],
    ids=lambda tensor: f"{tensor.layout} {tensor.dtype} {tuple(tensor.shape)}",
)
def test_a_tensor_is_what_it_was(tensor: torch.Tensor) -> None:
    other = loaded(dumped({"a": [tensor]}))["a"][0]
    assert (type(other), other.dtype, other.shape, other.requires_grad, other.layout, other.device) == (
        type(tensor),
        tensor.dtype,
        tensor.shape,
        tensor.requires_grad,
        tensor.layout,
        tensor.device,
    )
    assert tensor.is_meta or torch.equal(
        other.detach().to_dense().nan_to_num(), tensor.detach().to_dense().nan_to_num().resolve_conj()
    )


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 1, 4, 1), (1,), ()])
def test_the_memory_format_is_kept(shape: tuple[int, ...]) -> None:
    tensor = torch.rand(shape)
    if len(shape) == 4:
        tensor = tensor.to(memory_format=torch.channels_last)
    other = loaded(dumped(tensor))
    assert torch.equal(other, tensor)
    assert other.is_contiguous() == tensor.is_contiguous()


def test_a_loaded_tensor_can_be_written_to() -> None:
    loaded(dumped(torch.zeros(3))).add_(1)


def test_the_same_tensor_stays_the_same() -> None:
    tensor = torch.rand(2)
    first, second = loaded(dumped([tensor, tensor]))
    assert first is second
