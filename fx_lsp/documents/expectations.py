"""What a model is expected to cost at most: the arguments of ``# fx: expect(parameters < 30M, flops < 5G)``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

Quantity = Literal["parameters", "flops", "activations", "peak"]

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

_CONDITION = re.compile(
    rf"\s*(?P<whole>(?P<quantity>{'|'.join(get_args(Quantity))})\s*(?P<sign><=?)\s*(?P<number>\d+(?:\.\d+)?)\s*"
    rf"(?P<unit>{'|'.join(_UNITS)}))\s*$"
)

EXAMPLE = "`expect(parameters < 30M, flops < 5G, peak <= 100MiB)`"


@dataclass(frozen=True)
class Expectation:
    """One condition."""

    text: str
    """As it is written, e.g. ``flops < 5G``."""
    start: int
    """Where it begins in the arguments, which begin with a parenthesis."""
    quantity: Quantity
    limit: Fraction
    or_equal: bool

    def holds(self, number: int) -> bool:
        """Whether a model with this number of parameters, operations or bytes fulfills the condition."""
        return number <= self.limit if self.or_equal else number < self.limit


def expectations_of(arguments: str) -> tuple[Expectation, ...] | None:
    """The conditions in ``arguments``, which include their parentheses; None if any of them is not valid."""
    found = []
    start = 1
    for part in arguments[1:-1].split(","):
        match = _CONDITION.match(part)
        if match is None:
            return None
        limit = Fraction(match["number"]) * _UNITS[match["unit"]]
        at = start + match.start("whole")
        found.append(Expectation(match["whole"], at, _quantity(match["quantity"]), limit, match["sign"] == "<="))
        start += len(part) + 1
    return tuple(found)


def _quantity(name: str) -> Quantity:
    return next(quantity for quantity in get_args(Quantity) if quantity == name)
