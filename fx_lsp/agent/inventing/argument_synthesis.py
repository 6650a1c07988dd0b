"""Builds a class with invented arguments, if no code shows how to build it.

The annotation and the name of each parameter give a first guess, which the program's use of the value corrects: the
class is built and traced with values that report any use that does not suit their kind, such as iteration, indexing or
a comparison with a string, and is then built again with better values. If a build or trace ends in an error, the values
involved are changed one after another; a change is kept only if the program gets further with it.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from torch.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from fx_lsp.agent.inventing.argument_kinds import ArgumentKind, is_settings, number_for
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan, Maker, PlanState
from fx_lsp.agent.inventing.called_attributes import called_values, holders_of_parts
from fx_lsp.agent.inventing.changes.change import Change, is_choice
from fx_lsp.agent.inventing.changes.changes_after import changes_after
from fx_lsp.agent.inventing.decisive_settings import decisive_settings, kinds_written
from fx_lsp.agent.inventing.error_values import makes_tensor, mentions, positions_of
from fx_lsp.agent.inventing.error_words import in_plain_words
from fx_lsp.agent.inventing.invented_values import InventedModule, Misused, TooLarge
from fx_lsp.agent.inventing.plan_memory import PLANS
from fx_lsp.agent.inventing.written_settings import WrittenSettings
from fx_lsp.agent.missing.missing_uses import forget_uses, looking
from fx_lsp.agent.processes.counted_steps import begin_step
from fx_lsp.agent.processes.limits import with_garbage_freed
from fx_lsp.agent.random_seeds import seed

MOST_BUILDS = 80
"""How often a class is built before the search is given up."""

MOST_MODULES = 15_000
"""How many submodules all builds of a class may create, and as many again with settings of the workspace; the build
that exceeds this is the last. Modules are counted instead of seconds, so that the same arguments are found on every
machine, however busy. Thousands of modules are built and traced in a second."""

MOST_AT_ONCE = 15_000
"""How many submodules and parameters one build may create: it ends there. A wrong count may ask for millions."""

MOST_MISUSES = 25
"""How often a value may turn out to be of another kind before one attempt is given up."""

_COUNTED = re.compile(r"object of type '(.+)' has no len\(\)")
_CALLED = re.compile(r"'(.+)' object is not callable")
"""Python's message about an object that can't be called. It names the object's class, and the class of an invented
value is named after the value's path."""

_CLASSES = {
    "module": InventedModule.__name__,
    "class": "type",
    "function": "function",
    "tuple": "tuple",
    "tensor": "Tensor",
    "parameter": "Parameter",
    "array": "ndarray",
}
"""What Python's messages call the values of some kinds. A ``value`` goes by its own class, and the class of any other
kind's values is named after the path."""

_OF_META = re.compile(r"\bmeta\b", re.IGNORECASE)
"""What torch's messages name if an operation needs values of tensors on the meta device, or mixes them with others."""

_NO_MODULE = re.compile(r"(\S+) is not a Module subclass")
"""torch's message about an object that can't be registered as a submodule."""

Traced = Callable[[Any], Exception | None]
"""Traces a module and returns the program's own error that ended the trace, if any."""

Written = Callable[[Collection[str]], Iterable[WrittenSettings]]
"""Finds what the workspace gives to settings, of which some names are known; the likeliest first."""


@dataclass(frozen=True)
class InventedRoot:
    """A module, and the invented arguments that it was built with."""

    root: Any
    shown: str
    """The call that built it, as text for display."""
    has_tensors: bool = False
    """Whether tensors are among the invented values: their shapes decide which inputs fit."""


class CannotInvent(Exception):
    """No arguments were found that the constructor accepts; ``__cause__`` is the error that it raised."""


def _nothing_written(_: Collection[str]) -> Iterable[WrittenSettings]:
    return ()


