"""Changes of invented arguments that the code suggests through which an error passed.

Its checks, tests of types, lookups and comparisons show which values the program wants.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import errno
import inspect
import typing
from collections.abc import Iterator, Mapping
from functools import partial
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import Any

import torch

from fx_lsp.agent.frame_code import tree_of, value_of
from fx_lsp.agent.inventing.argument_kinds import ArgumentKind, KindName, class_behind, first_guess, items_of
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan
from fx_lsp.agent.inventing.changes.change import MOST_OPTIONS, Change
from fx_lsp.agent.inventing.checks.failed_checks import (
    Passing,
    class_names_in_check,
    flags_before,
    lists_in_check,
    names_in_check,
    passing_attributes,
    passing_defaults,
    passing_options,
    passing_values,
    passing_without,
)
from fx_lsp.agent.inventing.checks.joint_checks import passing_together
from fx_lsp.agent.inventing.checks.wanted_shapes import wanted_shapes
from fx_lsp.agent.inventing.error_values import frames_of, path_of, steps_of, used_by
from fx_lsp.agent.inventing.invented_values import InventedSettings, Misused, Probe, plain
from fx_lsp.agent.inventing.looked_up import Lookup, lookups


def wanted_by_program(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Changes suggested by the code that ``error`` passed through: its checks, type tests, lookups and comparisons."""
    yield from _checked_for(error.__traceback__, plan)
    if isinstance(error, AttributeError) and isinstance(error.obj, torch.nn.Module):
        yield from _creating(error.name or "", error.obj, plan)
    if isinstance(error, ImportError | NotImplementedError):  # no other value makes what is missing available
        yield from avoiding(error, plan)
    yield from _asked_for(error.__traceback__, plan)
    yield from _of_exact_type(error.__traceback__, plan)
    yield from chosen_from(error.__traceback__, plan)
    if isinstance(error, OSError) and error.errno in _NO_FILE:
        yield from _existing(error, plan)
    if isinstance(error, AttributeError | UnboundLocalError | NotImplementedError | ValueError | SystemExit):
        yield from compared_with(plan)


def _creating(name: str, owner: torch.nn.Module, plan: ArgumentPlan) -> Iterator[Change]:
    """Arguments with which a constructor sets an attribute that it has left out: ``if groups > 0: self.norm = …``."""
    constructor = inspect.unwrap(type(owner).__init__)
    code = getattr(constructor, "__code__", None)
    tree = tree_of(code) if code is not None else None
    tests = (test for node in (tree.body if tree is not None else ()) for test in _tests_before(node, name))
    asked = dict.fromkeys(part for test in tests for part in _identifiers(test))
    parameters = inspect.signature(constructor).parameters
    defaults = {one: parameters[one].default for one in asked if one in parameters}
    for one, default in defaults.items():
        for path in plan.taken([one], by_name=True):
            now = plan.kinds[path].value if path in plan.kinds else default
            if isinstance(now, bool):
                yield Change(path, ArgumentKind("value", not now), (path,))
            elif path not in plan.kinds:
                yield Change(extra=(path,))


def _tests_before(node: ast.AST, name: str) -> Iterator[ast.expr]:
    """The tests that decide whether code sets the attribute ``name``, the innermost first."""
    for inner in ast.iter_child_nodes(node):
        yield from _tests_before(inner, name)
    is_set = (
        isinstance(part, ast.Attribute) and part.attr == name and isinstance(part.ctx, ast.Store)
        for part in ast.walk(node)
    )
    if isinstance(node, ast.If) and any(is_set):
        yield node.test


def _identifiers(test: ast.expr) -> Iterator[str]:
    """The names in a test, those of attributes too."""
    for part in ast.walk(test):
        match part:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name


_NO_FILE = frozenset({errno.ENOENT, errno.EISDIR, errno.EBADF})
"""What opening a file that does not exist, a folder, or a number leads to. The latter is for files that are open."""


def _existing(error: OSError, plan: ArgumentPlan) -> Iterator[Change]:
    """Files of the workspace instead of one that does not exist. `pathlib` takes an empty path for the folder."""
    name = plain(error.filename)
    opened = {path_of(value, plan.made) for _, value in used_by(error)} if error.errno == errno.EBADF else ()
    for path, kind in list(plan.kinds.items()):
        if path in opened or (kind.name == "text" and kind.value in (name, "")):
            yield from (Change(path, ArgumentKind("text", file)) for file in plan.files(path.rpartition(".")[2]))
    for path in plan.defaulting_to(name) if isinstance(name, str) else ():
        yield from (Change(path, ArgumentKind("text", file), (path,)) for file in plan.files(path.rpartition(".")[2]))


