"""Decides what to change about invented arguments after the program has raised an error.

The error's message and the statement that raised it reveal something about the values that the program wants, and so
does the code through which it passed; see `wanted_by_program`.
"""

from __future__ import annotations

import enum
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass, replace
from functools import partial
from types import FunctionType
from typing import Any, Literal

import torch
from torch.nn import Module

from fx_lsp.agent.inventing.argument_kinds import (
    OF_SETTINGS,
    WIDTH,
    ArgumentKind,
    is_placeholder,
    is_side,
    items_of,
    number_for,
    suggests_number,
)
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan, Maker
from fx_lsp.agent.inventing.change import MOST_OPTIONS, Change
from fx_lsp.agent.inventing.context_managers import entered
from fx_lsp.agent.inventing.error_values import frames_of, mentions, names_read, path_of, steps_of, suspects_of, used_by
from fx_lsp.agent.inventing.error_words import is_about_invented
from fx_lsp.agent.inventing.example_spaces import example_spaces
from fx_lsp.agent.inventing.failing_statement import sequence_values, used_values
from fx_lsp.agent.inventing.invented_values import ENTRIES, OF_ARRAYS, TooLarge, module_classes
from fx_lsp.agent.inventing.records_as_mappings import as_mapping
from fx_lsp.agent.inventing.wanted_by_program import avoiding, chosen_from, compared_with, wanted_by_program
from fx_lsp.agent.missing.missing_weights import lacks_weights

_KINDS = (
    *(
        ArgumentKind("module"),
        ArgumentKind("list", 2),
        ArgumentKind("tuple", 2),
        ArgumentKind("class"),
        ArgumentKind("settings"),
    ),
    ArgumentKind("value", None),
)
"""The kinds to try, in this order, for a value that is involved in an error."""

_NO_NAME = re.compile(r"(?i:module) '[\w.]+' has no attribute '(\w+)'")
"""What Python says about a name that a module lacks, and NumPy and SciPy about those that they have removed."""

_QUOTED = re.compile(r"'(\w+)'")
_NO_SEQUENCE = re.compile(r"is not iterable|has no len|is not subscriptable")
_NO_LENGTH = re.compile(r"has no len")
_NO_CALLABLE = re.compile(r"must be (?:a )?callable|is not (?:a )?callable")
_NO_MAPPING = re.compile(r"is not a mapping|must be a mapping|is not iterable|is not subscriptable")
_NO_ORDER = re.compile(r"not supported between instances of|unsupported operand type")
_NO_NUMBER = re.compile(r"invalid literal for int|could not convert string to float")
_NO_INTEGER = re.compile(r"object cannot be interpreted as an integer")
_OTHER_SEQUENCE = re.compile(r'can only concatenate (list|tuple) \(not "(list|tuple)"\)')
_NO_TEXT = re.compile(r"(?:expected|must be|should be) (?:a )?(?:str|string)\b|string or bytes-like")
_NO_KEYWORD = re.compile(r"__init__\(\) got an unexpected keyword argument '(\w+)'")
"""Python's messages about values: one that should be a list, one that should have a length, one that should be a class
or a function, one that should be a mapping, one that should be a number, a string that should be a number, one that
should be an integer, one that should be a list instead of a tuple or the other way round, one that should be a
string, a class whose constructor should take a keyword."""

_NO_ARRAY = re.compile(r"expected np\.ndarray")
"""torch's message about a value that should be an array of NumPy."""

_OF_MAPPINGS = frozenset({"get", "items", "keys", "values"})
"""Attributes that show that a value should be a mapping."""

_CLASS = re.compile(r"<class '(\S+)'>")
"""A class, as messages print it."""

_OF_EMPTY = (LookupError, ZeroDivisionError, StopIteration)
"""Errors that an empty list, or a loop that was never entered, leads to sooner or later."""

_NO_SHAPE = re.compile(r"shape '\[([\d, -]+)\]' is invalid for input of size")
"""torch's message about a tensor that can't have a shape."""

_TOO_SMALL = re.compile(r"can't be greater than actual input size|[Oo]utput size is too small|smaller than kernel size")
"""torch's messages about an input that is smaller than a kernel."""

_OF_CHANNELS = re.compile(r"to have \d+ channels|Invalid channel dimensions")
"""torch's messages about an input with another number of channels: a shape without channels may have caused them."""

