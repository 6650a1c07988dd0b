"""Exports a program past its first failure, to find every place in one run.

Where an export would end, this one notes the place and goes on under an assumption, as `fxcore.explore` does: a
condition is false, unless that leads straight to a ``raise``; a number is one; a call returns what it does for zeros.
Further runs assume the opposite for conditions. No values are needed, so even a loop whose length depends on data ends.
The last run computes the values and follows the program as a call would.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import CodeType, FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from fx_lsp.agent.capturing.export_capture import export_failure, exported, kind_of
from fx_lsp.agent.capturing.torch_internals import (
    answer_if_all_are_one,
    answering,
    hashing_numbers,
    knowing_values,
    known_answer,
    needs_data,
    numbers_asked_about,
    numbers_in,
    origins_of,
    real_tensors,
    value_of,
    with_plain_numbers,
    without_lost_numbers,
)
from fx_lsp.agent.messages import Failure, Span
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.running.plain_values import map_tensors, tensors_of
from fx_lsp.agent.traceback_steps import chain_of_frames, describe
from fxcore.explore.likely_answers import LOOP_TURNS, likely_truth, said
from fxcore.source import is_user_file, stack_places, user_frames
from fxcore.source.bytecode import raising_truth
from fxcore.source.syntax import handles_errors, operation_at

MOST_OTHER_RUNS = 3
"""How many runs look at the other sides of conditions."""

REVERSED_TURNS = 2
"""How often a reversed condition of a loop gets the other answer, so that the loop ends."""

MOST_EVENTS = 1_000
"""After this many failures, including repeated ones, the run is given up because it makes no progress."""

MOST_REPEATS = 10
"""How often a run is repeated because the program has raised an error again that it seemed to handle."""

MOST_CALLS = 100
"""A run with values is given up after this many calls of torch's functions more than twice those of another."""

_PASSABLE = frozenset({"data-dependent-guard", "data-dependent-size", "missing-fake-kernel"})
"""The kinds of failure that the run can go on after."""


def failures_of_export(
    make: Callable[[], tuple[Callable[..., Any], Input]],
    make_real: Callable[[], tuple[Callable[..., Any], Input]],
    tell: Callable[[Sequence[Failure]], None],
) -> bool:
    """``tell`` the failures of an export that can be found, in the order in which it reaches them: each time one more.

    Returns whether no other failure is behind these: every run has followed the program to its end, and no condition is
    left to be reversed.

    ``make`` builds the module anew for each run, and its input. The first run makes the likely assumptions. Each
    further run reverses all conditions that are known by then, and so reaches their other sides. Errors that the
    program raises after an assumption are left out, since the assumption may have caused them. Where something was
    assumed, the last run asks the values instead: for this, ``make_real`` builds the module and its input with real
    tensors.
    """
    found: Sequence[Failure] = ()
    reversed_: set[_Condition] = set()
    unhandled: set[Span | None] = set()
    reached_ends, is_complete, most_calls = True, False, 0
    for _ in range(1 + MOST_OTHER_RUNS):
        run, reached_end = _followed(partial(_Run, frozenset(reversed_), found, tell, unhandled), make)
        reached_ends = reached_end and reached_ends
        found = run.all_failures
        tell(found)  # how often each was met is known only now
        most_calls = max(most_calls, run.calls)
        if is_complete := run.reversible <= reversed_:
            break
        reversed_ |= run.reversible
    if any(failure.assumption for failure in found):
        with suppress(Exception), knowing_values():  # real tensors may be too large, or can't be made
            most = 2 * most_calls + MOST_CALLS
            real = partial(_RealRun, make_real, found, tell, unhandled, most)
            run, reached_end = _followed(real, make_real)
            reached_ends = reached_end and reached_ends
            tell(run.all_failures)
    return reached_ends and is_complete


def _followed(new_run: Callable[[], _Run], make: Callable[[], tuple[Callable[..., Any], Input]]) -> tuple[_Run, bool]:
    """A run, and whether it has followed the program to its end; another one if a handler has raised an error again."""
    for _ in range(MOST_REPEATS):
        run = new_run()
        reached_end = run.export(*make())
        if not run.is_misled:
            break
    return run, reached_end


_Condition = tuple[str, CodeType, int]
"""An instruction that tests a value: its file, code object and offset."""


