"""A program's values with their sizes, and how these sizes depend on the input's sizes, inferred from a few runs.

No formula is derived. Instead, a formula is guessed from runs that vary one size of the input at a time, and kept if it
holds in another run, which varies all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch

UNKNOWN = "?"
"""Stands for a size that differs between runs in a way that no simple formula describes."""

LARGEST_DENOMINATOR = 16
"""The largest denominator in a fraction such as 3/2, by which an image may be scaled.

A larger denominator is likely a coincidence. A fraction whose numerator is 1, such as 1/1024, may have any denominator.
"""

LONGEST_TEXT = 40
"""The maximum number of characters of a value's ``repr`` that are shown."""

_SLOT = "\0"


@dataclass(frozen=True)
class Value:
    """A value as text, with its sizes kept apart."""

    template: str
    """The text, with a NUL in place of each size."""
    sizes: tuple[int, ...]
    dtype: str | None = None
    """The dtype if the value is a tensor; None for every other value."""

    def text(self, sizes: Sequence[str]) -> str:
        """The whole text, with ``sizes`` in their places."""
        first, *others = self.template.split(_SLOT)
        return first + "".join(f"{size}{text}" for size, text in zip(sizes, others, strict=True))


def value_of(value: Any) -> Value:
    """Describe a value: a tensor is shown by its shape and dtype, and an integer counts as a size."""
    sizes: list[int] = []
    template = _template(value, sizes)
    return Value(template, tuple(sizes), _dtype(value) if isinstance(value, torch.Tensor) else None)


def _template(value: Any, sizes: list[int]) -> str:
    if isinstance(value, torch.Tensor):
        sizes += value.shape
        return f"[{', '.join(_SLOT * value.dim())}] {_dtype(value)}"
    if isinstance(value, int) and not isinstance(value, bool):
        sizes.append(value)
        return _SLOT
    if isinstance(value, list | tuple):
        items = [_template(item, sizes) for item in value]
        return f"[{', '.join(items)}]" if isinstance(value, list) else f"({', '.join(items)}{',' * (len(items) == 1)})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_template(item, sizes)}' for key, item in value.items())}}}"
    shown = str(value) if isinstance(value, torch.dtype | torch.device) else _shown(value)
    return shown.replace(_SLOT, "")


def _shown(value: Any) -> str:
    """A plain value's ``repr``, shortened; the class name of any other object."""
    if value is None or isinstance(value, bool | float | str | slice):
        text = repr(value)
        return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"
    return type(value).__name__


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


@dataclass(frozen=True)
class Symbols:
    """The sizes of an input that were varied."""

    sizes: Mapping[str, int]
    """Name -> size in the first run."""
    factor: int
    """How many times larger each size is in the run in which it alone is larger."""
    check: int
    """How many times larger all the sizes are in the last run."""

    def size(self, base: int, alone: Mapping[str, int], together: int) -> str:
        """A size as text: a number, a formula, or `UNKNOWN`.

        ``base`` is the size in the first run, ``alone`` has the sizes in the runs in which one symbol is larger, and
        ``together`` is the size in the last run. A formula is ``part * product of symbols + rest``.
        """
        parts = {Fraction(size - base, self.factor - 1) for size in alone.values() if size != base}
        if not parts:
            return str(base) if together == base else UNKNOWN
        part = parts.pop()
        if parts:
            return UNKNOWN  # the size depends on several symbols, but not on their product
        names = [name for name, size in alone.items() if size != base]
        product = 1
        for name in names:
            product *= self.sizes[name]
        ratio, rest = part / product, base - part
        holds = rest + part * self.check ** len(names) == together
        simple = rest.denominator == 1 and (abs(ratio.numerator) == 1 or ratio.denominator <= LARGEST_DENOMINATOR)
        return _formula(ratio, names, int(rest)) if holds and simple else UNKNOWN


def _formula(ratio: Fraction, names: Sequence[str], rest: int) -> str:
    """``ratio * names + rest`` as it is usually written: ``h*w/256 + 1``."""
    factors = [*([] if abs(ratio.numerator) == 1 else [str(abs(ratio.numerator))]), *names]
    sign = "-" if ratio < 0 else ""
    text = sign + "*".join(factors) + (f"/{ratio.denominator}" if ratio.denominator > 1 else "")
    return text if rest == 0 else f"{text} {'+' if rest > 0 else '-'} {abs(rest)}"


def merged(base: Value, alone: Mapping[str, Value], together: Value, symbols: Symbols) -> tuple[Value, tuple[str, ...]]:
    """``base`` and its sizes as text, inferred from the same value in the other runs.

    If the values of the runs differ in more than their sizes, each size is `UNKNOWN`.
    """
    others = [*alone.values(), together]
    if any(other.template != base.template for other in others):
        return base, (UNKNOWN,) * len(base.sizes)
    return base, tuple(
        symbols.size(size, {name: value.sizes[at] for name, value in alone.items()}, together.sizes[at])
        for at, size in enumerate(base.sizes)
    )