_EXPECTED = re.compile(r"expected (?:at least )?(\d+)")
_ONE_OF = re.compile(r"(?:one of|choose from|available|options|choices|expected)\W*(.*)", re.IGNORECASE)
_WORDS = frozenset({"dict_keys", "are", "is", "in", "the", "list", "tuple", "or", "and", "following", "None"})

SOME_TEXT = "item"
"""A string that is not empty. As the name of a setting, it suggests a number."""

FEW = 2
"""A small number of submodules."""

MOST_SUMMED = 3
"""How many numbers become lists at the same time."""

LARGER = (64, 128, 256)
"""Heights and widths to try if smaller ones are too small."""

_WEIGHTS = re.compile(r"pretrain|weight|checkpoint|ckpt|download|url", re.IGNORECASE)
"""The names of parameters that request weights."""

_NUMBERS = (int, float)

_PREFIX = re.compile(r"[a-z]+_$")

_DIGITS = re.compile(r"\b[1-8]\b")


def changes_after(error: BaseException, is_built: bool, plan: ArgumentPlan) -> Iterator[Change]:
    """Changes that may avoid ``error``, the likeliest first. ``is_built``: the trace raised it, not the build."""
    text = str(error)
    if isinstance(error, TypeError) and "required" in text and "argument" in text:
        yield from _required(error, plan)
    elif isinstance(error, TooLarge):
        yield from _fewer(error, plan)
    elif is_about_invented(error):  # the tracer's own checks say nothing about the program
        yield from _slices(error, plan)
    elif _is_of_name(error):  # only a way around the statement helps
        yield from _ways_around(error, plan)
    else:
        yield from _of_values(error, is_built, plan)


def _of_values(error: BaseException, is_built: bool, plan: ArgumentPlan) -> Iterator[Change]:
    """Changes after an error that other values may avoid."""
    text = str(error)
    if not is_built and lacks_weights(error):
        yield from sorted(_switched_off(plan), key=lambda change: not _WEIGHTS.search(change.path))
    if example_spaces(type(getattr(error, "obj", None))):  # a space that lacks an attribute which other spaces have
        yield from _spaces(plan)
    yield from entered(error, plan)
    yield from _of_other_length(error, plan)
    yield from wanted_by_program(error, plan)
    suspects = [(path, plan.kinds[path]) for path in suspects_of(error, plan) if path in plan.kinds]
    optional = [path for path in plan.optional if path not in plan.extra]
    yield from _as_mappings(error, plan, suspects)
    yield from _looked_up(error, plan)
    yield from _indices(error, plan)
    if _NO_INTEGER.search(text):
        yield from (Change(path, ArgumentKind("number", _whole(path, kind))) for path, kind in suspects)
    yield from _larger(error, plan, suspects)
    yield from _divisible(error, suspects)
    yield from _instead_of_settings(error, plan, suspects)
    yield from _arrays(error, plan, suspects)
    if text == "'int' object is not callable":  # an invented module has a number for every attribute
        yield from (Change(path, ArgumentKind("function")) for path, kind in suspects if kind.name == "class")
    if not is_built:
        yield from _of_other_type(error, plan, suspects)
        yield from _taking_keyword(error, suspects)
    yield from _unset(error, plan)
    yield from _placeholders(error, plan)
    yield from _switched_on(error, plan)
    if not is_built:
        yield from _more_or_alike(error, plan, suspects)
    for path, kind in suspects:
        others = (ArgumentKind("value", kind.value),) if kind.name == "object" else _KINDS
        alike = plan.alike(path)  # a loop over them gets no further before each of them has changed
        for other in [other for other in others if other != kind]:
            yield from (Change(path, other, others=together) for together in dict.fromkeys((alike, ())))
    yield from _tensors(error, plan)
    yield from _compared_tensors(error, plan)
    if isinstance(error, _OF_EMPTY):
        yield from (Change(extra=(path,)) for path in plan.placeholders if path not in plan.extra)
    yield from _spaces(plan)
    if not is_built:
        yield from (Change(extra=(path,)) for path in optional)
        yield from _ways_around(error, plan)


