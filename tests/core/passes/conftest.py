"""What the tests of passes share."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx.passes.shape_prop

from tests.core.versions import TORCH

MEMORY_FORMATS = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)


@pytest.fixture
def first_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have torch.fx name the first memory format that a tensor has; an older one names any of them, by chance."""
    if TORCH >= (2, 13):
        return
    module: Any = torch.fx.passes.shape_prop
    extract = module._extract_tensor_metadata

    def named(result: torch.Tensor, *args: Any) -> Any:
        found = extract(result, *args)
        if found.memory_format is None:
            return found
        first = next(each for each in MEMORY_FORMATS if result.is_contiguous(memory_format=each))
        return found._replace(memory_format=first)

    monkeypatch.setattr(module, "_extract_tensor_metadata", named)