def avoiding(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Changes with which a branch that led to the error is not taken: ``if cfg.checkpoint: require_fairscale()``."""
    for frame, line in steps_of(error.__traceback__):
        for path in flags_before(frame, line, lambda value: path_of(value, plan.made)):
            if path in plan.kinds:
                yield Change(path, ArgumentKind("value", False))


def _checked_for(traceback: TracebackType | None, plan: ArgumentPlan) -> Iterator[Change]:
    """Changes that would make the check that raised the error pass."""
    steps = [(frame, line) for frame, line in walk_tb(traceback) if frame.f_globals.get("__name__") != Probe.__module__]
    if not steps:
        return
    frame, line = steps[-1]
    made_at = partial(path_of, made=plan.made)
    yield from (Change(path, ArgumentKind("value", None)) for path in passing_without(frame, line, made_at))
    for passing in passing_values(frame, line, made_at):
        kind = plan.kinds.get(passing.path)
        if kind is not None:
            yield from _of_one_and_all(Change(passing.path, _kind_passing(passing, kind)))
    for together in passing_together(frame, line, made_at):
        kinds = [(one.path, _kind_passing(one, plan.kinds[one.path])) for one in together if one.path in plan.kinds]
        if kinds:
            yield Change(*kinds[0], also=(*kinds[1:],))
    shaped = [(one, ArgumentKind("tensor", shape)) for one, shape in wanted_shapes(frame, line, made_at)]
    shaped = [(one, kind) for one, kind in shaped if one in plan.kinds]
    if len(shaped) > 1:
        yield Change(*shaped[0], also=(*shaped[1:],))
    yield from (Change(one, kind) for one, kind in shaped)
    for name, wanted in class_names_in_check(frame, line):
        if name in plan.kinds:  # the class of an invented value has the name of its path
            yield Change(name, ArgumentKind("named", wanted))
    yield from _other_options(frame, line, plan)


def _of_one_and_all(change: Change) -> Iterator[Change]:
    """A change of an item of a list, and of all items: a loop over them may get no further before all are changed."""
    yield change
    if change.path.endswith("]"):
        yield dataclasses.replace(change, is_of_all=True)


def _kind_passing(passing: Passing, kind: ArgumentKind) -> ArgumentKind:
    """The kind that passes a check where ``kind`` does not."""
    if passing.is_length:
        known = kind if kind.name in ("list", "tuple") else ArgumentKind("list")
        return dataclasses.replace(known, value=passing.value)
    return ArgumentKind("value" if isinstance(passing.value, list) else "number", passing.value)


def _other_options(frame: FrameType, line: int, plan: ArgumentPlan) -> Iterator[Change]:
    """Other settings, and arguments in place of defaults, that would make the check at ``line`` of ``frame`` pass."""
    for owner, attribute, value in passing_attributes(frame, line):
        if (path := path_of(owner, plan.made)) in plan.kinds:
            yield Change(f"{path}.{attribute}", ArgumentKind("value", value), (f"{path}.{attribute}",))
    for option, value in passing_options(frame, line):
        for path in plan.taken([option], by_name=True):
            yield Change(path, ArgumentKind("value", value), (path,), is_due=isinstance(value, str))
    for sequence, kind_of_sequence in lists_in_check(frame, line):
        for path in _defaults(plan, sequence):
            yield Change(path, ArgumentKind(kind_of_sequence, items_of(path)), (path,))
    for path in plan.taken(names_in_check(frame, line), by_name=True):
        yield Change(extra=(path,))  # the check may refuse its default
    for passing in passing_defaults(frame, line, lambda name, owner: _defaults(plan, name, owner)):
        yield Change(passing.path, ArgumentKind("number", passing.value), (passing.path,))


def _defaults(plan: ArgumentPlan, name: str, owner: Any = None) -> list[str]:
    """The paths of the parameters with a name that have their defaults, including that of the invented ``owner``."""
    return [path for path in (*plan.taken([name], by_name=True), *plan.taken_by(owner, name)) if path not in plan.kinds]


def compared_with(plan: ArgumentPlan) -> Iterator[Change]:
    """Changes of a number or string to one it was compared with: no branch of ``if kind == 0: … elif …`` was taken."""
    for path, others in list(plan.compared.items()):
        if path in plan.kinds:
            for other in list(others)[:MOST_OPTIONS]:
                name: KindName = "value" if isinstance(other, type) else "text" if isinstance(other, str) else "number"
                yield Change(path, ArgumentKind(name, other))


def _asked_for(traceback: TracebackType | None, plan: ArgumentPlan) -> Iterator[Change]:
    """Changes that satisfy an ``isinstance(net, Transformer)`` in a function that the error passed through."""
    for frame in frames_of(traceback):
        for call in _isinstance_calls(tree_of(frame.f_code) or ast.Pass()):
            with contextlib.suppress(Exception, Misused):
                value, classes = (eval(ast.unparse(part), frame.f_globals, frame.f_locals) for part in call.args)
                path = path_of(value, plan.made)
                is_refused = isinstance({}, classes) and not isinstance([], classes) and not isinstance(value, dict)
                if path in plan.kinds and is_refused:
                    yield Change(path, _as_dictionary(plan.kinds[path]))
                is_text = isinstance("", classes) and not isinstance([], classes) and not isinstance(value, classes)
                if path in plan.kinds and is_text:
                    yield from _of_one_and_all(Change(path, ArgumentKind("text", "", certain=False)))
                for cls in _classes_in(classes):
                    if path in plan.kinds and not isinstance(value, cls):
                        yield from _with_alike(path, first_guess(path.rpartition(".")[2], cls, plan.namespace), plan)


def _as_dictionary(kind: ArgumentKind) -> ArgumentKind:
    """A dictionary with the same settings, if ``kind`` is that of settings."""
    return dataclasses.replace(kind if kind.name == "settings" else ArgumentKind("settings"), name="dictionary")


def _of_exact_type(traceback: TracebackType | None, plan: ArgumentPlan) -> Iterator[Change]:
    """Values of Python's own types where a function asks for the exact type, as by ``type(size) in (list, tuple)``."""
    for frame in frames_of(traceback):
        names = {**frame.f_globals, **frame.f_locals}
        for node in ast.walk(tree_of(frame.f_code) or ast.Pass()):
            match node:
                case ast.Compare(ast.Call(ast.Name("type"), [ast.Name() | ast.Attribute() as asked]), _, [classes]):
                    with contextlib.suppress(Exception, Misused):
                        value, known = value_of(asked, names), value_of(classes, names)
                        if isinstance(value, Probe) and value.path in plan.kinds:
                            yield Change(value.path, ArgumentKind("value", _of_one_of(known, value)))


def _of_one_of(known: Any, value: Probe) -> Any:
    """An invented value as one of Python's own types: a list or a tuple if that is among the ``known`` classes."""
    own = plain(value)
    sequences = [cls for cls in (list, tuple) if known is cls or (isinstance(known, list | tuple) and cls in known)]
    if not sequences:
        return own
    return sequences[0](own if isinstance(own, list) else [own] * items_of(value.path))


def _classes_in(asked: Any) -> Iterator[type]:
    """The classes of the program, or of its packages, that ``isinstance(value, asked)`` asks for."""
    for one in asked if isinstance(asked, tuple) else typing.get_args(asked) or (asked,):
        origin: Any = typing.get_origin(one)
        cls = class_behind(one if origin is None else origin)  # `typing.Sequence` means that of `collections.abc`
        if isinstance(cls, type) and cls.__module__ != "builtins":
            yield cls


def _with_alike(path: str, kind: ArgumentKind, plan: ArgumentPlan) -> Iterator[Change]:
    """Another kind for the value at ``path``.

    If that is an item of a list, also for all items of the list, and for the items of all lists that are of the same
    kind: a loop over them gets no further before each of them has changed.
    """
    yield Change(path, kind)
    items = [other for other in plan.kinds if other.endswith("]")]
    alike = [other for other in items if plan.kinds[other].name == plan.kinds[path].name]
    if path in alike:
        yield Change(path, kind, is_of_all=True)
        yield Change(path, kind, others=(*alike,))


def _isinstance_calls(tree: ast.AST) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance" and len(node.args) == 2
    ]


