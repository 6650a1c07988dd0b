"""Programs whose ``assert`` fails; in a test's own file, pytest would add messages to what they raise."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any


def asserts_a_class(x: Any, width: int = 4) -> Any:
    assert isinstance(x, list) and len(x) == width  # noqa: PT018
    return x


def asserts_what_holds_and_a_number(x: Any, width: int = 4) -> Any:
    assert isinstance(x, Hashable) and width == 5  # noqa: PT018
    return x


def asserts_a_class_or_a_number(x: Any, width: int = 4) -> Any:
    assert isinstance(x, list) or width == 5
    return x
