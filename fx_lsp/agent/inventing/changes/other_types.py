"""Changes to values of other types: those that an error asks for."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from typing import Any, Literal

from fx_lsp.agent.inventing.argument_kinds import WIDTH, ArgumentKind, items_of, number_for
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan
from fx_lsp.agent.inventing.changes.change import Change
from fx_lsp.agent.inventing.changes.other_values import FEW, NO_NUMBER, whole
from fx_lsp.agent.inventing.changes.records_as_mappings import as_mapping
from fx_lsp.agent.inventing.error_values import mentions, path_of, steps_of, suspects_of, used_by
from fx_lsp.agent.inventing.failing_statement import sequence_values, used_values
from fx_lsp.agent.inventing.invented_values import ENTRIES, module_classes

_NO_SEQUENCE = re.compile(r"is not iterable|has no len|is not subscriptable")
_NO_LENGTH = re.compile(r"has no len")
_NO_CALLABLE = re.compile(r"must be (?:a )?callable|is not (?:a )?callable")
_NO_MAPPING = re.compile(r"is not a mapping|must be a mapping|is not iterable|is not subscriptable")
_NO_ORDER = re.compile(r"not supported between instances of|unsupported operand type")
_OTHER_SEQUENCE = re.compile(r'can only concatenate (list|tuple) \(not "(list|tuple)"\)')
_NO_TEXT = re.compile(r"(?:expected|must be|should be) (?:a )?(?:str|string)\b|string or bytes-like")
_NO_KEYWORD = re.compile(r"__init__\(\) got an unexpected keyword argument '(\w+)'")
"""Python's messages about values: one that should be a list, one that should have a length, one that should be a class
or a function, one that should be a mapping, one that should be a number, one that should be a list instead of a tuple
or the other way round, one that should be a string, a class whose constructor should take a keyword."""

_OF_MAPPINGS = frozenset({"get", "items", "keys", "values"})
"""Attributes that show that a value should be a mapping."""

_REFUSED = re.compile(r"<class '(\S+)'>|Value '(\S+)' is not a supported")
"""A class in a message, printed by Python or by OmegaConf, which refuses values of unknown classes. The class of an
invented number has the name of its path."""

MOST_SUMMED = 3
"""How many numbers become lists at the same time."""

_NUMBERS = (int, float)


def of_other_type(
    error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]
) -> Iterator[Change]:
    """Values of the type that ``error`` asks for: a string, lists instead of numbers."""
    text = str(error)
    if not isinstance(error, TypeError | AttributeError):
        return
    if _NO_TEXT.search(text):
        yield from (Change(path, ArgumentKind("text", "", certain=False)) for path, _ in suspects)
        yield from (
            Change(path, ArgumentKind("text", text)) for path, kind in suspects for text in _numerals(path, kind)
        )
    if _NO_ORDER.search(text):  # a plain number, since the program also compares it with strings
        texts = [path for path, kind in suspects if kind.name == "text" and mentions(error, path)]
        yield from (Change(path, ArgumentKind("value", number_for(path.rpartition(".")[2]))) for path in texts)
    if joined := _OTHER_SEQUENCE.search(text):
        yield from _as_other_sequences(error, plan, suspects, list if joined[1] == "list" else tuple)
    for path in [path for path, kind in suspects if kind.name == "text" and mentions(error, path)]:
        yield Change(path, ArgumentKind("number", number_for(path.rpartition(".")[2])))
    if _NO_CALLABLE.search(text):  # `partial(norm_layer)`; of what is called itself, the error names the path
        yield from (Change(path, ArgumentKind("class")) for path, kind in suspects if kind.name != "class")
    if _NO_SEQUENCE.search(text):  # it may be computed from several numbers, all of which have to be lists
        first, *others = _summed(error, plan) or [""]
        if others:
            yield Change(first, ArgumentKind("list", items_of(first)), others=(*others,))
        for path in plan.taken(_numbers_as_sequences(error), by_name=True):  # the program refuses its own default
            yield Change(path, ArgumentKind("list", items_of(path)), (path,))
            yield Change(path, ArgumentKind("value", [number_for(path)] * items_of(path)), (path,))  # `type(x) is list`


def _as_other_sequences(
    error: BaseException,
    plan: ArgumentPlan,
    suspects: list[tuple[str, ArgumentKind]],
    wanted: type[list[Any] | tuple[Any, ...]],
) -> Iterator[Change]:
    """Lists instead of tuples or the other way round, also in place of the program's own defaults."""
    name: Literal["list", "tuple"] = "list" if wanted is list else "tuple"
    for path, kind in suspects:
        if kind.name in ("list", "tuple") and kind.name != name:
            yield Change(path, replace(kind, name=name))
    for source, value in used_by(error):
        if type(value) in (list, tuple) and type(value) is not wanted:
            for path in plan.taken([source.rpartition(".")[2]], by_name=True):
                yield Change(path, ArgumentKind("value", wanted(value)), (path,))


