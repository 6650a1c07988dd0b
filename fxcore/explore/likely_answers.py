"""Guesses what a program needs to know about a traced value that has no known example value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from fxcore.node import Node

LOOP_TURNS = 16
"""How often the condition of a loop gets the same answer before it gets the opposite one."""

NUMBERS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "int": (1, int),
    "index": (1, operator.index),
    "float": (1.0, float),
    "complex": (1 + 0j, complex),
    "round": (1, round),
    "format": ("1", str),
}
"""For each conversion: the guess, and the function that converts an example value."""


def likely_truth(raising: bool | None, turn: int) -> bool:
    """Whether to assume that a condition is true that a function evaluates for the ``turn``-th time.

    It is assumed to be false, unless that is ``raising``: it leads straight to a ``raise``. After `LOOP_TURNS` turns,
    the opposite is assumed.
    """
    likely = raising is False
    return likely if turn <= LOOP_TURNS else not likely


def likely_count(node: Node) -> int:
    """How many items the value of ``node`` is assumed to have: the requested number of chunks, otherwise two."""
    chunks = node.args[1] if node.target in ("chunk", torch.chunk) and len(node.args) > 1 else None
    return chunks if isinstance(chunks, int) else 2


def items(value: Any, count: int) -> list[Any]:
    """The first ``count`` items of ``value``, by their index."""
    return [value[index] for index in range(count)]


def said(answer: object) -> str:
    """Describe an answer as an assumption in words, e.g. ``it is false``."""
    if isinstance(answer, bool):
        return f"it is {str(answer).lower()}"
    return f"it has {len(answer)} items" if isinstance(answer, list) else f"it is {answer}"
