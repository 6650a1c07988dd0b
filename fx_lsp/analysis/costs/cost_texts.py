"""What a model costs, as text."""

from __future__ import annotations

from fx_lsp.agent.messages import Costs, ModuleCosts, Tensors

_UNITS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))

_SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))

_ROUNDS_UP = 0.9995
"""The share of a unit from which a number is shown in it: in the next smaller unit, it would be rounded to 1000."""

NOTICEABLE = 0.01
"""Operators without a formula make the number of FLOPs a lower bound if their results have this many numbers per FLOP:
with one operation for each number, the FLOPs would differ in the digits that are shown."""

MOST_OPERATORS = 6
"""How many operators are named."""


def counted(number: int) -> str:
    """A number, rounded and abbreviated for display, e.g. ``25.6 M``."""
    for unit, letter in _UNITS:
        if number >= _ROUNDS_UP * unit:
            return f"{number / unit:.3g} {letter}"
    return str(number)


def size(number: int) -> str:
    """A number of bytes, rounded for display, e.g. ``97.5 MiB``."""
    for unit, name in _SIZES:
        if number >= _ROUNDS_UP * unit * 1000 / 1024:
            return f"{number / unit:.3g} {name}"
    return f"{number} B"


def flops(costs: Costs, module: ModuleCosts) -> str:
    """The floating-point operations of a module, e.g. ``8.2 GFLOPs``; empty if they are not known."""
    if module.flops is None:
        return ""
    number = counted(module.flops)
    unit = "FLOPs" if number[-1:].isalpha() else " FLOPs"
    return f"{'at least ' if is_lower_bound(costs) else ''}{number}{unit}"


def is_lower_bound(costs: Costs) -> bool:
    """Whether the program may well do noticeably more floating-point operations than were counted.

    That is so if a node could not be run, if it calls an operator that is not torch's own, or if the results of the
    operators without a formula are large.
    """
    uncounted = sum(operator.elements for operator in costs.uncounted)
    total = costs.modules[0].flops or 0 if costs.modules else 0
    return bool(costs.unknown or foreign_operators(costs)) or uncounted > NOTICEABLE * total


def foreign_operators(costs: Costs) -> list[str]:
    """The operators without a formula that are not torch's own: they may do any number of operations."""
    return [operator.name for operator in costs.uncounted if not operator.name.startswith("aten.")]


def tensors(held: Tensors) -> str:
    """How much parameters or buffers hold, e.g. ``25.6 M (97.5 MiB float32)``."""
    sizes = ", ".join(f"{size(number)} {dtype}" for dtype, number in held.bytes.items())
    return f"{counted(held.count)} ({sizes})" if sizes else counted(held.count)


def limits(costs: Costs) -> list[str]:
    """Sentences that say what could not be counted."""
    found = []
    if costs.reason:
        found.append(f"Not counted: {costs.reason}.")
    if costs.unknown:
        nodes, them = ("1 node was", "it") if len(costs.unknown) == 1 else (f"{len(costs.unknown)} nodes were", "them")
        found.append(f"{nodes} left out, because torch can't run {them} without data: {listed(costs.unknown)}.")
    if costs.uncounted:
        named = [
            f"{operator.name} ({counted(operator.calls)} × {counted(operator.elements // operator.calls)})"
            for operator in costs.uncounted
        ]
        elements = counted(sum(operator.elements for operator in costs.uncounted))
        found.append(
            f"The FLOPs leave out operators that torch has no formula for. Their results hold {elements} numbers: "
            f"{listed(named)}."
        )
    return found


def listed(names: list[str] | tuple[str, ...]) -> str:
    """The first few names."""
    rest = len(names) - MOST_OPERATORS
    return ", ".join(names[:MOST_OPERATORS]) + (f" and {rest} more" if rest > 0 else "")
