"""Traces past the first failure to find, in one run, every place of a program that can't be traced.

Where a plain trace would fail, an exploring trace notes the place and continues under an assumption. The assumption
comes from the example inputs if possible. Otherwise it is a fixed answer: a condition is false, unless that leads
straight to a ``raise``; a sequence has two items; a number is one. If no answer lets the program continue, the call to
the innermost module is recorded as one node. Places that were reached because of a guess are marked, because a real run
may not reach them.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import operator
import sys
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType, FunctionType, ModuleType
from typing import Any

import torch

from fxcore.exec_order import ExecOrderTracer
from fxcore.explore.decisions import Decisions
from fxcore.explore.failure_sites import GaveUp, SawEnough, Site, Sites, caught
from fxcore.explore.guess_inputs import guess_inputs
from fxcore.explore.likely_answers import LOOP_TURNS, NUMBERS, items, likely_count, likely_truth, said
from fxcore.explore.shadow_values import Shadows
from fxcore.explore.soft_calls import (
    Call,
    refuse_to_misread,
    soften_assertions,
    soften_calls,
    soften_imports,
    unsoftened,
)
from fxcore.explore.untouched import untouched
from fxcore.failures import ArgumentFailure, FailureKind, NotASubmoduleFailure, TraceFailure, as_failure
from fxcore.graph import Graph
from fxcore.node import Node, map_aggregate
from fxcore.proxy import Proxy
from fxcore.source import SourceSpan, is_user_file
from fxcore.source.bytecode import is_call, raising_truth
from fxcore.source.syntax import callee_name, calls_torch_cpp, handles_errors
from fxcore.tracer import TRACE_CODE, Tracer
from fxcore.tracing.diagnosis import is_installed
from fxcore.tracing.patching import PatchScope, originals
from fxcore.tracing.trace_session import current
from fxcore.tracing.wrapped_methods import wrapped_methods
from fxcore.wrap import find_proxy, replace_functions, replace_wrapped

MOST_NODES_WITHOUT_NEWS = 100
"""How many nodes in turn a run may record on the path of the first, with the conditions that it reverses behind it."""


@dataclass
class Exploration:
    """What one run of `explore` found."""

    sites: list[Site]
    """The failing places, in the order in which the program reached them; a plain trace ends at the first one."""
    recorded: Graph
    """The recorded graph. It has no output if the run did not reach the end of the program."""
    root: torch.nn.Module
    """The module that ``recorded`` refers to."""
    complete: bool
    """Whether the run reached the end of the program."""
    decisions: Decisions
    """The yes-or-no answers that the run gave."""
    saw_enough: bool = False
    """Whether the run, which reverses conditions, was ended since it found nothing new behind them (`SawEnough`)."""

    @property
    def graph(self) -> Graph | None:
        """The recorded graph; None if the run did not reach the end of the program."""
        return self.recorded if self.complete else None


def explore(
    root: torch.nn.Module | Callable[..., Any],
    concrete_args: Mapping[str, Any] | tuple[Any, ...] | None = None,
    *,
    tracer: Tracer | None = None,
    examples: Mapping[str, Any] | None = None,
    order: ExecOrderTracer | None = None,
    decisions: Decisions | None = None,
) -> Exploration:
    """Trace ``root``, continuing after each failure.

    A copy of ``tracer`` decides which modules are leaves and so on. ``examples`` has a value for each traced input, by
    name; these tensors and the root's parameters may be on the meta device. Without ``examples``, inputs are guessed.
    ``order`` records the order in which modules and parameters are used. ``decisions`` reverses some of the answers.
    """
    inputs = guess_inputs(root, concrete_args) if examples is None else examples
    explorer = _Explorer(copy.copy(tracer or Tracer()), inputs, decisions or Decisions(), informed=examples is not None)
    return explorer.explore(root, concrete_args, order)


class _Explorer:
    """Makes one tracer continue after failures, by wrapping those of its methods that `_WRAPPED` names.

    Each wrapper is a method of the same name in this class, whose first argument is the tracer's own method. The
    wrapper calls the tracer's method first, so the decisions of a subclass of `Tracer` apply as in a plain trace.
    ``informed`` says whether ``inputs`` were given rather than guessed.
    """

    def __init__(self, tracer: Tracer, inputs: Mapping[str, Any], decisions: Decisions, informed: bool) -> None:
        self.tracer = tracer
        tracer.root, tracer.graph = torch.nn.Module(), Graph()
        self._decisions = decisions
        self._sites = Sites()
        self._shadows = Shadows(inputs, self._attribute, on_meta=not informed)
        self._informed = informed
        self._unregistered: dict[str, torch.nn.Module] = {}
        # By instruction and running function: how often the condition there was evaluated.
        self._turns: dict[tuple[int, int], int] = {}
        self._patches = PatchScope()
        # The ids of the globals in which imports were softened, and of those in which the functions that the tracer
        # records were replaced: a plain trace does this only where it finds a forward.
        self._softened: set[int] = set()
        self._replaced: set[int] = set()
        self._probing = 0
        self._news = 0
        """How many sites and conditions had been met when a node was last recorded."""
        self._known: int | None = None
        """How many sites had been found when the run was ended as `SawEnough`; what comes later does not count."""
        self._rest = MOST_NODES_WITHOUT_NEWS
        """How many more nodes may be recorded until something new is met."""

    def explore(self, root: Any, concrete_args: Any, order: ExecOrderTracer | None) -> Exploration:
        """Trace ``root`` once, as `fxcore.explore.explore` does."""
        tracer = self.tracer
        complete = False
        with untouched(root), self._patches, self._steering(root, order):
            replace_wrapped(self._patches)
            soften_calls(self._patches, call_refusing)
            soften_assertions(self._patches, _ASSERTED)
            self._soften_imports_of(root)
            try:
                tracer.trace(root, concrete_args)
                complete = True
            except TraceFailure as failure:
                self._sites.note(failure, "", certain=True)
            except GaveUp:
                pass
        sites, saw_enough = self._sites.found[: self._known], self._known is not None
        complete &= not saw_enough
        return Exploration(sites, tracer.graph, tracer.root, complete, self._decisions, saw_enough)

    @contextlib.contextmanager
    def _steering(self, root: Any, order: ExecOrderTracer | None) -> Iterator[None]:
        """Within the block, the tracer's methods are wrapped, first by this explorer and then by ``order``."""
        token = _exploring.set(self)
        try:
            with contextlib.ExitStack() as wrapped:
                wrapped.enter_context(wrapped_methods(self.tracer, {name: getattr(self, name) for name in _WRAPPED}))
                if order is not None:
                    module = root if isinstance(root, torch.nn.Module) else torch.nn.Module()
                    wrapped.enter_context(order.patch_tracer(self.tracer, module))
                yield
        finally:
            _exploring.reset(token)

    def _soften_imports_of(self, program: Any) -> None:
        namespace = getattr(getattr(program, "forward", program), "__globals__", {})
        if id(namespace) not in self._replaced:
            self._replaced.add(id(namespace))
            self._soften(namespace)
            replace_functions(self._patches, namespace, self.tracer._autowrap_function_ids)

    def _soften(self, namespace: dict[str, Any]) -> None:
        """Soften the imports of a module, and those of the program's other modules of which it uses functions."""
        if id(namespace) in self._softened:
            return
        self._softened.add(id(namespace))
        used = originals(namespace)
        soften_imports(self._patches, _CALLED_ELSEWHERE, namespace, self.tracer._autowrap_function_ids)
        for value in used.values():
            if isinstance(value, FunctionType) and _is_of_program(value.__code__.co_filename):
                self._soften(value.__globals__)
            elif isinstance(value, ModuleType) and _is_of_program(vars(value).get("__file__")):
                self._soften(vars(value))

    def _attribute(self, path: str) -> Any:
        if path in self._unregistered:
            return self._unregistered[path]
        if path in self.tracer.graph.constants:
            return self.tracer.graph.constants[path]
        return functools.reduce(getattr, path.split("."), self.tracer.root)

    # Recording nodes, and computing their example values.

    def create_node(self, create: Callable[..., Node], kind: str, target: Any, *args: Any, **kwargs: Any) -> Node:
        node = create(kind, unsoftened(target), *args, **kwargs)
        self._end_if_nothing_is_new(node)
        if self._informed and kind != "output":
            self._shadows.compute(node)  # at once, because later nodes may write to the value
        return node

    def _end_if_nothing_is_new(self, node: Node) -> None:
        """Raise `SawEnough` if this run reverses conditions, and the program has returned to the path of the first.

        It is raised again for each further node: a handler of the program may catch it.
        """
        decisions, known = self._decisions, len(self._sites.found)
        if self._known is not None:
            raise SawEnough
        is_on_path = node.where in decisions.path
        decisions.recorded += is_on_path or not decisions.path
        news = known + len(decisions.taken)
        is_news = news != self._news or not is_on_path
        self._rest = MOST_NODES_WITHOUT_NEWS if is_news else self._rest - 1
        self._news = news
        if self._rest < 0 and decisions.are_behind:
            self._known, decisions.are_over = known, True
            raise SawEnough

    def path_of_module(self, find: Callable[[torch.nn.Module], str], mod: torch.nn.Module) -> str:
        try:
            return find(mod)
        except NotASubmoduleFailure as failure:
            if _is_handled(failure):
                raise
            path = f"_unregistered_{len(self._unregistered)}"
            self._unregistered[path] = mod
            self._sites.note(self._sites.placed(failure), "it is registered", certain=True)
            return path

    def call_module(
        self,
        call: Callable[..., Any],
        m: torch.nn.Module,
        forward: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        self._soften_imports_of(m)
        self._sites.calls.append(type(m))
        try:
            return call(m, forward, args, kwargs)
        except GaveUp:
            raise
        except Exception as error:
            if _is_handled(error):
                raise
            failure = caught(error)
            # The program's own errors may be raised in a real run, too, which would then end here.
            certain = self._informed or failure.kind is not FailureKind.EXCEPTION
            site = self._sites.note(failure, f"{type(m).__name__} is recorded as one call", certain=certain)
            recorded = self._called_as_one(self.tracer.path_of_module(m), args, kwargs)
            site.nodes[recorded.node] = None
            return recorded
        finally:
            self._sites.calls.pop()

    def _called_as_one(self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        self._probing += 1
        try:
            return self.tracer.create_proxy("call_module", path, args, kwargs)
        except TraceFailure:  # a graph can't hold the arguments, and needn't: the module isn't a leaf
            return self.tracer.create_proxy("call_module", path, (), {})
        finally:
            self._probing -= 1

    # What the program needs to know about traced values, and the answers.

    def to_bool(self, ask: Callable[[Proxy], bool], obj: Proxy) -> bool:
        return self._asked(obj, ask, self._truth_of, self._likely_truth, self._decided)  # type: ignore[no-any-return]

    def _decided(self, node: Node, likely: bool) -> bool:
        """Decide the condition reached: ``likely``, or its opposite if this run explores the other side."""
        frame = _users_frame()
        return self._decisions.decide((frame.f_code.co_filename, frame.f_code, frame.f_lasti), node, likely)

    def _truth_of(self, value: Any) -> bool:
        """Whether an example value is true.

        If the inputs were guessed and this answer leads straight to a ``raise``, the guess was probably wrong: the
        opposite answer is returned.
        """
        truth = bool(value)
        if self._informed:
            return truth
        return truth != (_raising_truth() is truth)

    def iter(self, ask: Callable[[Proxy], Iterator[Any]], obj: Proxy) -> Iterator[Any]:
        return iter(
            self._asked(obj, ask, functools.partial(self._items_of, obj), lambda: items(obj, likely_count(obj.node)))
        )

    def _items_of(self, obj: Proxy, value: Any) -> list[Any]:
        """The items of ``obj``, whose example is ``value``, as traced values; the keys of a mapping are not traced."""
        if isinstance(value, KeysView | Mapping):
            return list(value)
        if isinstance(value, ItemsView):
            mapping: Any = self.tracer.proxy(obj.node.all_input_nodes[0])
            return [(key, mapping[key]) for key, _ in value]
        return items(obj, len(list(value)))

    def len(self, ask: Callable[[Proxy], int], obj: Proxy) -> int:
        return self._asked(obj, ask, len, lambda: 2)  # type: ignore[no-any-return]

    def convert(self, ask: Callable[..., Any], obj: Proxy, to: str) -> Any:
        if to == "index" and _asked_by_torch():
            return ask(obj, to)  # without an answer, torch's call is recorded
        guess, learn = NUMBERS[to]
        return self._asked(obj, functools.partial(ask, to=to), learn, lambda: guess)

    def contains(self, ask: Callable[..., bool], obj: Proxy, item: Any) -> bool:
        ask = functools.partial(ask, item=item)
        return self._asked(obj, ask, lambda value: item in value, lambda: False)  # type: ignore[no-any-return]

    def setitem(self, ask: Callable[..., None], *args: Any) -> None:
        self._recorded(operator.setitem, args, ask)

    def delitem(self, ask: Callable[..., None], *args: Any) -> None:
        self._recorded(operator.delitem, args, ask)

    def refuse_argument(self, refuse: Callable[[Any], Any], a: Any) -> Any:
        try:
            return refuse(a)
        except ArgumentFailure as failure:
            if self._probing or self._sites.place() is None:  # the trace places what the program returns
                raise
            if _is_handled(failure):
                raise
            self._sites.note(self._sites.placed(failure), "it is recorded", certain=True)
            return a

    def _asked(
        self,
        obj: Proxy,
        ask: Callable[[Proxy], Any],
        learn: Callable[[Any], Any],
        guess: Callable[[], Any],
        decide: Callable[[Node, Any], Any] = lambda node, likely: likely,
    ) -> Any:
        """The tracer's own answer, if it has one. Otherwise the answer for the example value, or a guess.

        If the tracer has no answer, the place is noted, and ``decide`` may reverse the likely answer.
        """
        try:
            return ask(obj)
        except TraceFailure as error:
            if self._probing or _is_handled(error):
                raise
            failure = error
        try:
            likely, certain = learn(self._shadows[obj.node]), self._informed
        except Exception:  # no example, or one without content (on the meta device)
            likely, certain = guess(), False
        answer = decide(obj.node, likely)
        certain = certain and answer is likely
        site = self._sites.note(self._sites.placed(failure), said(answer), certain=certain, value=obj.node)
        site.nodes[obj.node] = None
        site.turned = site.turned or answer is not likely
        return answer

    def _likely_truth(self) -> bool:
        frame = _users_frame()
        condition = frame.f_lasti, id(frame)
        self._turns[condition] = turn = self._turns.get(condition, 0) + 1
        if turn > 4 * LOOP_TURNS:
            raise GaveUp
        return likely_truth(_raising_truth(), turn)

    def _recorded(self, function: Callable[..., Any], args: tuple[Any, ...], ask: Callable[..., None]) -> None:
        try:
            ask(*args)
        except TraceFailure as failure:
            if _is_handled(failure):
                raise
            site = self._sites.note(self._sites.placed(failure), "it is recorded", certain=True, value=args[0].node)
            site.nodes[self.tracer.create_proxy("call_function", function, args, {}).node] = None

    def _called(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of torch's; if it refuses a traced value, note the failure and record the call.

        While the function runs, no guesses are made about traced values: the function only inspects its arguments, and
        does not depend on the answers.
        """
        self._probing += 1
        try:
            refuse_to_misread(function, kwargs)
            return function(*args, **kwargs)
        except Exception as error:
            value = find_proxy(args, kwargs)
            if value is None or _is_handled(error):
                raise
            failure = self._refused(function, error)
        finally:
            self._probing -= 1
        return self._failed_call(self._sites.placed(failure), value, function, args, kwargs)

    def _asserted(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``torch._assert``; if it fails, note the failure. Such calls often check for a tensor."""
        try:
            return function(*args, **kwargs)
        except AssertionError as error:
            if _is_handled(error):
                raise
            self._sites.note(caught(error), "it holds", certain=self._informed)
            return None

    def _called_elsewhere(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of another package; if it fails on a traced value, note the failure and record the call."""
        try:
            return function(*args, **kwargs)
        except Exception as error:
            value = find_proxy(args, kwargs)
            if value is None or _is_handled(error):
                raise
            failure = caught(error)
            code = getattr(function, "__code__", None)  # there is none of what is written in C
            is_library = code is None or is_installed(code.co_filename)
            if is_library and failure.kind is FailureKind.EXCEPTION and (code is None or _is_about_types(error)):
                failure.kind, failure.callee = FailureKind.FOREIGN_CALL, callee_name(function)
        return self._failed_call(failure, value, function, args, kwargs, self._sites.place() if is_library else None)

    def _failed_call(
        self,
        failure: TraceFailure,
        value: Proxy,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        place: SourceSpan | None = None,
    ) -> Proxy:
        """Note that a call failed on ``value``, and record it. Arguments that a graph can't hold are kept unchanged."""
        site = self._sites.note(failure, "it is recorded", certain=True, value=value.node, place=place)

        def kept(value: Any) -> Any:
            self._probing += 1
            try:
                self.tracer.create_arg(value)
            except ArgumentFailure:
                return _Kept(value)
            finally:
                self._probing -= 1
            return value

        call = self.tracer.create_proxy("call_function", function, *map_aggregate((args, kwargs), kept))
        site.nodes[call.node] = None
        return call

    def _refused(self, function: Callable[..., Any], error: Exception) -> TraceFailure:
        if isinstance(error, TraceFailure):
            return error
        failure = as_failure(error, FailureKind.FOREIGN_CALL)
        failure.callee = callee_name(function)
        return failure


def _is_handled(error: Exception) -> bool:
    """Whether the program or a library handles ``error``, so that a plain trace goes on, too."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not TRACE_CODE:
        if is_user_file(frame.f_code.co_filename) and handles_errors(frame, error):
            return True
        frame = frame.f_back
    return False


def _is_of_program(file: object) -> bool:
    """Whether a module's or a function's file belongs to the program, rather than to torch or another package."""
    return isinstance(file, str) and is_user_file(file) and not is_installed(file)


def _is_about_types(error: Exception) -> bool:
    """Whether a library refuses a traced value as such; it may refuse other things because of an earlier assumption."""
    return isinstance(error, TypeError | AttributeError) or Proxy.__name__ in str(error)


def _asked_by_torch() -> bool:
    """Whether torch's C++ code requested the conversion, while it was parsing its arguments."""
    frame = _users_frame()
    return is_call(frame.f_code, frame.f_lasti) and calls_torch_cpp(frame, frame.f_lasti)


class _Kept:
    """An argument that is recorded unchanged, although a graph can't hold it."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __fx_create_arg__(self, tracer: Tracer) -> Any:
        return self._value


# The methods of a tracer that an exploring trace wraps.
_WRAPPED = (
    *("create_node", "path_of_module", "call_module"),
    *("to_bool", "iter", "len", "convert", "contains", "setitem", "delitem", "refuse_argument"),
)

_exploring: ContextVar[_Explorer | None] = ContextVar("_exploring", default=None)


def _answered_by(answer: Callable[..., Any]) -> Call:
    """A `Call` that lets ``answer`` handle the calls that an exploring trace makes.

    Other traces may run in other threads or within the exploring trace; their calls are made as usual.
    """

    def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        session, explorer = current(), _exploring.get()
        if session is None or explorer is None or session.tracer is not explorer.tracer:
            return function(*args, **kwargs)
        return answer(explorer, function, args, kwargs)

    return call


call_refusing = _answered_by(_Explorer._called)
"""Call a function that may refuse traced values: an exploring trace notes that, and records the call."""

_ASSERTED = _answered_by(_Explorer._asserted)
_CALLED_ELSEWHERE = _answered_by(_Explorer._called_elsewhere)


def _raising_truth() -> bool | None:
    """Which truth value of the condition that is being evaluated leads straight to a ``raise``, also in a library."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "fxcore":
        frame = frame.f_back
    assert frame is not None, "a traced program runs"
    return raising_truth(frame.f_code, frame.f_lasti)


def _users_frame() -> FrameType:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    assert frame is not None, "a traced program runs"
    return frame
