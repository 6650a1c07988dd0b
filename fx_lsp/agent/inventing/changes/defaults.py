"""Changes that give arguments for parameters that had none, or switch off what a default switches on."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import FunctionType
from typing import Any

from torch.nn import Module

from fx_lsp.agent.inventing.argument_kinds import ArgumentKind, is_placeholder, number_for
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan, Maker
from fx_lsp.agent.inventing.changes.change import Change
from fx_lsp.agent.inventing.changes.tensors import OF_TENSORS
from fx_lsp.agent.inventing.error_values import mentions, names_read, suspects_of, used_by

_QUOTED = re.compile(r"'(\w+)'")
_PREFIX = re.compile(r"[a-z]+_$")


def switched_off(plan: ArgumentPlan) -> Iterator[Change]:
    """The parameters of the object being built that can be switched off, each set to "off"."""
    for path, value in plan.switches:
        if path not in plan.extra:
            yield Change(path, ArgumentKind("value", value), (path,))


def required(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
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


def unset(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Arguments for parameters whose default is None, if ``error`` or a failed check says that None is not enough."""
    is_of_none = isinstance(error, TypeError | AttributeError) and "NoneType" in str(error)
    if is_of_none or isinstance(error, AssertionError | ValueError):
        lacking = _defaults_used(error, plan, lambda value: value is None)
        yield from (Change(extra=(path,), is_due=True) for path in lacking)
        if len(lacking) > 1:
            yield Change(extra=lacking)  # `tgt_len + mem_len` gets no further before both are there
        yield from (Change(extra=paths) for paths in plan.unset(names_read(error)))


def placeholders(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Arguments for parameters whose defaults only hold a place, such as ``ch=()``, where one was used and failed."""
    if isinstance(error, AttributeError) and error.name in OF_TENSORS:
        return  # what is needed is a tensor
    yield from (Change(extra=(path,), is_due=True) for path in _defaults_used(error, plan, is_placeholder))


def switched_on(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
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


def _prefixes(cls: Maker) -> list[str]:
    """Prefixes that the module of ``cls`` may strip from keywords to pass them on, e.g. ``enc_`` in ``enc_depth``."""
    home = sys.modules.get(cls.__module__)  # a class can claim to be from any module
    values = [] if home is None else list(vars(home).values())
    functions = [value for value in (*values, getattr(cls, "__init__", None)) if isinstance(value, FunctionType)]
    own = [function.__code__ for function in functions if function.__module__ == cls.__module__]
    texts = [value for value in (*values, *(text for code in own for text in code.co_consts)) if isinstance(value, str)]
    return list(dict.fromkeys(text for text in texts if _PREFIX.match(text)))
