"""Decides what to change about invented arguments after the program has raised an error.

The error's message and the statement that raised it reveal something about the values that the program wants, and so
does the code through which it passed; see `wanted_by_program`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fx_lsp.agent.inventing.argument_kinds import ArgumentKind
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan
from fx_lsp.agent.inventing.changes.change import Change
from fx_lsp.agent.inventing.changes.context_managers import entered
from fx_lsp.agent.inventing.changes.defaults import placeholders, required, switched_off, switched_on, unset
from fx_lsp.agent.inventing.changes.missing_names import looked_up
from fx_lsp.agent.inventing.changes.named_children import with_named_children
from fx_lsp.agent.inventing.changes.other_types import (
    as_mappings,
    instead_of_settings,
    of_other_type,
    plain_numbers,
    slices,
    taking_keyword,
)
from fx_lsp.agent.inventing.changes.other_values import divisible, fewer, indices, integers, larger, of_same_type
from fx_lsp.agent.inventing.changes.tensors import arrays, compared_tensors, tensors
from fx_lsp.agent.inventing.changes.wanted_by_program import avoiding, chosen_from, compared_with, wanted_by_program
from fx_lsp.agent.inventing.error_values import frames_of, suspects_of
from fx_lsp.agent.inventing.error_words import is_about_invented
from fx_lsp.agent.inventing.example_spaces import example_spaces
from fx_lsp.agent.inventing.invented_values import TooLarge
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

_OF_EMPTY = (LookupError, ZeroDivisionError, StopIteration)
"""Errors that an empty list, or a loop that was never entered, leads to sooner or later."""

_EXPECTED = re.compile(r"expected (?:at least )?(\d+)")
"""Python's message about the number of items that an assignment to several names needs."""

_WEIGHTS = re.compile(r"pretrain|weight|checkpoint|ckpt|download|url", re.IGNORECASE)
"""The names of parameters that request weights."""


def changes_after(error: BaseException, is_built: bool, plan: ArgumentPlan) -> Iterator[Change]:
    """Changes that may avoid ``error``, the likeliest first. ``is_built``: the trace raised it, not the build."""
    text = str(error)
    if isinstance(error, TypeError) and "required" in text and "argument" in text:
        yield from required(error, plan)
    elif isinstance(error, TooLarge):
        yield from fewer(error, plan)
    elif is_about_invented(error):  # the tracer's own checks say nothing about the program
        yield from slices(error, plan)
    elif _is_of_name(error):  # only a way around the statement helps
        yield from _ways_around(error, plan)
    else:
        yield from _of_values(error, is_built, plan)


def _of_values(error: BaseException, is_built: bool, plan: ArgumentPlan) -> Iterator[Change]:
    """Changes after an error that other values may avoid."""
    text = str(error)
    if not is_built and lacks_weights(error):
        yield from sorted(switched_off(plan), key=lambda change: not _WEIGHTS.search(change.path))
    if example_spaces(type(getattr(error, "obj", None))):  # a space that lacks an attribute which other spaces have
        yield from _spaces(plan)
    yield from entered(error, plan)
    yield from _of_other_length(error, plan)
    yield from wanted_by_program(error, plan)
    suspects = [(path, plan.kinds[path]) for path in suspects_of(error, plan) if path in plan.kinds]
    optional = [path for path in plan.optional if path not in plan.extra]
    yield from as_mappings(error, plan, suspects)
    yield from looked_up(error, plan)
    yield from with_named_children(error, plan)
    yield from indices(error, plan)
    yield from integers(error, suspects)
    yield from larger(error, plan, suspects)
    yield from divisible(error, suspects)
    yield from instead_of_settings(error, plan, suspects)
    yield from arrays(error, plan, suspects)
    if text == "'int' object is not callable":  # an invented module has a number for every attribute
        yield from (Change(path, ArgumentKind("function")) for path, kind in suspects if kind.name == "class")
    if not is_built:
        yield from of_other_type(error, plan, suspects)
        yield from plain_numbers(error, suspects)
        yield from taking_keyword(error, suspects)
    yield from unset(error, plan)
    yield from placeholders(error, plan)
    yield from switched_on(error, plan)
    if not is_built:
        yield from _more_or_alike(error, plan, suspects)
    for path, kind in suspects:
        others = (ArgumentKind("value", kind.value),) if kind.name == "object" else _KINDS
        alike = plan.alike(path)  # a loop over them gets no further before each of them has changed
        for other in [other for other in others if other != kind]:
            yield from (Change(path, other, others=together) for together in dict.fromkeys((alike, ())))
    yield from tensors(error, plan)
    yield from compared_tensors(error, plan)
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
    yield from switched_off(plan)
    yield from compared_with(plan)
    yield from avoiding(error, plan)
    yield from chosen_from(error.__traceback__, plan, is_found=True)


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
    yield from of_same_type(error, plan, suspects)
    if named := plan.taken(re.findall(r"\w+", str(error)), by_name=True):
        yield Change(extra=named)
