"""Changes to other values of the same type: numbers, lengths, strings, flags."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fx_lsp.agent.inventing.argument_kinds import ArgumentKind, is_side, number_for, suggests_number
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan
from fx_lsp.agent.inventing.changes.change import MOST_OPTIONS, Change
from fx_lsp.agent.inventing.changes.tensors import ranks
from fx_lsp.agent.inventing.error_values import frames_of, path_of, suspects_of, used_by

NO_NUMBER = re.compile(r"invalid literal for int|could not convert string to float")
_NO_INTEGER = re.compile(r"object cannot be interpreted as an integer")
"""Python's messages about a string that should be a number, and about a value that should be an integer."""

_NO_SHAPE = re.compile(r"shape '\[([\d, -]+)\]' is invalid for input of size")
"""torch's message about a tensor that can't have a shape."""

_TOO_SMALL = re.compile(r"can't be greater than actual input size|[Oo]utput size is too small|smaller than kernel size")
"""torch's messages about an input that is smaller than a kernel."""

_OF_CHANNELS = re.compile(r"to have \d+ channels|Invalid channel dimensions")
"""torch's messages about an input with another number of channels: a shape without channels may have caused them."""

_ONE_OF = re.compile(r"(?:one of|choose from|available|options|choices|expected)\W*(.*)", re.IGNORECASE)
_WORDS = frozenset({"dict_keys", "are", "is", "in", "the", "list", "tuple", "or", "and", "following", "None"})
"""How messages introduce the options of a string, and the words among these that are none."""

SOME_TEXT = "item"
"""A string that is not empty. As the name of a setting, it suggests a number."""

FEW = 2
"""A small number of submodules."""

LARGER = (64, 128, 256)
"""Heights and widths to try if smaller ones are too small."""

_DIGITS = re.compile(r"\b[1-8]\b")


def fewer(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Smaller numbers, each alone and then all together, since one of them may be the number of submodules."""
    paths = [path for path in suspects_of(error, plan) if path in plan.kinds and plan.kinds[path].name == "number"]
    large = [path for path in paths if plan.kinds[path].value > FEW]
    few = ArgumentKind("number", FEW)
    unclear = [path for path in large if not suggests_number(path.rpartition(".")[2])]
    if len(unclear) > 1:  # several may be counts, and only few builds of this size can be tried
        yield Change(unclear[0], few, others=(*unclear[1:],))
    yield from (Change(path, few, is_of_all=path.endswith("]")) for path in large)
    if large:
        yield Change(large[0], few, others=(*large[1:],))


def larger(error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]) -> Iterator[Change]:
    """Larger heights and widths, if a layer's input is too small for its kernel; all of them at once."""
    if not _TOO_SMALL.search(str(error)):
        return
    for is_wanted in (is_side, lambda name: True):
        paths = [path for path, kind in suspects if kind.name == "number" and is_wanted(path.rpartition(".")[2])]
        for size in LARGER if paths else ():
            yield Change(paths[0], ArgumentKind("number", size), others=(*paths[1:],))


def divisible(error: BaseException, suspects: list[tuple[str, ArgumentKind]]) -> Iterator[Change]:
    """Multiples of the sizes into which a tensor can't be divided, as windows of 7 x 7 can't fill 32 x 32."""
    shape = _NO_SHAPE.match(str(error))
    sizes = dict.fromkeys(map(int, re.findall(r"\d+", shape[1]))) if shape else {}
    for size in [size for size in sizes if size > 1]:
        undivided = [(path, kind) for path, kind in suspects if type(kind.value) is int and kind.value % size]
        for path, kind in undivided:
            multiple = ArgumentKind("number", size * max(round(kind.value / size), 1))
            yield Change(path, multiple, others=(*(one for one, alike in undivided if alike == kind and one != path),))
            yield Change(path, multiple)


def of_same_type(
    error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]
) -> Iterator[Change]:
    """Other numbers, lengths, strings and flags."""
    if "empty" in str(error):
        empty = [path for path, kind in plan.kinds.items() if kind.name == "text" and not kind.value]
        yield from (Change(path, ArgumentKind("text", SOME_TEXT), others=(*empty,)) for path in empty[:1])
        yield from (
            Change(path, ArgumentKind("text", SOME_TEXT), is_of_all=True) for path in empty if path.endswith("]")
        )
    if _OF_CHANNELS.search(str(error)):
        lists = [(path, kind) for path, kind in suspects if kind.name in ("list", "tuple")]
        yield from (Change(path, ArgumentKind(kind.name, 3, kind.items)) for path, kind in lists)
    for path, kind in suspects:
        yield from _numbers(path, kind)
        if item := plan.kinds.get(f"{path}[0]"):
            yield from (change for change in _numbers(f"{path}[0]", item) if change.is_of_all)
        yield from _lengths(path, kind, str(error))
        yield from ranks(path, kind)
        yield from _options(path, kind, error)
        if isinstance(kind.value, bool):
            yield Change(path, replace(kind, value=not kind.value))