class _GaveUp(BaseException):
    """Ends the run. This is not an `Exception`, so that the program's handlers don't catch it."""


class _Run(TorchFunctionMode):
    """One export that goes on after failures: it answers for torch, and stands in for calls that fail."""

    def __init__(
        self,
        reversed_: frozenset[_Condition],
        known: Sequence[Failure],
        tell: Callable[[Sequence[Failure]], None],
        unhandled: set[Span | None],
        most_calls: float = math.inf,
    ) -> None:
        """Some conditions are ``reversed_``.

        ``known`` are the failures of earlier runs; ``tell`` is given all of them and the new ones, each time one more.
        ``unhandled`` are the places at which a handler raises the error again, or another one; this run adds to them.
        After ``most_calls`` of torch's functions, the run is given up.
        """
        super().__init__()
        self.is_misled = False
        """Whether the run has found such a place, and ended there."""
        self._unhandled = unhandled
        self._let_through: list[tuple[Exception, Span | None]] = []
        """The errors that the program seems to handle, with their places."""
        self._known = known
        self._tell = tell
        self.failures: list[Failure] = []
        self.reversible: set[_Condition] = set()
        """The conditions that were assumed, except for those whose other side leads straight to a ``raise``."""
        self._reversed = reversed_
        self._other_side = ""
        """What was assumed at the last condition that was reversed."""
        self._top = _followed.__code__
        self._in_call = False
        """Whether a function of torch's is running; it may have a way to do without an answer."""
        self._assuming = False
        """Whether that function is called again, because it has no such way."""
        self._guess: Span | None = None
        """The place of the last assumption."""
        self._reversing = ""
        """What is assumed at the condition that is being reversed."""
        self._fixed: frozenset[Any] = frozenset()
        """The numbers that whoever mends the failures so far has to do without."""
        self.calls = 0
        """How often a function of torch's was called."""
        self._most_calls = most_calls
        self._events = 0
        self._turns: dict[tuple[int, int], int] = {}
        """By instruction and running function: how often a condition was answered there."""

    @property
    def all_failures(self) -> Sequence[Failure]:
        """The known failures and those of this run that are new."""
        if not self._known:
            return tuple(self.failures)
        known = {failure.chain[-1].span for failure in self._known if failure.chain}
        new = [failure for failure in self.failures if failure.chain and self._can_be_new(failure)]
        return (*self._known, *(failure for failure in new if failure.chain[-1].span not in known))

    def _can_be_new(self, failure: Failure) -> bool:
        """Whether earlier runs may have missed ``failure``: only what is behind a condition that was reversed."""
        return bool(failure.other_side)

    def export(self, root: Callable[..., Any], given: Input) -> bool:
        """Run the export; returns whether it followed the program to its end."""
        try:
            with (
                answering(self.answer, self._place),
                hashing_numbers(self.hash_of),
                without_lost_numbers(self._note_lost_number),
                self,
            ):
                exported(root, given, None)
        except _GaveUp:
            return False
        except Exception as error:
            if is_out_of_memory(error):
                raise
            if self._note_unhandled(error):
                return False
            last = export_failure(error, root)
            if self._counts_as_last(last, error, root):
                self._add(dataclasses.replace(last, after=self._guess, other_side=self._other_side))
            return last.kind == "unsupported-output"
        return True

    def answer(self, error: Exception, kind: type) -> bool | int | float:
        """What to assume where an export would raise ``error``. Raises it if torch or the program may handle it."""
        if (self._in_call and not self._assuming) or self._is_handled(error):
            raise error
        value = self._answer(error, kind)
        if not self._assuming and not self._is_mended(error):
            self._note(error, said(value))
        return value

    def _is_mended(self, error: Exception) -> bool:
        """Whether a question is only about numbers that whoever mends the failures so far does not have any more."""
        asked = numbers_asked_about(error)
        if asked and asked <= self._fixed:
            return True
        origins = origins_of(error)
        elsewhere = self._places - {self._place()}
        return bool(origins) and all(origin in elsewhere for origin in origins)

    def _as_mended(self, result: Any) -> Any:
        """What a call returns: with plain numbers at a place that fails, since whoever mends it has those."""
        if self._place() not in self._places:
            return result
        with self._calling(assuming=True):
            return with_plain_numbers(result)

    @property
    def _places(self) -> set[Span]:
        """Where exports are known to fail."""
        return {failure.chain[-1].span for failure in (*self._known, *self.failures) if failure.chain}

    def _place(self) -> Span | None:
        """What the program is doing."""
        chain = chain_of_frames(user_frames(stack_places(sys._getframe(), self._top)))
        return chain[-1].span if chain else None

    def _answer(self, error: Exception, kind: type) -> bool | int | float:
        fixed = answer_if_all_are_one(error) if numbers_asked_about(error) <= self._fixed else None
        if fixed is not None:
            return bool(fixed) if kind is bool else int(fixed) if kind is int else float(fixed)
        return self._assumed_truth() if kind is bool else kind(1)

    def hash_of(self, number: torch.SymInt, error: Exception) -> int:
        """The hash of a number that depends on data: an export raises ``error`` for want of one."""
        if self._is_handled(error):  # the program, such as einops, may do without
            raise error
        is_new = not numbers_in(number) <= self._fixed and not self._is_mended(error)
        self._fixed |= numbers_in(number)
        with self._calling(assuming=True):
            value = int(number)
        if is_new:
            self._note(error, said(value))
        return hash(value)

    def _is_handled(self, error: Exception) -> bool:
        """Whether the program seems to go on by itself after ``error``, so that it stops no export."""
        place = self._place()
        if place in self._unhandled or not any(handles_errors(frame, error) for frame in _users_frames(self._top)):
            return False
        self._let_through.append((error, place))
        return True

    def _note_unhandled(self, last: BaseException) -> bool:
        """Whether ``last``, which has ended the run, is an error that the program seemed to handle, or due to one."""
        chain: list[BaseException | None] = [last]
        while (error := chain[-1]) is not None and len(chain) < MOST_EVENTS:
            chain.append(error.__cause__ or error.__context__)
        places = {place for error, place in self._let_through if any(error is one for one in chain)}
        self.is_misled = bool(places)
        self._unhandled |= places
        return self.is_misled

    def _stand_in(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = _result_for_others(func, args, kwargs)
        return False if isinstance(result, bool) else result

    def _note_lost_number(self, error: Exception) -> None:
        self._note(error, "torch need not know the number")

    def _counts_as_last(self, last: Failure, error: Exception, root: Callable[..., Any]) -> bool:
        """Whether the failure that ended the run is one of the program, rather than due to an assumption."""
        return not self.failures or last.kind != "export-error"

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch's, and go on if it fails."""
        kwargs = kwargs or {}
        self.calls += 1
        if self.calls > self._most_calls:
            raise _GaveUp
        try:
            with self._calling():
                result = func(*args, **kwargs)
            return self._as_mended(result) if numbers_in(result) else result
        except Exception as error:
            is_passable = kind_of(error) in _PASSABLE or needs_data(func)
            if not is_passable or self._is_handled(error):
                raise
            failed = error
        try:
            with self._calling(assuming=True):
                result = with_plain_numbers(func(*args, **kwargs))
            assumption = "it works"
        except Exception:
            result = self._stand_in(func, args, kwargs)
            assumption = "it returns what it does for other values"
        self._note(failed, said(result) if isinstance(result, bool | int | float) else assumption)
        return result

    @contextmanager
    def _calling(self, *, assuming: bool = False) -> Iterator[None]:
        before = self._in_call, self._assuming
        self._in_call, self._assuming = True, assuming
        try:
            yield
        finally:
            self._in_call, self._assuming = before

    def _note(self, error: Exception, assumption: str) -> None:
        frames = user_frames(stack_places(sys._getframe(), self._top))
        operation = operation_at(frames[-1].place) if frames and frames[-1].place else ""
        chain = chain_of_frames(frames)
        self._add(
            Failure(
                kind_of(error),
                describe(error),
                chain,
                assumption=assumption,
                after=self._guess,
                other_side=self._other_side,
                operation=operation,
            )
        )
        self._guess = chain[-1].span if chain else None
        self._other_side = self._reversing or self._other_side
        self._reversing = ""

    def _add(self, failure: Failure) -> None:
        self._events += 1
        if self._events > MOST_EVENTS:
            raise _GaveUp
        for index, known in enumerate(self.failures):
            if known.chain and failure.chain and known.chain[-1].span == failure.chain[-1].span:
                self.failures[index] = dataclasses.replace(known, count=known.count + 1)
                return
        self.failures.append(failure)
        self._tell(self.all_failures)

    def _assumed_truth(self) -> bool:
        frame = next(_users_frames(self._top), None)
        if frame is None:
            return False
        place = frame.f_lasti, id(frame)
        self._turns[place] = turn = self._turns.get(place, 0) + 1
        if turn > 4 * LOOP_TURNS:
            raise _GaveUp
        raising = raising_truth(frame.f_code, frame.f_lasti)
        likely = likely_truth(raising, turn)
        condition = frame.f_code.co_filename, frame.f_code, frame.f_lasti
        if raising is not (not likely):
            self.reversible.add(condition)
        if condition not in self._reversed or turn > REVERSED_TURNS:
            return likely
        self._reversing = said(not likely)
        return not likely


class _RealRun(_Run):
    """One export that goes on after failures as a call of the program would, since the values are known.

    See `knowing_values`. An error that ends it counts only if all values were known, if the program's own code raises
    it, in a file with one of its modules, since torch can't do everything while it computes them, and if a call of the
    program works: with random weights, it may raise an error itself.
    """

    _knows_all = True

    def __init__(
        self,
        make: Callable[[], tuple[Callable[..., Any], Input]],
        known: Sequence[Failure],
        tell: Callable[[Sequence[Failure]], None],
        unhandled: set[Span | None],
        most_calls: float,
    ) -> None:
        """``make`` returns a new build of the program and its input, both real. As for the rest, see `_Run`."""
        super().__init__(frozenset(), known, tell, unhandled, most_calls)
        self._make = make

    def _can_be_new(self, failure: Failure) -> bool:
        return True

    def _counts_as_last(self, last: Failure, error: Exception, root: Callable[..., Any]) -> bool:
        if not self._knows_all or not isinstance(root, torch.nn.Module):
            return False
        *_, (innermost, _) = traceback.walk_tb(error.__traceback__)
        file = innermost.f_code.co_filename
        codes = [getattr(part.forward, "__code__", None) for part in root.modules()]
        is_own = is_user_file(file) and file in {code.co_filename for code in codes if code is not None}
        return is_own and _works(*self._make())

    def _answer(self, error: Exception, kind: type) -> bool | int | float:
        known = known_answer(error)
        self._knows_all &= known is not None
        return super()._answer(error, kind) if known is None else kind(known)

    def _stand_in(self, func: Any, args: Any, kwargs: Any) -> Any:
        self._knows_all &= all(value_of(tensor) is not None for tensor in tensors_of([*args, *kwargs.values()]))
        return _result_for_others(func, args, kwargs)


def _works(root: Callable[..., Any], given: Input) -> bool:
    try:
        root(*given.args, **given.kwargs)
    except Exception:
        return False
    return True


def _result_for_others(func: Any, args: Any, kwargs: Any) -> Any:
    """What a call returns for other values of the same shapes; if that fails too, a copy of its first tensor."""
    try:
        with real_tensors():
            result = func(*map_tensors(_arbitrary, list(args)), **map_tensors(_arbitrary, kwargs))
    except Exception:
        return _like_argument([*args, *kwargs.values()])
    first = tensors_of([*args, *kwargs.values()])[0]

    def made(tensor: torch.Tensor) -> torch.Tensor:
        new = first.new_empty(tensor.shape, dtype=tensor.dtype)
        if (value := value_of(new)) is not None:
            with real_tensors():
                value.copy_(tensor)
        return new

    return map_tensors(made, result)


def _arbitrary(tensor: torch.Tensor) -> torch.Tensor:
    """A real tensor of the same shape and dtype: its value if that is known; zeros are valid as indices, too."""
    known = value_of(tensor)
    if known is not None:
        return known
    return torch.zeros([int(size) for size in tensor.shape], dtype=tensor.dtype)


def _like_argument(values: list[Any]) -> Any:
    """What takes the place of the result of a call that fails whatever is assumed: a copy of its first tensor."""
    tensors = tensors_of(values)
    if not tensors:
        raise _GaveUp
    return tensors[0].clone()


def _users_frames(top: CodeType) -> Iterator[FrameType]:
    """The user's frames that ``top`` has led to, the innermost first."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not top:
        if is_user_file(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back