def invent_arguments(
    cls: Maker,
    namespace: Mapping[str, Any],
    traced: Traced,
    written: Written = _nothing_written,
    files: Callable[[str], Sequence[str]] = lambda parameter: (),
    *,
    on_meta: bool,
) -> InventedRoot:
    """An instance of ``cls``, or what the function ``cls`` returns, with invented arguments. Raises `CannotInvent`.

    ``namespace`` is the file's.

    ``files`` finds the paths of files in the workspace that a parameter of a name may take.

    If the program does not get to its end with them, they begin with what the workspace gives to settings of their
    names, if it gets further with that. If it does, only those settings become what the workspace writes on which the
    program bases decisions.
    """
    plan = ArgumentPlan(cls, namespace, on_meta, files=files)
    if PLANS.follow(plan):
        with contextlib.suppress(Exception):  # what can be built on the meta device need not be on the CPU
            made = _built(plan)
            PLANS.keep(plan)
            return made
        plan = ArgumentPlan(cls, namespace, on_meta, files=files)
    PLANS.start(plan)
    search = _ArgumentSearch(plan, traced)
    end = search.run()
    if end.error is None and (decisive := decisive_settings(plan)):
        for settings in itertools.islice(written(_names_in(decisive)), 1):
            search.prefer(kinds_written(decisive, settings, plan), end)
    if end.error is None and search.holders:
        kinds = {path: ArgumentKind("module", is_settings(path.rpartition(".")[2])) for path in search.holders}
        search.prefer([kinds], end)
    modules = 0  # the first search's modules don't count: it may have created thousands in vain
    for settings in written(_names_in(plan.kinds)) if end.error is not None and not search.needs_values else ():
        other = ArgumentPlan(cls, namespace, on_meta, written=settings, files=files)
        search = _ArgumentSearch(other, traced, modules)
        if (better := search.run()).rank > end.rank:
            plan, end = other, better
        if end.error is None:
            break
        modules = search.modules
    if not end.is_built:
        raise _refusal(plan) from end.error and in_plain_words(end.error, plan.kinds)
    PLANS.keep(plan)
    try:
        return _built(plan)
    except Exception as raised:
        raise _refusal(plan) from in_plain_words(raised, plan.kinds)


def _refusal(plan: ArgumentPlan) -> CannotInvent:
    return CannotInvent(f"{plan.cls.__name__} can't be built with invented arguments")


def _built(plan: ArgumentPlan) -> InventedRoot:
    """What a plan's arguments build, the same however many were tried before. Raises what the program raises."""
    has_tensors = any(kind.name in ("tensor", "parameter") for kind in plan.kinds.values())
    root = with_garbage_freed(partial(_built_once, plan))
    return InventedRoot(root, plan.shown, has_tensors)


def _built_once(plan: ArgumentPlan) -> Any:
    begin_step()
    seed()
    forget_uses()  # with other arguments, the program may have used what is missing
    return plan.build(probing=False)


def _names_in(paths: Iterable[str]) -> set[str]:
    """The last name of each path: ``depths`` for ``config.depths[0]``."""
    return {path.rpartition(".")[2].partition("[")[0] for path in paths}


@dataclass(frozen=True)
class _Progress:
    """How far one attempt got."""

    error: BaseException | None
    is_built: bool
    """The instance was built; the error, if any, was raised by the trace."""
    has_arguments: bool = False
    """The arguments were created; the error, if any, was raised by the class that they are for, or by the trace."""
    positions: tuple[int, ...] = ()
    """The instruction that each function had reached when the error was raised, the outermost function first.

    Instructions are in the order in which they are run; the lines of a call's arguments come after the call's own.
    """

    @property
    def rank(self) -> tuple[bool, bool, bool, tuple[int, ...]]:
        """Greater for an attempt that got further."""
        return self.error is None, self.is_built, self.has_arguments, self.positions


class _TooManyKinds(Exception):
    """An attempt was given up; see `MOST_MISUSES` and `MOST_BUILDS`."""


_NOWHERE = _Progress(_TooManyKinds("no kinds of values were found that suit how it uses its arguments"), is_built=False)


@dataclass(frozen=True)
class _Turn:
    """A place where the search can take another way."""

    state: PlanState
    """The plan before the change that was made."""
    end: _Progress
    """How far the program has to get beyond."""
    left: Sequence[Change]
    """The changes that were not tried."""


