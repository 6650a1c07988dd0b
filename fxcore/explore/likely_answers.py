"""Answers for what a program asks of a traced value that nothing is known about."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from fxcore.node import Node
from fxcore.source.bytecode import raising_truth

LOOP_TURNS = 16
"""How often one loop's condition gets the same answer before it gets the other one."""

NUMBERS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "int": (1, int),
    "index": (1, operator.index),
    "float": (1.0, float),
    "complex": (1 + 0j, complex),
    "round": (1, round),
    "format": ("1", str),
}
"""For each conversion the guess, and how an example is converted."""


def likely_truth(frame: FrameType, turn: int) -> bool:
    """Whether the condition that ``frame`` is at is taken to be true when it is asked for the ``turn``-th time.

    It is taken to be false, unless that leads straight to a ``raise``; after `LOOP_TURNS` turns it is the other one.
    """
    likely = raising_truth(frame.f_code, frame.f_lasti) is False
    return likely if turn <= LOOP_TURNS else not likely


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
