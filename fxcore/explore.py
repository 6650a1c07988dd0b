"""Past the first failure: every place of a program that can't be traced, found in one run.

Where a tracer would fail, an exploring one notes the place and goes on under an assumption: what the example inputs
say, if there are any, or else a fixed answer: a condition is false, unless that leads straight to a ``raise``; a
sequence has two items; a number is one. Where no answer would do, the innermost module's call is recorded as one.
Places that were reached on a guess say so: in a real run they may not be reached at all.
"""

from __future__ import annotations

import copy
import functools
import itertools
import operator
import sys
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch

from fxcore.bytecode import is_call, raising_truth
from fxcore.callee import callee_name, calls_torch_cpp
from fxcore.cause import cause_of
from fxcore.failures import ArgumentFailure, FailureKind, NotASubmoduleFailure, TraceFailure, as_failure
from fxcore.graph import Graph
from fxcore.guess_inputs import guess_inputs
from fxcore.likely_answers import NUMBERS, items, likely_count, said
from fxcore.node import Node, map_aggregate
from fxcore.patching import PatchScope
from fxcore.proxy import Proxy, TracerBase
from fxcore.session import current
from fxcore.shadow import Shadows
from fxcore.soft_calls import (
    Call,
    refuse_to_misread,
    soften_assertions,
    soften_calls,
    soften_imports,
    unsoftened,
)
from fxcore.source import Frame, SourceSpan, is_user_file, stack_places, traceback_places, user_frames
from fxcore.tracer import TRACE_CODE, Tracer
from fxcore.untouched import untouched
from fxcore.wrap import find_proxy, replace_functions, replace_wrapped

LOOP_TURNS = 16
"""How often one loop's condition gets the same answer before it gets the other one."""
MOST_EVENTS = 5_000
"""Failures met, repeated ones included, after which a run is given up: it isn't going anywhere."""


class GaveUp(BaseException):
    """The run was ended on purpose. No handler in the program is to take this for an error of its own."""


@dataclass
class Site:
    """One place that can't be traced."""

    failure: TraceFailure
    assumption: str
    """How the run went on, e.g. ``it is false``; empty where it didn't."""
    certain: bool
    """Whether a real run goes on here as was assumed: as example inputs say, or because the call is merely recorded."""
    after: Site | None
    """The last site before this one whose assumption is a guess; None where this one is surely reached."""
    cause: tuple[Frame, ...] = ()
    """From an input of the program through the operations to the value that it failed on."""
    count: int = 1
    """How often the run came by."""


@dataclass
class Exploration:
    """What one run found."""

    sites: list[Site] = field(default_factory=list)
    """In the order of the program; the first one is where a plain trace ends."""
    graph: Graph | None = None
    """What was recorded, if the run came to the end."""


def explore(
    root: torch.nn.Module | Callable[..., Any],
    concrete_args: Mapping[str, Any] | tuple[Any, ...] | None = None,
    *,
    tracer: Tracer | None = None,
    examples: Mapping[str, Any] | None = None,
) -> Exploration:
    """Trace ``root``, going on after each failure.

    ``tracer`` says what is a leaf and so on; it is copied. ``examples`` gives a value for each input that is traced, by
    its name; tensors may be on the device meta, like the root's parameters.
    """
    explorer = copy.copy(tracer or Tracer())
    cls: Any = type(explorer)
    explorer.__class__ = _exploring(cls)
    assert isinstance(explorer, _Explorer)
    return explorer.explore(root, concrete_args, examples)


@functools.lru_cache(maxsize=16)
def _exploring(cls: Any) -> type[Tracer]:
    """``cls`` that goes on after failures."""
    return type(cls.__name__, (_Explorer, cls), {"__module__": cls.__module__})


