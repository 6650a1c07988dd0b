"""Past the first failure: every place of a program that can't be traced, found in one run.

Where a tracer would fail, an exploring one notes the place and goes on under an assumption: what the example inputs
say, if there are any, or else a fixed answer: a condition is false, unless that leads straight to a ``raise``; a
sequence has two items; a number is one. Where no answer would do, the innermost module's call is recorded as one.
Places that were reached on a guess say so: in a real run they may not be reached at all.
"""

from __future__ import annotations

import copy
import functools
import operator
import sys
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from fxcore.bytecode import is_call, raising_truth
from fxcore.callee import callee_name, calls_torch_cpp
from fxcore.exec_order import ExecOrderTracer
from fxcore.failures import ArgumentFailure, FailureKind, NotASubmoduleFailure, TraceFailure, as_failure
from fxcore.graph import Graph
from fxcore.guess_inputs import guess_inputs
from fxcore.likely_answers import NUMBERS, items, likely_count, said
from fxcore.node import Node, map_aggregate
from fxcore.patching import PatchScope
from fxcore.proxy import Proxy, TracerBase
from fxcore.session import current
from fxcore.shadow import Shadows
from fxcore.sites import GaveUp, Site, Sites, caught
from fxcore.soft_calls import (
    Call,
    refuse_to_misread,
    soften_assertions,
    soften_calls,
    soften_imports,
    unsoftened,
)
from fxcore.source import is_user_file
from fxcore.tracer import Tracer
from fxcore.untouched import untouched
from fxcore.wrap import find_proxy, replace_functions, replace_wrapped

LOOP_TURNS = 16
"""How often one loop's condition gets the same answer before it gets the other one."""


@dataclass
class Exploration:
    """What one run found."""

    sites: list[Site]
    """In the order of the program; the first one is where a plain trace ends."""
    recorded: Graph
    """What was recorded, to the end or not: without an output then."""
    root: torch.nn.Module
    """What that refers to."""
    complete: bool
    """Whether the run came to the end."""

    @property
    def graph(self) -> Graph | None:
        """What was recorded, if the run came to the end."""
        return self.recorded if self.complete else None


def explore(
    root: torch.nn.Module | Callable[..., Any],
    concrete_args: Mapping[str, Any] | tuple[Any, ...] | None = None,
    *,
    tracer: Tracer | None = None,
    examples: Mapping[str, Any] | None = None,
    order: ExecOrderTracer | None = None,
) -> Exploration:
    """Trace ``root``, going on after each failure.

    ``tracer`` says what is a leaf and so on; it is copied. ``examples`` gives a value for each input that is traced, by
    its name; tensors may be on the device meta, like the root's parameters. ``order`` records what is used in which
    order.
    """
    explorer = copy.copy(tracer or Tracer())
    cls: Any = type(explorer)
    explorer.__class__ = _exploring(cls)
    assert isinstance(explorer, _Explorer)
    if order is None:
        return explorer.explore(root, concrete_args, examples)
    with order.patch_tracer(explorer, root if isinstance(root, torch.nn.Module) else torch.nn.Module()):
        return explorer.explore(root, concrete_args, examples)


@functools.lru_cache(maxsize=16)
def _exploring(cls: Any) -> type[Tracer]:
    """``cls`` that goes on after failures."""
    return type(cls.__name__, (_Explorer, cls), {"__module__": cls.__module__})


class _Explorer(Tracer):
    """What `_exploring` puts before a tracer's class."""

    _shadows: Shadows
    _informed: bool
    """Whether the example values are true ones, not made up."""
    _sites: Sites
    _unregistered: dict[str, torch.nn.Module]
    _turns: dict[tuple[int, int], int]
    """For a running function and an instruction of it: how often its condition was asked."""

    def explore(self, root: Any, concrete_args: Any, examples: Mapping[str, Any] | None) -> Exploration:
        self._sites = Sites()
        self.root, self.graph = torch.nn.Module(), Graph()
        self._unregistered, self._turns = {}, {}
        self._softened: set[int] = set()
        self._probing = 0
        complete = False
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
                self.trace(root, concrete_args)
                complete = True
            except TraceFailure as failure:
                self._sites.note(failure, "", certain=True)
            except GaveUp:
                pass
        return Exploration(self._sites.found, self.graph, self.root, complete)

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
            self._sites.note(self._sites.placed(failure), "it is registered", certain=True)
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
            failure = caught(error)
            # An error of the program's own may be raised in a real run, too, which then comes no further.
            certain = self._informed or failure.kind is not FailureKind.EXCEPTION
            site = self._sites.note(failure, f"{type(m).__name__} is recorded as one call", certain=certain)
            call = self._called_as_one(self.path_of_module(m), args, kwargs)
            site.nodes[call.node] = None
            return call

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
        site = self._sites.note(self._sites.placed(failure), said(answer), certain=certain, value=obj.node)
        site.nodes[obj.node] = None
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
            site = self._sites.note(self._sites.placed(failure), "it is recorded", certain=True, value=args[0].node)
            site.nodes[self.create_proxy("call_function", function, args, {}).node] = None

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
        site = self._sites.note(self._sites.placed(failure), "it is recorded", certain=True, value=value.node)
        return self._failed_call(site, function, args, kwargs)

    def _asserted(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An assertion of torch's, which needn't hold: often it is a check that a traced value is a tensor."""
        try:
            return function(*args, **kwargs)
        except AssertionError as error:
            self._sites.note(caught(error), "it holds", certain=self._informed)
            return None

    def _called_elsewhere(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function of another package returns; recorded, where it fails on a traced value."""
        try:
            return function(*args, **kwargs)
        except Exception as error:
            value = find_proxy(args, kwargs)
            if value is None:
                raise
            site = self._sites.note(caught(error), "it is recorded", certain=True, value=value.node)
        return self._failed_call(site, function, args, kwargs)

    def _failed_call(
        self, site: Site, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Proxy:
        """A call that is recorded although it failed. Arguments that no graph can hold stand in it as they are."""

        def kept(value: Any) -> Any:
            try:
                self.create_arg(value)
            except ArgumentFailure:
                return _Kept(value)
            return value

        call = self.create_proxy("call_function", function, *map_aggregate((args, kwargs), kept))
        site.nodes[call.node] = None
        return call

    def _refused(self, function: Callable[..., Any], error: Exception) -> TraceFailure:
        if isinstance(error, TraceFailure):
            return error
        failure = as_failure(error, FailureKind.FOREIGN_CALL)
        failure.callee = callee_name(function)
        return failure


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
