"""Answers for what a program asks of a traced value that nothing is known about."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from fxcore.node import Node

NUMBERS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "int": (1, int),
    "index": (1, operator.index),
    "float": (1.0, float),
    "complex": (1 + 0j, complex),
    "round": (1, round),
    "format": ("1", str),
}
"""For each conversion the guess, and how an example is converted."""


def likely_count(node: Node) -> int:
    """How many items the value of ``node`` may have: the chunks that were asked for, or else two."""
    chunks = node.args[1] if node.target in ("chunk", torch.chunk) and len(node.args) > 1 else None
    return chunks if isinstance(chunks, int) else 2


def items(value: Any, count: int) -> list[Any]:
    """The first ``count`` items of ``value``, by their index."""
    return [value[index] for index in range(count)]


def said(answer: object) -> str:
    """An answer in words, of whatever was asked."""
    if isinstance(answer, bool):
        return f"it is {str(answer).lower()}"
    return f"it has {len(answer)} items" if isinstance(answer, list) else f"it is {answer}"