class _Explorer(Tracer):
    """What `_exploring` puts before a tracer's class."""

    _found: Exploration
    _shadows: Shadows
    _informed: bool
    """Whether the example values are true ones, not made up."""
    _by_place: dict[SourceSpan | None, Site]
    """One failing expression may ask several things of a value: it is one place."""
    _placed_before: dict[tuple[str, CodeType, int] | None, tuple[Frame, ...]]
    """For each place that failed (file, code, instruction) the frames of the first time; None is one of torch's own."""
    _unregistered: dict[str, torch.nn.Module]
    _turns: dict[tuple[int, int], int]
    """For a running function and an instruction of it: how often its condition was asked."""
    _guess: Site | None
    """The last site that was passed on a guess."""

    def explore(self, root: Any, concrete_args: Any, examples: Mapping[str, Any] | None) -> Exploration:
        self._found = Exploration()
        self._by_place, self._placed_before, self._unregistered, self._turns = {}, {}, {}, {}
        self._softened: set[int] = set()
        self._guess = None
        self._events = self._probing = 0
        self._informed = examples is not None
        inputs = guess_inputs(root, concrete_args) if examples is None else examples
        self._shadows = Shadows(inputs, self._attribute, on_meta=examples is None)
        with untouched(root), PatchScope() as patches:
            replace_wrapped(patches)
            soften_calls(patches, _CALLED)
            soften_assertions(patches, _ASSERTED)
            self._patches = patches
            self._soften_imports_of(root)
            try:
                self._found.graph = self.trace(root, concrete_args)
            except TraceFailure as failure:
                self._note(failure, "", certain=True)
            except GaveUp:
                pass
        return self._found

    def _soften_imports_of(self, program: Any) -> None:
        namespace = getattr(getattr(program, "forward", program), "__globals__", {})
        if id(namespace) not in self._softened:
            self._softened.add(id(namespace))
            replace_functions(self._patches, namespace, self._autowrap_function_ids)
            soften_imports(self._patches, _CALLED_ELSEWHERE, namespace)

    def _attribute(self, path: str) -> Any:
        if path in self._unregistered:
            return self._unregistered[path]
        if path in self.graph.constants:
            return self.graph.constants[path]
        return functools.reduce(getattr, path.split("."), self.root)

    # Recording, with examples beside.

    def create_node(self, kind: str, target: Any, *args: Any, **kwargs: Any) -> Node:
        node = super().create_node(kind, unsoftened(target), *args, **kwargs)
        if self._informed and kind != "output":
            self._shadows.compute(node)  # now, because what comes later may write to it
        return node

    def path_of_module(self, mod: torch.nn.Module) -> str:
        try:
            return super().path_of_module(mod)
        except NotASubmoduleFailure as failure:
            path = f"_unregistered_{len(self._unregistered)}"
            self._unregistered[path] = mod
            self._note(self._placed(failure), "it is registered", certain=True)
            return path

    def call_module(
        self, m: torch.nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self._soften_imports_of(m)
        try:
            return super().call_module(m, forward, args, kwargs)
        except GaveUp:
            raise
        except Exception as error:
            failure = self._caught(error)
            # An error of the program's own may be raised in a real run, too, which then comes no further.
            certain = self._informed or failure.kind is not FailureKind.EXCEPTION
            self._note(failure, f"{type(m).__name__} is recorded as one call", certain=certain)
            return self._called_as_one(self.path_of_module(m), args, kwargs)

    def _called_as_one(self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        try:
            return self.create_proxy("call_module", path, args, kwargs)
        except TraceFailure:  # the arguments aren't what a graph can hold, and needn't be: the module is no leaf
            return self.create_proxy("call_module", path, (), {})

    # Questions, and what is answered.

    def to_bool(self, obj: Proxy) -> bool:
        return self._asked(obj, super().to_bool, self._truth_of, self._likely_truth)  # type: ignore[no-any-return]

    def _truth_of(self, value: Any) -> bool:
        """Whether an example is true; where inputs were guessed, a check that they don't pass was guessed wrong."""
        truth = bool(value)
        if self._informed:
            return truth
        frame = _users_frame()
        return truth != (raising_truth(frame.f_code, frame.f_lasti) is truth)

    def iter(self, obj: Proxy) -> Iterator[Any]:
        return iter(
            self._asked(
                obj, super().iter, functools.partial(self._items_of, obj), lambda: items(obj, likely_count(obj.node))
            )
        )

    def _items_of(self, obj: Proxy, value: Any) -> list[Any]:
        """Traced values for the items of what ``obj`` really is; the keys of a mapping are themselves."""
        if isinstance(value, KeysView | Mapping):
            return list(value)
        if isinstance(value, ItemsView):
            mapping: Any = self.proxy(obj.node.all_input_nodes[0])
            return [(key, mapping[key]) for key, _ in value]
        return items(obj, len(list(value)))

    def len(self, obj: Proxy) -> int:
        return self._asked(obj, super().len, len, lambda: 2)  # type: ignore[no-any-return]

    def convert(self, obj: Proxy, to: str) -> Any:
        if to == "index" and _asked_by_torch():
            return super().convert(obj, to)  # having no answer it records the call
        guess, learn = NUMBERS[to]
        return self._asked(obj, functools.partial(super().convert, to=to), learn, lambda: guess)

    def contains(self, obj: Proxy, item: Any) -> bool:
        ask = functools.partial(super().contains, item=item)
        return self._asked(obj, ask, lambda value: item in value, lambda: False)  # type: ignore[no-any-return]

    def _iterates(self) -> bool:
        return getattr(super().iter, "__func__", None) is not TracerBase.iter

    def setitem(self, obj: Proxy, key: Any, value: Any) -> None:
        self._recorded(operator.setitem, (obj, key, value), super().setitem)

    def delitem(self, obj: Proxy, key: Any) -> None:
        self._recorded(operator.delitem, (obj, key), super().delitem)

    def _asked(
        self, obj: Proxy, ask: Callable[[Proxy], Any], learn: Callable[[Any], Any], guess: Callable[[], Any]
    ) -> Any:
        """The tracer's own answer, if it has one; or else what the example says, or a guess, and the place is noted."""
        try:
            return ask(obj)
        except TraceFailure as error:
            if self._probing:
                raise
            failure = error
        try:
            answer, certain = learn(self._shadows[obj.node]), self._informed
        except Exception:  # no example, or one that can't tell (it is on the device meta)
            answer, certain = guess(), False
        self._note(self._placed(failure), said(answer), certain=certain, value=obj)
        return answer

    def _likely_truth(self) -> bool:
        """False, unless that leads straight to a ``raise``; the other one when a loop went round often enough."""
        frame = _users_frame()
        turn = frame.f_lasti, id(frame)
        self._turns[turn] = self._turns.get(turn, 0) + 1
        if self._turns[turn] > 4 * LOOP_TURNS:
            raise GaveUp
        likely = raising_truth(frame.f_code, frame.f_lasti) is False
        return likely if self._turns[turn] <= LOOP_TURNS else not likely

    def _recorded(self, function: Callable[..., Any], args: tuple[Any, ...], ask: Callable[..., None]) -> None:
        try:
            ask(*args)
        except TraceFailure as failure:
            self._note(self._placed(failure), "it is recorded", certain=True, value=args[0])
            self.create_proxy("call_function", function, args, {})

    def _called(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function of torch returns that may refuse traced values.

        It asks them this and that to learn what they are, and needn't mind getting no answer.
        """
        self._probing += 1
        try:
            refuse_to_misread(function, kwargs)
            return function(*args, **kwargs)
        except Exception as error:
            value = find_proxy(args, kwargs)
            if value is None:
                raise
            failure = self._refused(function, error)
        finally:
            self._probing -= 1
        self._note(self._placed(failure), "it is recorded", certain=True, value=value)
        return self._failed_call(function, args, kwargs)

    def _asserted(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An assertion of torch's, which needn't hold: often it is a check that a traced value is a tensor."""
        try:
            return function(*args, **kwargs)
        except AssertionError as error:
            self._note(self._caught(error), "it holds", certain=self._informed)
            return None

    def _called_elsewhere(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function of another package returns; recorded, where it fails on a traced value."""
        try:
            return function(*args, **kwargs)
        except Exception as error:
            value = find_proxy(args, kwargs)
            if value is None:
                raise
            self._note(self._caught(error), "it is recorded", certain=True, value=value)
        return self._failed_call(function, args, kwargs)

    def _failed_call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """A call that is recorded although it failed. Arguments that no graph can hold stand in it as they are."""

        def kept(value: Any) -> Any:
            try:
                self.create_arg(value)
            except ArgumentFailure:
                return _Kept(value)
            return value

        return self.create_proxy("call_function", function, *map_aggregate((args, kwargs), kept))

    def _refused(self, function: Callable[..., Any], error: Exception) -> TraceFailure:
        if isinstance(error, TraceFailure):
            return error
        failure = as_failure(error, FailureKind.FOREIGN_CALL)
        failure.callee = callee_name(function)
        return failure

    # Sites.

    def _placed(self, failure: TraceFailure) -> TraceFailure:
        """``failure``, which is where the program stands now."""
        places = stack_places(sys._getframe(1), TRACE_CODE)
        innermost = next((place for place in reversed(places) if is_user_file(place[0].co_filename)), None)
        # Code objects of the same text are equal, whatever file they are from.
        key = None if innermost is None else (innermost[0].co_filename, *innermost)
        if key not in self._placed_before:  # a place that is known needs no frames
            self._placed_before[key] = user_frames(places)
        failure.frames = self._placed_before[key]
        return failure

    def _caught(self, error: Exception) -> TraceFailure:
        """The failure that an exception is, which was caught on its way out of a module."""
        failure = as_failure(error, FailureKind.EXCEPTION)
        running = stack_places(sys._getframe(1), TRACE_CODE)
        failure.frames = user_frames(itertools.chain(running, traceback_places(error.__traceback__)))
        return failure

    def _note(self, failure: TraceFailure, assumption: str, *, certain: bool, value: Proxy | None = None) -> None:
        site = self._by_place.get(failure.span)
        if site is not None:
            site.count += 1
        else:
            cause = () if value is None else cause_of(value.node)
            site = Site(failure, assumption, certain, self._guess, cause)
            self._by_place[failure.span] = site
            self._found.sites.append(site)
        if not certain:
            self._guess = site
        self._events += 1
        if self._events > MOST_EVENTS:
            raise GaveUp


def _asked_by_torch() -> bool:
    """Whether C++ code of torch's asks, to learn what its arguments are."""
    frame = _users_frame()
    return is_call(frame.f_code, frame.f_lasti) and calls_torch_cpp(frame, frame.f_lasti)


class _Kept:
    """An argument as it is."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __fx_create_arg__(self, tracer: Tracer) -> Any:
        return self._value


def _answered_by(answer: Callable[..., Any]) -> Call:
    """Calls that the trace answers which they are made in, if it explores: others may run beside and within it."""

    def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        session = current()
        if session is None or not isinstance(session.tracer, _Explorer):
            return function(*args, **kwargs)
        return answer(session.tracer, function, args, kwargs)

    return call


_CALLED = _answered_by(_Explorer._called)
_ASSERTED = _answered_by(_Explorer._asserted)
_CALLED_ELSEWHERE = _answered_by(_Explorer._called_elsewhere)


def _users_frame() -> FrameType:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    assert frame is not None, "a traced program runs"
    return frame