def integers(error: BaseException, suspects: list[tuple[str, ArgumentKind]]) -> Iterator[Change]:
    """Integers instead of other values, if Python asks for one."""
    if _NO_INTEGER.search(str(error)):
        yield from (Change(path, ArgumentKind("number", whole(path, kind))) for path, kind in suspects)


def whole(path: str, kind: ArgumentKind) -> int:
    """An integer near the value of ``kind``, or one that suits the name of ``path`` if that is no number."""
    number = kind.value if isinstance(kind.value, int | float) else number_for(path)
    return max(int(number), 1)


def indices(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """If an index was out of range: a number, or all numbers of a list, become 0, an index of any list with items."""
    used = dict.fromkeys(path_of(value, plan.made) for _, value in used_by(error)) if type(error) is IndexError else ()
    for path in [path for path in used if path in plan.kinds and plan.kinds[path].name == "number"]:
        yield Change(path, ArgumentKind("number", 0), is_of_all=path.endswith("]"))
        if rows := plan.in_other_rows(path):
            yield Change(path, ArgumentKind("number", 0), others=(*rows,))


def _numbers(path: str, kind: ArgumentKind) -> Iterator[Change]:
    """Other numbers for the value at ``path``; if this is an item of a list, also for all of the list's items."""
    if kind.name == "number" and isinstance(kind.value, int | float):
        whole = max(int(kind.value), 1)
        others = (1, 2 * whole, 0.5, 4 * whole) if isinstance(kind.value, int) else (whole, 0.5)
        for other in [other for other in others if repr(other) != repr(kind.value)]:
            yield Change(path, ArgumentKind("number", other))
            if path.endswith("]"):
                yield Change(path, ArgumentKind("number", other), is_of_all=True)


def _lengths(path: str, kind: ArgumentKind, text: str) -> Iterator[Change]:
    """Other lengths for a list or a tuple, starting with those that the error message mentions."""
    if kind.name in ("list", "tuple"):
        lengths = dict.fromkeys([*map(int, _DIGITS.findall(text)), 3, 1, 2, 4, 5, 6])
        yield from (
            Change(path, ArgumentKind(kind.name, length, kind.items)) for length in lengths if length != kind.value
        )


def _options(path: str, kind: ArgumentKind, error: BaseException) -> Iterator[Change]:
    """Strings that ``error`` suggests instead of this one: from its message, or the members of an enumeration."""
    if kind.name != "text":
        return
    if NO_NUMBER.search(str(error)):
        yield Change(path, ArgumentKind("text", str(number_for(path))))
    named = _ONE_OF.search(str(error))
    options = re.findall(r"[\w.-]+", named[1].partition(".\n")[0]) if named else []
    options += [text for text in re.findall(r"'([\w.-]+)'", str(error)) if text not in options]
    for frame in frames_of(error.__traceback__):
        enumeration = frame.f_locals.get("cls")
        if isinstance(enumeration, enum.EnumMeta):
            members: dict[str, Any] = dict(enumeration.__members__)
            options += [str(member.value) for member in members.values()]
    for option in [option for option in options if option not in _WORDS][:MOST_OPTIONS]:
        yield Change(path, ArgumentKind("text", option))