def as_mappings(error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]) -> Iterator[Change]:
    """Objects of data classes that are mappings, too, if the program reads them as such: ``Layer(**config)``."""
    is_asked = isinstance(error, AttributeError) and error.name in _OF_MAPPINGS
    if not is_asked and not (isinstance(error, TypeError) and _NO_MAPPING.search(str(error))):
        return
    for path, kind in suspects:
        is_record = kind.name == "object" and isinstance(kind.value, type) and is_dataclass(kind.value)
        if is_record and (mapping := as_mapping(kind.value)):
            yield Change(path, ArgumentKind("object", mapping), others=(*plan.in_other_items(path),))


def instead_of_settings(
    error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]
) -> Iterator[Change]:
    """Something with a length, or a number, if the program uses settings so; settings whose names are integers."""
    text = str(error)
    for path, kind in suspects:
        if kind.name == "settings" and _NO_LENGTH.search(text):
            yield Change(path, replace(kind, name="vocabulary"))
        if kind.name == "settings" and _NO_ORDER.search(text) and mentions(error, path):
            yield Change(path, ArgumentKind("number", WIDTH), others=plan.alike(path))
    if NO_NUMBER.search(text) and any(f"'{name}'" in text for name in ENTRIES):
        yield from (Change(path, ArgumentKind("settings", ("0", "1"))) for path in plan.last_unpacked)


def taking_keyword(error: BaseException, suspects: list[tuple[str, ArgumentKind]]) -> Iterator[Change]:
    """Other classes, with constructors that take the keyword that ``error`` refuses: ``norm(width, momentum=0.1)``."""
    refused = _NO_KEYWORD.search(str(error)) if isinstance(error, TypeError) else None
    for path in [path for path, kind in suspects if kind.name == "class"] if refused else ():
        for cls in module_classes(path.rpartition(".")[2]):
            if refused and refused[1] in inspect.signature(cls).parameters:
                yield Change(path, ArgumentKind("value", cls))


def plain_numbers(error: BaseException, suspects: list[tuple[str, ArgumentKind]]) -> Iterator[Change]:
    """Numbers of Python's own types, if the program or a package prints the class of one, which it has refused."""
    refused = {name for names in _REFUSED.findall(str(error)) for name in names}
    for path, kind in suspects:
        if kind.name == "number" and any(f".{name}".endswith(f".{path}") for name in refused):
            yield Change(path, ArgumentKind("value", kind.value))


def slices(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Slices instead of settings of which only the bounds were read, which the program passes to an operation."""
    for path in [path for path in suspects_of(error, plan) if path in plan.kinds]:
        read = {one.rpartition(".")[2] for one in plan.kinds if one.startswith(f"{path}.")}
        is_slice = read <= {"start", "stop", "step"} and not read.isdisjoint({"start", "stop"})
        if plan.kinds[path].name == "settings" and is_slice:
            others = (*plan.in_other_items(path), *plan.in_other_settings(path))
            yield Change(path, ArgumentKind("value", slice(0, FEW)), others=others)


def _numbers_as_sequences(error: BaseException) -> list[str]:
    """The names of the numbers that the failing statement uses as sequences."""
    steps = steps_of(error.__traceback__)[:1]
    used = (pair for frame, line in steps for pair in sequence_values(frame, line))
    return list(dict.fromkeys(source.rpartition(".")[2] for source, value in used if type(value) in _NUMBERS))


def _summed(error: BaseException, plan: ArgumentPlan) -> list[str]:
    """The paths of the numbers from which the value was computed that should be a sequence.

    If the failing function only received the value, those that the nearest calling statement used.
    """
    for at, (frame, line) in enumerate(steps_of(error.__traceback__)):
        read = used_values(frame, line) if at else sequence_values(frame, line)
        paths = dict.fromkeys(path_of(value, plan.made) for _, value in read)
        if numbers := [path for path in paths if path in plan.kinds and plan.kinds[path].name == "number"]:
            return numbers[:MOST_SUMMED]
    return []


def _numerals(path: str, kind: ArgumentKind) -> tuple[str, str]:
    """Strings that can be evaluated, like options of a command line: a list of integers, and an integer."""
    number = whole(path, kind)
    return str([number] * items_of(path)), str(number)
