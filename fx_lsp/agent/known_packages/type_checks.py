"""mmcv's and mmengine's questions about the types of values, as constructors ask them of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def is_seq_of(seq: Any, expected_type: Any, seq_type: Any = None) -> bool:
    """Whether ``seq`` is a sequence of that type, and all that is in it of the expected type."""
    return isinstance(seq, seq_type or Sequence) and all(isinstance(item, expected_type) for item in seq)


def is_list_of(seq: Any, expected_type: Any) -> bool:
    """Whether ``seq`` is a list of values of the expected type."""
    return is_seq_of(seq, expected_type, list)


def is_tuple_of(seq: Any, expected_type: Any) -> bool:
    """Whether ``seq`` is a tuple of values of the expected type."""
    return is_seq_of(seq, expected_type, tuple)


def is_str(x: Any) -> bool:
    """Whether ``x`` is a string."""
    return isinstance(x, str)