class _ArgumentSearch:
    """The search for arguments of one class."""

    def __init__(self, plan: ArgumentPlan, traced: Traced, modules: int = 0) -> None:
        self._plan = plan
        self._traced = traced
        self._builds = 0
        self.modules = modules
        """How many submodules were created, including those of earlier searches with the workspace's settings."""
        self._parts = 0
        """How many submodules and parameters the present build has created. A list of modules counts once it is there,
        its modules' parameters at once."""
        self.needs_values = False
        """Whether the constructor reads the values of tensors, which it can only on the CPU."""
        self.holders: list[str] = []
        """The paths of the settings, in the last build, whose parts only a module registers."""
        self._turns: list[_Turn] = []
        """Where one of several options was chosen: if the chosen one leads nowhere, another may."""

    def run(self) -> _Progress:
        """Change the plan as long as the program gets further with it; return how far the program got."""
        counting = register_module_module_registration_hook(self._count_module)
        counting_parameters = register_module_parameter_registration_hook(self._count_parameter)
        try:
            best = self._improved(self._attempt())
            while not best.is_built and self._turns and not self._is_over:
                found = self._plan.state
                turn = self._turns.pop()
                self._plan.state = turn.state
                end = self._better(turn.end, turn.left)
                if end is None or (end := self._improved(end)).rank <= best.rank:
                    self._plan.state = found
                else:
                    best = end
            return best
        finally:
            counting.remove()
            counting_parameters.remove()

    def prefer(self, alternatives: Iterable[Mapping[str, ArgumentKind]], end: _Progress) -> None:
        """Make the first of some other kinds the plan's with which the program gets as far as ``end``."""
        before = self._plan.state
        for kinds in filter(None, alternatives):
            self._plan.kinds.update(kinds)
            if self._attempt().rank >= end.rank:
                return
            self._plan.state = before

    def _improved(self, end: _Progress) -> _Progress:
        """How far the program gets, after it got as far as ``end``, with all changes that take it further."""
        while end.error is not None:
            try:
                with looking():
                    changes = list(changes_after(end.error, end.is_built, self._plan))
            except (Misused, Exception):  # what looks at the program's values runs its code, too
                break
            if (better := self._better(end, changes)) is None:
                break
            end = better
        return end

    def _count_module(self, *_: object) -> None:
        self.modules += 1
        self._count_parameter()

    def _count_parameter(self, *_: object) -> None:
        self._parts += 1
        if self._parts > MOST_AT_ONCE:
            raise TooLarge

    @property
    def _is_over(self) -> bool:
        return self._builds >= MOST_BUILDS or self.modules > MOST_MODULES or self.needs_values

    def _better(self, end: _Progress, changes: Sequence[Change]) -> _Progress | None:
        """Make the first of ``changes`` with which the program gets further than ``end``; None if none helps."""
        before = self._plan.state
        for at, change in enumerate(changes):
            if self._is_over:
                break
            self._plan.extra = (*before.extra, *change.extra)
            if change.kind is not None:
                self._plan.kinds.update(dict.fromkeys(self._paths(change), change.kind))
                self._plan.kinds.update(change.also)
            for path in (change.path, *change.others) if change.settings else ():
                self._plan.settings[path] = (*before.settings.get(path, ()), *change.settings)
            new = self._attempt()
            gets_further = new.rank > end.rank and not self._is_refused(change, new.error)
            if gets_further or (not end.is_built and self._is_within(change)):
                if others := [other for other in changes[at + 1 :] if is_choice(other) and other.path == change.path]:
                    self._turns.append(_Turn(before, end, others))
                return new
            self._plan.state = before
        self._turns += [_Turn(before, _NOWHERE, [change]) for change in changes if change.is_due]
        return None

    def _is_within(self, change: Change) -> bool:
        """Whether the attempt ended while it built the object that the change introduced."""
        is_object = change.kind is not None and change.kind.name == "object"
        return is_object and self._plan.within is not None and self._plan.within[0] == f"{change.path}."

    def _is_refused(self, change: Change, error: BaseException | None) -> bool:
        """Whether the program, though it got further, does not accept the new value: the error names its class."""
        if change.kind is None or not isinstance(error, TypeError):
            return False
        is_value = change.kind.name == "value"
        named = type(change.kind.value).__name__ if is_value else _CLASSES.get(change.kind.name)
        return any(mentions(error, name) for name in ([named] if named else self._paths(change)))

    def _paths(self, change: Change) -> list[str]:
        if not (change.is_of_all and change.path.endswith("]")):
            return [change.path, *change.others]
        start = change.path.rpartition("[")[0]
        return [path for path in self._plan.kinds if path.rpartition("[")[0] == start]

    def _attempt(self) -> _Progress:
        """Build and trace; whenever a value is used as another kind, change it to that kind and start again."""
        once_built: dict[str, ArgumentKind] = {}  # the kinds of numbers that a trace, after the build, used as lists
        for _ in range(MOST_MISUSES):
            if self._is_over:
                break
            self._builds += 1
            is_built = False
            root: Any = None  # that of the attempt before may be large, and its error refers to it
            error: BaseException | None = None
            try:
                root = with_garbage_freed(self._built)
                is_built = True
                error = self._traced(root)
                self.holders = holders_of_parts(root, self._plan.made.values())
                if error is None and (paths := called_values(root)):
                    raise Misused(paths[0], ArgumentKind("module"))
            except Misused as misuse:
                if misuse.kind == self._plan.kinds.get(misuse.path):
                    return _Progress(misuse, is_built=is_built)
                if self._is_asked_by_torch(misuse):
                    continue
                is_of_all = misuse.kind.name in ("module", "class", "settings")
                paths = self._paths(Change(misuse.path, is_of_all=is_of_all))
                if is_built:
                    once_built |= {path: kind for path in paths if (kind := self._plan.kinds[path]).name == "number"}
                self._plan.kinds.update(dict.fromkeys(paths, misuse.kind))
                continue
            except (Exception, TooLarge, SystemExit) as raised:
                error = raised
                is_of_meta = isinstance(raised, RuntimeError) and _OF_META.search(str(raised)) is not None
                self.needs_values = self._plan.on_meta and is_of_meta
            if error is not None and not is_built and once_built:
                # The constructor needs numbers. C code, such as `torch.IntTensor([n])`, asks numbers for their length.
                self._plan.kinds |= {path: ArgumentKind("value", kind.value) for path, kind in once_built.items()}
                once_built.clear()
                continue
            if error is not None and (called := _CALLED.match(str(error))) and self._is_new(called[1], is_built):
                continue
            if error is not None and any(
                mend(error) for mend in (self._is_no_module, self._makes_no_module, self._is_counted)
            ):
                continue
            positions = positions_of(error.__traceback__) if error else ()
            return _Progress(error, is_built, is_built or self._plan.within is None, positions)
        return _NOWHERE

    def _built(self) -> Any:
        self._parts = 0
        begin_step()
        return self._plan.build(probing=True)

    def _is_asked_by_torch(self, misuse: Misused) -> bool:
        """Whether ``torch.Tensor([number])`` has asked a number for its length; if so, make that a plain number.

        For torch, what has a length is a list. The items of the list that then takes the number's place have one, too.
        """
        path = misuse.path.removesuffix("[0][0]")
        if misuse.kind.name != "list" or path == misuse.path or not makes_tensor(misuse.__traceback__):
            return False
        self._plan.kinds = {one: kind for one, kind in self._plan.kinds.items() if not one.startswith(f"{path}[")}
        self._plan.kinds[path] = ArgumentKind("value", number_for(path.rpartition(".")[2]))
        return True

    def _is_new(self, path: str, is_built: bool) -> bool:
        """Make the value at ``path``, which was called, a module if the instance is built, otherwise a class.

        Returns False if there is no invented value at ``path``, or if the value is of this kind already.
        """
        kind = ArgumentKind("module" if is_built else "class")
        if path not in self._plan.kinds or self._plan.kinds[path] == kind:
            return False
        self._plan.kinds[path] = kind
        return True

    def _is_counted(self, error: BaseException) -> bool:
        """Whether ``error`` says that invented settings have no length; if so, give them one."""
        counted = _COUNTED.search(str(error))
        kind = self._plan.kinds.get(counted[1]) if counted else None
        if counted is None or kind is None or kind.name != "settings":
            return False
        self._plan.kinds[counted[1]] = replace(kind, name="vocabulary")
        return True

    def _is_no_module(self, error: BaseException) -> bool:
        """Whether ``error`` says that an invented value is not a module; if so, make the value a module."""
        if (refused := _NO_MODULE.search(str(error))) is None:
            return False
        paths = [path for path in self._plan.kinds if refused[1].endswith(f".{path}")]
        new = {path: ArgumentKind("module") for path in paths if self._plan.kinds[path].name != "module"}
        self._plan.kinds |= new
        return bool(new)

    def _makes_no_module(self, error: BaseException) -> bool:
        """Whether ``error`` refuses what an invented class made; if so, make that a function: ``dataset.num()``."""
        if not isinstance(error, TypeError):
            return False
        classes = [path for path, kind in self._plan.kinds.items() if kind.name == "class"]
        new = {path: ArgumentKind("function") for path in classes if mentions(error, f"{path}()")}
        self._plan.kinds |= new
        return bool(new)
