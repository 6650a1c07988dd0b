"""Numbers that make a model small: smaller ones than its own that keep what it needs of them.

Widths stay wide enough not to be equal to other numbers by chance, and multiples of what divides them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fx_lsp.agent.building.constructor_sizes import Numbers, as_tuple

WIDE = 32
"""This and larger numbers are widths, lengths or counts of classes, unless they turn out to be numbers of layers;
smaller ones may be numbers of layers or heads."""

NARROWEST = 16
"""No width becomes smaller than this, since small widths may be equal to other numbers by chance."""

MOST_COMMON = 4 * NARROWEST
"""Widths remain multiples of those numbers of which they were multiples, unless that makes them larger than this."""

FEWEST = 3
"""No other number becomes smaller than this: of two layers, the second is also the last."""

FACTORS = (4096, 1024, 256, 64, 32, 16, 8, 4, 2)
"""The divisors to try for a number."""

MOST_VALUES = 5
"""How many smaller values of one number are tried."""


def smaller(value: Numbers, original: Numbers) -> list[Numbers]:
    """Smaller values to try instead of ``value``, the smallest first; in the model itself, it is ``original``."""
    found = [scaled(value, 1, factor) for factor in FACTORS]
    if largest(original) < WIDE:
        found.insert(0, tuple(map(floor, original)) if isinstance(original, tuple) else floor(original))
    distinct = dict.fromkeys(new for new in found if new != value and is_large_enough(new, original))
    return list(distinct)[:MOST_VALUES]


def divided(value: Numbers, factor: int, unit: int) -> Numbers:
    """``value``, or each of its items, divided by ``factor`` or by the largest power of 2 that leaves it wide enough.

    Multiples of ``unit`` remain multiples, of at least twice the ``unit`` unless it is 1.
    """

    def of_one(number: int) -> int:
        new = number // factor
        if unit > 1 and number % unit == 0:
            return min(number, max(new // unit, 2) * unit)
        return new

    while factor > 1 and not is_large_enough(scaled(value, 1, factor), value):
        factor //= 2
    return of_one(value) if isinstance(value, int) else tuple(map(of_one, value))


def multiple(old: int, new: int, pairs: Sequence[tuple[int, int]]) -> int:
    """A width of about ``new`` instead of ``old``; ``pairs`` are other numbers and what they are replaced by."""
    unit = 1
    for other, replacement in pairs:
        if 1 < other < old and old % other == 0 and math.lcm(unit, replacement) <= MOST_COMMON:
            unit = math.lcm(unit, replacement)
    return min(old, math.ceil(new / unit) * unit)


def floor(number: int) -> int:
    """The smallest number by which to replace ``number``."""
    return min(number, NARROWEST if number >= WIDE else FEWEST)


def is_large_enough(new: Numbers, old: Numbers) -> bool:
    """Whether ``new``, or each of its items, may replace ``old``."""
    return all(item >= floor(before) for item, before in zip(as_tuple(new), as_tuple(old), strict=True))


def scaled(value: Numbers, new: int, old: int) -> Numbers:
    """``value``, or each of its items, times ``new / old``."""
    return value * new // old if isinstance(value, int) else tuple(item * new // old for item in value)


def increased(value: Numbers, added: int) -> Numbers:
    """``value``, or each of its items, plus ``added``."""
    return value + added if isinstance(value, int) else tuple(item + added for item in value)


def at_most(value: Numbers, most: Numbers) -> Numbers:
    """``value``, or each of its items, if it is not greater than ``most``; otherwise ``most``."""
    smallest = tuple(map(min, as_tuple(value), as_tuple(most)))
    return smallest[0] if isinstance(value, int) else smallest


def largest(value: Numbers) -> int:
    """``value``, or the largest of its items."""
    return max(as_tuple(value))
