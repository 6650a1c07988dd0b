"""The questions of mmcv, mmengine and typeguard about the types of values, as constructors ask them."""

from __future__ import annotations

import sys
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


def check_argument_types() -> Any:
    """Whether the arguments of the constructor that calls this are of the types that its parameters are annotated with.

    In any other function it is left open, since typeguard does not take a traced value for a tensor.
    """
    caller = sys._getframe(2)  # a stand-in makes this call
    return True if caller.f_code.co_name == "__init__" else NotImplemented
