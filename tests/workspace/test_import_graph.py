from fx_lsp.workspace.import_graph import imported_first

TEXT = """\
from __future__ import annotations
import numpy as np, torch.nn as nn
from torchvision.models import resnet50
from . import layers
from .blocks import Block
import torch.nn

try:
    import flash_attn
except ImportError:
    flash_attn = None

if TYPE_CHECKING:
    import jaxtyping


def load():
    import safetensors
"""


def test_what_a_file_imports_under_no_condition_is_named_in_its_order() -> None:
    assert imported_first(TEXT) == ("__future__", "numpy", "torch.nn", "torchvision.models", "flash_attn")


def test_a_text_that_does_not_parse_imports_nothing() -> None:
    assert imported_first("import (") == ()