def _is_of_name(error: BaseException) -> bool:
    """Whether a name in the program is not defined, or not in a module: ``np.int``, but not ``getattr(nn, kind)``."""
    lacking = _NO_NAME.match(str(error)) if isinstance(error, AttributeError) else None
    written = (name for frame in frames_of(error.__traceback__) for name in frame.f_code.co_names)
    return type(error) is NameError or (lacking is not None and lacking[1] in written)


def _ways_around(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Changes with which the program may not come to the statement that raised ``error``."""
    yield from _switched_off(plan)
    yield from compared_with(plan)
    yield from avoiding(error, plan)
    yield from chosen_from(error.__traceback__, plan, is_found=True)


def _switched_off(plan: ArgumentPlan) -> Iterator[Change]:
    """The parameters of the object being built that can be switched off, each set to "off"."""
    for path, value in plan.switches:
        if path not in plan.extra:
            yield Change(path, ArgumentKind("value", value), (path,))


def _spaces(plan: ArgumentPlan) -> Iterator[Change]:
    """Other spaces of observations or actions, e.g. images. The error may be about an array that a space has made."""
    for path, kind in list(plan.kinds.items()):
        cls = kind.value if kind.name == "object" else type(kind.value)
        others = kind.items if kind.name == "value" and kind.items else ()
        others = others or (example_spaces(cls) if kind.name in ("object", "value") else ())
        yield from (Change(path, ArgumentKind("value", other)) for other in others if other != kind.value)


def _of_other_length(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """A list as long as ``error`` expects it to be."""
    expected = _EXPECTED.search(str(error))
    if isinstance(error, ValueError) and expected and plan.last_iterated:
        path, kind = plan.last_iterated[0], ArgumentKind("list", int(expected[1]))
        yield Change(path, kind)
        yield Change(path, kind, is_of_all=True)
        if path.endswith("]"):  # a loop in a loop gets no further before the items of both lists have that length
            depth = path.count("[")
            items = (one for one in plan.kinds if one.endswith("]") and one.count("[") == depth)
            yield Change(path, kind, others=(*items,))


def _more_or_alike(
    error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]
) -> Iterator[Change]:
    """The arguments that base classes require, other values of the same types, and arguments that ``error`` names."""
    if plan.inherited:
        yield Change(extra=plan.inherited)
    yield from _of_same_type(error, plan, suspects)
    if named := plan.taken(re.findall(r"\w+", str(error)), by_name=True):
        yield Change(extra=named)


def _required(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """The arguments that a call lacks, as ``error`` says, or a class in place of a module that is called for one."""
    text = str(error)
    names = _QUOTED.findall(text)
    for path in plan.last_unpacked:
        yield Change(path, settings=tuple(names))
        if others := plan.in_other_items(path):  # a loop gets no further before each item has them
            yield Change(path, settings=tuple(names), others=(*others,))
    named = plan.taken(names)
    yield Change(extra=named)
    if more := [one for one in plan.inherited if one not in named]:
        yield Change(extra=(*named, *more))  # Python names keyword-only arguments only once no others are missing
    prefixes = _prefixes(plan.cls)
    if prefixes:
        yield Change(extra=plan.taken(f"{prefix}{name}" for prefix in prefixes for name in names))
    yield from _completed_classes(error, names, plan)
    yield from _completed_mappings(error, names, plan)
    if ".forward()" in text:
        called = [path for path in suspects_of(error, plan) if path in plan.kinds]
        yield from (Change(path, ArgumentKind("class")) for path in called if plan.kinds[path].name == "module")
        modules = [source.rpartition(".")[2] for source, value in used_by(error) if isinstance(value, Module)]
        for path in plan.taken(modules, by_name=True):  # the program refuses its own default
            yield Change(path, ArgumentKind("class"), (path,))


def _completed_classes(error: BaseException, names: Sequence[str], plan: ArgumentPlan) -> Iterator[Change]:
    """A default that is a class, with the arguments ``names`` that the program's call of it lacks.

    ``conv=nn.Conv2d`` becomes ``partial(nn.Conv2d, kernel_size=3)`` where the program calls ``conv(width, width)``.
    """
    for source, value in used_by(error):
        path = plan.taken([source.rpartition(".")[2]], by_name=True) if isinstance(value, type) else ()
        if path and mentions(error, f"{value.__name__}.__init__"):
            completed = partial(value, **{name: number_for(name) for name in names})
            yield Change(path[0], ArgumentKind("value", completed), path)


def _completed_mappings(error: BaseException, names: Sequence[str], plan: ArgumentPlan) -> Iterator[Change]:
    """A dictionary with the arguments ``names``, in place of an empty default that a call unpacks which lacks them.

    ``options={}`` gets a ``kernel_size`` where the program calls ``nn.Conv2d(width, width, **options)``.
    """
    for source, value in used_by(error):
        if type(value) is dict and not value and (path := plan.taken([source.rpartition(".")[2]], by_name=True)):
            yield Change(path[0], ArgumentKind("dictionary"), path, tuple(names))


def _fewer(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
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


def _of_other_type(
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
    refused = _CLASS.findall(text)
    for path, kind in suspects:  # what the program or a package prints the class of may have to be a plain number
        if kind.name == "number" and any(name.endswith(f".{path}") for name in refused):
            yield Change(path, ArgumentKind("value", kind.value))
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


def _as_mappings(
    error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]
) -> Iterator[Change]:
    """Objects of data classes that are mappings, too, if the program reads them as such: ``Layer(**config)``."""
    is_asked = isinstance(error, AttributeError) and error.name in _OF_MAPPINGS
    if not is_asked and not (isinstance(error, TypeError) and _NO_MAPPING.search(str(error))):
        return
    for path, kind in suspects:
        is_record = kind.name == "object" and isinstance(kind.value, type) and is_dataclass(kind.value)
        if is_record and (mapping := as_mapping(kind.value)):
            yield Change(path, ArgumentKind("object", mapping), others=(*plan.in_other_items(path),))


def _instead_of_settings(
    error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]
) -> Iterator[Change]:
    """Something with a length, or a number, if the program uses settings so; settings whose names are integers."""
    text = str(error)
    for path, kind in suspects:
        if kind.name == "settings" and _NO_LENGTH.search(text):
            yield Change(path, replace(kind, name="vocabulary"))
        if kind.name == "settings" and _NO_ORDER.search(text) and mentions(error, path):
            yield Change(path, ArgumentKind("number", WIDTH), others=plan.alike(path))
    if _NO_NUMBER.search(text) and any(f"'{name}'" in text for name in ENTRIES):
        yield from (Change(path, ArgumentKind("settings", ("0", "1"))) for path in plan.last_unpacked)


def _arrays(error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]) -> Iterator[Change]:
    """An array of NumPy, if torch asks for one; a tensor instead of another value that was passed to `Parameter`."""
    if _NO_ARRAY.search(str(error)):
        shapes = [(path, kind.value if kind.name == "tensor" else (WIDTH, WIDTH)) for path, kind in suspects]
        yield from (Change(path, ArgumentKind("array", shape)) for path, shape in shapes)
    for frame in frames_of(error.__traceback__):
        if frame.f_code is torch.nn.Parameter.__new__.__code__:
            path = path_of(frame.f_locals.get("data"), plan.made)
            if path in plan.kinds:
                yield Change(path, ArgumentKind("tensor", (WIDTH,)))


def _taking_keyword(error: BaseException, suspects: list[tuple[str, ArgumentKind]]) -> Iterator[Change]:
    """Other classes, with constructors that take the keyword that ``error`` refuses: ``norm(width, momentum=0.1)``."""
    refused = _NO_KEYWORD.search(str(error)) if isinstance(error, TypeError) else None
    for path in [path for path, kind in suspects if kind.name == "class"] if refused else ():
        for cls in module_classes(path.rpartition(".")[2]):
            if refused and refused[1] in inspect.signature(cls).parameters:
                yield Change(path, ArgumentKind("value", cls))


_OF_TENSORS = OF_ARRAYS | {"clone", "expand", "float", "long", "permute", "reshape", "to", "unsqueeze", "view"}
"""Attributes that show that a value should be a tensor."""


def _tensors(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """A tensor instead of the value that lacks an attribute of tensors: an invented one, or a parameter's default."""
    if not isinstance(error, AttributeError) or error.obj is None or error.name not in _OF_TENSORS:
        return
    path, tensor = path_of(error.obj, plan.made), ArgumentKind("tensor", (WIDTH,))
    if path in plan.kinds:
        yield Change(path, tensor)
    else:
        named = [source.rpartition(".")[2] for source, value in used_by(error) if value is error.obj]
        yield from (Change(one, tensor, (one,)) for one in plan.taken(named, by_name=True))


_OF_COMPARED = frozenset({"all", "any", "float", "int", "long", "nonzero", "sum", "to", "unsqueeze"})
"""Attributes of the results of comparisons, if tensors were compared."""


def _compared_tensors(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Tensors instead of the numbers that were compared, if the result should be one: ``(adj > 0).nonzero()``."""
    if isinstance(error, AttributeError) and isinstance(error.obj, bool) and error.name in _OF_COMPARED:
        compared = [path for path in sorted(plan.tested) if path in plan.kinds and plan.kinds[path].name == "number"]
        yield from (Change(path, ArgumentKind("tensor", (WIDTH, WIDTH))) for path in compared)


def _slices(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Slices instead of settings of which only the bounds were read, which the program passes to an operation."""
    for path in [path for path in suspects_of(error, plan) if path in plan.kinds]:
        read = {one.rpartition(".")[2] for one in plan.kinds if one.startswith(f"{path}.")}
        is_slice = read <= {"start", "stop", "step"} and not read.isdisjoint({"start", "stop"})
        if plan.kinds[path].name == "settings" and is_slice:
            others = (*plan.in_other_items(path), *plan.in_other_settings(path))
            yield Change(path, ArgumentKind("value", slice(0, FEW)), others=others)


def _ranks(path: str, kind: ArgumentKind) -> Iterator[Change]:
    """Tensors of other ranks, with the same size in every dimension."""
    if kind.name in ("tensor", "array"):
        shapes = ((WIDTH, WIDTH), (), (WIDTH,), (1, WIDTH, WIDTH))
        yield from (Change(path, replace(kind, value=shape)) for shape in shapes if shape != kind.value)


def _unset(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Arguments for parameters whose default is None, if ``error`` or a failed check says that None is not enough."""
    is_of_none = isinstance(error, TypeError | AttributeError) and "NoneType" in str(error)
    if is_of_none or isinstance(error, AssertionError | ValueError):
        lacking = _defaults_used(error, plan, lambda value: value is None)
        yield from (Change(extra=(path,), is_due=True) for path in lacking)
        if len(lacking) > 1:
            yield Change(extra=lacking)  # `tgt_len + mem_len` gets no further before both are there
        yield from (Change(extra=paths) for paths in plan.unset(names_read(error)))


def _placeholders(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Arguments for parameters whose defaults only hold a place, such as ``ch=()``, where one was used and failed."""
    if isinstance(error, AttributeError) and error.name in _OF_TENSORS:
        return  # what is needed is a tensor
    yield from (Change(extra=(path,), is_due=True) for path in _defaults_used(error, plan, is_placeholder))


def _switched_on(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """True for parameters whose default is False, if a check that failed got that: ``assert return_intermediate``."""
    if isinstance(error, AssertionError | ValueError):
        off = _defaults_used(error, plan, lambda value: value is False)
        yield from (Change(path, ArgumentKind("value", True), (path,)) for path in off)


def _defaults_used(error: BaseException, plan: ArgumentPlan, is_wanted: Callable[[Any], bool]) -> tuple[str, ...]:
    """The paths of the parameters whose defaults the program had used when it failed, if they are wanted.

    Parameters of invented objects count, as that of ``args`` in ``nn.Embedding(args.rows, args.width)`` does.
    """
    used = list(used_by(error))
    owners = dict(used)
    found: dict[str, None] = {}
    for source, value in used:
        if is_wanted(value):
            owner, _, name = source.rpartition(".")
            paths = (*plan.taken([name], by_name=True), *plan.taken_by(owners.get(owner), name))
            found |= dict.fromkeys(paths)
    return (*found,)


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


def _larger(error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]) -> Iterator[Change]:
    """Larger heights and widths, if a layer's input is too small for its kernel; all of them at once."""
    if not _TOO_SMALL.search(str(error)):
        return
    for is_wanted in (is_side, lambda name: True):
        paths = [path for path, kind in suspects if kind.name == "number" and is_wanted(path.rpartition(".")[2])]
        for size in LARGER if paths else ():
            yield Change(paths[0], ArgumentKind("number", size), others=(*paths[1:],))


def _divisible(error: BaseException, suspects: list[tuple[str, ArgumentKind]]) -> Iterator[Change]:
    """Multiples of the sizes into which a tensor can't be divided, as windows of 7 x 7 can't fill 32 x 32."""
    shape = _NO_SHAPE.match(str(error))
    sizes = dict.fromkeys(map(int, re.findall(r"\d+", shape[1]))) if shape else {}
    for size in [size for size in sizes if size > 1]:
        undivided = [(path, kind) for path, kind in suspects if type(kind.value) is int and kind.value % size]
        for path, kind in undivided:
            multiple = ArgumentKind("number", size * max(round(kind.value / size), 1))
            yield Change(path, multiple, others=(*(one for one, alike in undivided if alike == kind and one != path),))
            yield Change(path, multiple)


def _of_same_type(
    error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]
) -> Iterator[Change]:
    """Other numbers, lengths and strings."""
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
        yield from _ranks(path, kind)
        yield from _options(path, kind, error)


def _numerals(path: str, kind: ArgumentKind) -> tuple[str, str]:
    """Strings that can be evaluated, like options of a command line: a list of integers, and an integer."""
    number = _whole(path, kind)
    return str([number] * items_of(path)), str(number)


def _whole(path: str, kind: ArgumentKind) -> int:
    """An integer near the value of ``kind``, or one that suits the name of ``path`` if that is no number."""
    number = kind.value if isinstance(kind.value, int | float) else number_for(path)
    return max(int(number), 1)


def _looked_up(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """What the program looked up without success: a keyword argument, or an attribute of an object of settings.

    It may have copied the settings whose names it asked for last, with its own spelling: ``{k.lower(): v for …}``.
    """
    wanted = _name_looked_up(error)
    if not wanted.isidentifier():
        return
    yield Change(extra=plan.taken([wanted]))
    path = path_of(getattr(error, "obj", None), plan.made)
    kind = plan.kinds[path].name if path in plan.kinds else ""
    if kind in OF_SETTINGS or kind == "object":  # a class of its own, without this
        yield Change(path, settings=(wanted,))
    elif not path:
        names = dict.fromkeys((wanted, wanted.upper()))
        yield from (Change(copied, settings=(name,)) for copied in plan.last_unpacked for name in names)


def _name_looked_up(error: BaseException) -> str:
    """The name of the attribute or key that was not found; empty if ``error`` is about something else.

    An AttributeError that a program's own ``__getattr__`` raises does not have the name, but the method received it.
    """
    found: object = None
    if isinstance(error, KeyError):
        found = next(iter(error.args), None)
    elif isinstance(error, AttributeError) and error.name is not None:
        found = error.name
    elif isinstance(error, AttributeError):
        getters = [frame for frame in frames_of(error.__traceback__)[:1] if frame.f_code.co_name == "__getattr__"]
        found = next((frame.f_locals.get(frame.f_code.co_varnames[1]) for frame in getters), None)
    return found if isinstance(found, str) else ""


def _indices(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """If an index was out of range: a number, or all numbers of a list, become 0, an index of any list with items."""
    used = dict.fromkeys(path_of(value, plan.made) for _, value in used_by(error)) if type(error) is IndexError else ()
    for path in [path for path in used if path in plan.kinds and plan.kinds[path].name == "number"]:
        yield Change(path, ArgumentKind("number", 0), is_of_all=path.endswith("]"))
        if rows := plan.in_other_rows(path):
            yield Change(path, ArgumentKind("number", 0), others=(*rows,))


def _prefixes(cls: Maker) -> list[str]:
    """Prefixes that the module of ``cls`` may strip from keywords to pass them on, e.g. ``enc_`` in ``enc_depth``."""
    home = sys.modules.get(cls.__module__)  # a class can claim to be from any module
    values = [] if home is None else list(vars(home).values())
    functions = [value for value in (*values, getattr(cls, "__init__", None)) if isinstance(value, FunctionType)]
    own = [function.__code__ for function in functions if function.__module__ == cls.__module__]
    texts = [value for value in (*values, *(text for code in own for text in code.co_consts)) if isinstance(value, str)]
    return list(dict.fromkeys(text for text in texts if _PREFIX.match(text)))


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
    if _NO_NUMBER.search(str(error)):
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
