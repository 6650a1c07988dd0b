"""Programs whose ``assert`` fails; in a test's own file, pytest would add messages to what they raise."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch


def asserts_a_class(x: Any, width: int = 4) -> Any:
    assert isinstance(x, list) and len(x) == width  # noqa: PT018
    return x


def asserts_what_holds_and_a_number(x: Any, width: int = 4) -> Any:
    assert isinstance(x, Hashable) and width == 5  # noqa: PT018
    return x


def asserts_a_class_or_a_number(x: Any, width: int = 4) -> Any:
    assert isinstance(x, list) or width == 5
    return x


def asserts_one_of_two_classes(x: Any, width: int = 4) -> Any:
    assert isinstance(x, list) or isinstance(x, tuple)  # noqa: SIM101
    return x


def asserts_one_of_two_values(x: Any, y: Any) -> Any:
    assert isinstance(x, list) or isinstance(y, list)
    return x


def shows_a_symbol_and_settings(x: Any, settings: Any) -> Any:
    assert isinstance(settings, list), f"no list {settings} for {x}"
    return x


def asserts_the_class_of_an_attribute(x: Any, width: int = 4) -> Any:
    assert isinstance(x.items, list)
    return x


def asserts_a_tensor_or_a_number(x: Any, width: int = 4) -> Any:
    assert torch.is_tensor(x) or width == 5
    return x


def asserts_that_a_number_is_a_tensor(x: Any, width: Any = 4) -> Any:
    assert x is None or torch.is_tensor(width)
    return x


def asserts_that_there_is_no_tensor(x: Any, width: int = 4) -> Any:
    assert x is None
    return x


def asserts_that_there_is_no_number(x: Any, width: Any = 4) -> Any:
    assert width is None
    return x
