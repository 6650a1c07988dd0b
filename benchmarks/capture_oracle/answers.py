"""What mended expressions yield: recorded in a real run, and turned into source code."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

MOST_TURNS = 400
"""How many values of one expression are kept; more can't be mended."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None), range, slice, torch.dtype, torch.device, torch.Size)

recorded: dict[int, list[Any]] = {}
"""For each recorded expression, by number: what it yielded, in order."""
turns: dict[int, int] = {}
"""For each mended expression with several values: how often it was evaluated."""


class Like(tuple[Any, ...]):
    """Stands for a tensor: its shape and the name of its dtype."""


class LikeArray(tuple[Any, ...]):
    """The same for an array of numpy."""


class Unknown(str):
    """Stands for a value that can't be written down: its type."""


def saw(number: int, is_condition: bool, value: Any) -> Any:
    """Record ``value`` and return it."""
    kept = recorded.setdefault(number, [])
    if len(kept) <= MOST_TURNS:
        try:
            kept.append(bool(value) if is_condition else pytree.tree_map(_kept, value))
        except Exception:  # some named tuple checks its items
            kept.append(_kept(value))
    return value


def _kept(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return Like((tuple(leaf.shape), str(leaf.dtype).removeprefix("torch.")))
    if isinstance(leaf, np.ndarray | np.generic):
        return LikeArray((leaf.shape, str(leaf.dtype)))
    return leaf if isinstance(leaf, _PLAIN) else Unknown(type(leaf).__name__)


def source_of(values: list[Any], number: int) -> ast.expr:
    """An expression that yields these values, one each time that it is evaluated. Raises ValueError if none can."""
    texts = [_text(value) for value in values]
    if not texts or len(texts) > MOST_TURNS:
        raise ValueError("it was not evaluated in the real run" if not texts else "it is evaluated too often")
    if len(set(texts)) == 1:
        return ast.parse(texts[0], mode="eval").body
    return ast.parse(f"({', '.join(texts)})[__oracle_turn__({number}) % {len(texts)}]", mode="eval").body


def _text(value: Any) -> str:
    """One value as source text."""
    if isinstance(value, Like):
        return f"__oracle_zeros__({value[0]!r}, dtype=__oracle_dtypes__.{value[1]})"
    if isinstance(value, LikeArray):
        return f"__oracle_array__({value[0]!r}, {value[1]!r})"
    if isinstance(value, Unknown) or (isinstance(value, tuple) and type(value) not in (tuple, torch.Size)):
        raise ValueError(f"its value is a {value if isinstance(value, Unknown) else type(value).__name__}")
    if isinstance(value, torch.Size):
        return f"__oracle_dtypes__.Size({tuple(value)!r})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_text(item)}" for key, item in value.items()) + "}"
    if type(value) in (list, tuple):
        items = "".join(f"{_text(item)}, " for item in value)
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f"float('{value}')"
    if isinstance(value, torch.dtype | torch.device):
        return f"__oracle_dtypes__.{repr(value).removeprefix('torch.')}"
    return repr(value)


def turn(number: int) -> int:
    """How often this was called before."""
    turns[number] = turns.get(number, -1) + 1
    return turns[number]


def tensors_in(value: Any) -> tuple[torch.Tensor, ...]:
    """The tensors in an object of any type, as an output that every capture accepts."""
    found: list[torch.Tensor] = []
    seen: set[int] = set()

    def look(item: Any) -> None:
        if id(item) in seen:
            return
        seen.add(id(item))
        if isinstance(item, torch.Tensor):
            found.append(item)
        elif isinstance(item, dict):
            list(map(look, item.values()))
        elif isinstance(item, list | tuple | set):
            list(map(look, item))
        elif hasattr(item, "__dict__") and not isinstance(item, type):
            list(map(look, vars(item).values()))

    look(value)
    return tuple(found)


GLOBALS: dict[str, Callable[..., Any] | Any] = {
    "__oracle_saw__": saw,
    "__oracle_turn__": turn,
    "__oracle_zeros__": torch.zeros,
    "__oracle_dtypes__": torch,
    "__oracle_array__": np.zeros,
    "__oracle_tensors__": tensors_in,
    "__oracle_nothing__": contextlib.nullcontext,
}
"""The names that mended code uses."""