def chosen_from(traceback: TracebackType | None, plan: ArgumentPlan, *, is_found: bool = False) -> Iterator[Change]:
    """Changes to a key that is missing from a table, looked up by a function in the traceback, or to the table.

    Examples of such lookups: ``mode in MODES``, ``MODELS[name]``, ``"target" in config``. ``is_found``: instead of
    missing keys, those that are there are changed, since the table may have something better.
    """
    for frame in frames_of(traceback):
        more = _more_keywords(frame)
        for found in lookups(frame):
            with contextlib.suppress(Exception, Misused):  # an object that looks like a table may be none
                yield from _with_key(found, more, plan, is_found=is_found)


def _with_key(found: Lookup, more: dict[str, Any] | None, plan: ArgumentPlan, *, is_found: bool) -> Iterator[Change]:
    """Changes of the table or the key of what was looked up; ``more`` and ``is_found``: see `chosen_from`."""
    key, table = found.key, found.table
    if isinstance(key, str) and isinstance(table, InventedSettings) and key not in table:
        yield Change(path_of(table, plan.made), settings=(str(key),))
    if isinstance(key, str) and more is not None and table is more and key not in more:
        yield Change(extra=plan.taken([key]))
    path = path_of(key, plan.made)
    is_table = isinstance(table, Mapping) or found.is_test
    if path in plan.kinds and is_table and not isinstance(table, str) and (key in table) == is_found:
        for option in found.options()[:MOST_OPTIONS]:
            yield from _of_one_and_all(Change(path, ArgumentKind("value", option)))
            if rows := plan.in_other_rows(path):
                yield Change(path, ArgumentKind("value", option), others=(*rows,))


def _more_keywords(frame: FrameType) -> dict[str, Any] | None:
    """What a function received as ``**kwargs``; None if it has no such parameter."""
    code = frame.f_code
    if not code.co_flags & inspect.CO_VARKEYWORDS:
        return None
    at = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    found = frame.f_locals.get(code.co_varnames[at])
    return found if isinstance(found, dict) else None
