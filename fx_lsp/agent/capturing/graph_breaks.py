"""Lists every place that stops ``torch.compile(fullgraph=True)``, from a run without ``fullgraph``."""

from __future__ import annotations

import dataclasses
import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from traceback import FrameSummary
from typing import Any

import torch

from fx_lsp.agent.capturing.break_places import failure_of, knows_columns, steps_of
from fx_lsp.agent.capturing.torch_internals import (
    DATA_DEPENDENT,
    answering,
    as_in_one_graph,
    breaking_at_operators,
    deciding_branches,
    is_in_operator,
    keeping_lines,
    knowing_values,
    known_answer,
    may_be_due_to_an_answer,
    origins_of,
    placing_conditions,
    resuming_in_loops,
    running_frames,
    text_and_frames,
    watching_graph_breaks,
    with_fewer_breaks,
    without_lost_numbers,
)
from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.running.observation import Input, forward_of
from fx_lsp.agent.traceback_steps import describe
from fxcore.tracing.diagnosis import is_installed

MOST_TURNS = 50
"""How often the same question is answered; then the loop that asks it is ended by a graph break."""

MOST_REPEATS = 10
"""How often a run is repeated because an operator got no answer: each time, one more place is answered."""


def graph_breaks(
    build: Callable[[], Callable[..., Any]],
    given: Input,
    tell: Callable[[Sequence[Failure]], None],
    within: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """``tell`` the breaks in runs with ``given``, in the order in which torch meets them, whenever there is one more.

    ``build`` makes the program, which is modified by a run. It and ``given`` have real tensors. An error that the
    program raises ends a run. Each run is made ``within`` a context.

    The first run breaks the graph wherever it has to. Behind a break the graph begins anew, with numbers and sizes that
    are known. So another run avoids breaks: it leaves out what prints and logs, which would break a whole ``with``
    block, and where it needs an answer that depends on data, it computes that and goes on. Each ``print`` that is left
    out counts. If it can't get to the end, another run assumes the answers.
    """
    found = _Breaks(tell, within)
    with as_in_one_graph(), breaking_at_operators(), keeping_lines(), placing_conditions():
        with resuming_in_loops():
            ended = found.run(build, given)
            with answering(found.assume, running_frames), without_lost_numbers():
                ended = ended or found.run(build, given)
                with with_fewer_breaks(found.note):
                    with knowing_values(), deciding_branches(found.decide):
                        followed = found.run(build, given)
                    if not followed:
                        found.run(build, given)
        if not ended:  # resuming may have taken too many calls: each turn of a loop takes one
            found.run(build, given)


class _Breaks:
    """The graph breaks of several runs of one program."""

    def __init__(
        self, tell: Callable[[Sequence[Failure]], None], within: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._tell = tell
        self._within = within
        self._found: dict[Span, Failure] = {}
        self._lines: dict[Span, Failure] = {}
        """The breaks of which only the line is known."""
        self._counts: Counter[Span] = Counter()
        """How often each place was met in the present run."""
        self._in_operator: Span | None = None
        """The last place at which an operator asked a question in the present run, and got no answer."""
        self._refused: set[Span] = set()
        """The places at which an operator ended a run because it got no answer."""
        self._has_answered = False
        """Whether the present run has answered a question."""
        self._is_installed = False
        """Whether the program is a package's, rather than the user's own."""

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Each break once."""
        known = {(place.file, line) for place in self._found for line in range(place.line, place.end_line + 1)}
        lines = [failure for place, failure in self._lines.items() if (place.file, place.line) not in known]
        return (*self._found.values(), *lines)

    def run(self, build: Callable[[], Callable[..., Any]], given: Input) -> bool:
        """Compile and call the program; returns whether it came to its end."""
        for _ in range(1 + MOST_REPEATS):
            refused, self._in_operator = len(self._refused), None
            if self._runs_to_end(build(), given):
                return True
            if len(self._refused) == refused:
                break
        return False

    def _runs_to_end(self, root: Callable[..., Any], given: Input) -> bool:
        torch.compiler.reset()
        self._counts.clear()
        self._has_answered = False
        code = getattr(inspect.unwrap(forward_of(root)), "__code__", None)
        self._is_installed = code is None or is_installed(code.co_filename)
        try:
            with watching_graph_breaks(self._seen), self._within():
                torch.compile(root, backend="eager")(*given.args, **given.kwargs)
        except Exception as error:
            if is_out_of_memory(error):
                raise
            if isinstance(error, DATA_DEPENDENT) and self._in_operator is not None:
                self._refused.add(self._in_operator)
            return False
        return True

    def assume(self, error: Exception, kind: type) -> bool | int | float:
        """The answer where torch.compile would raise ``error``: an assumption if it isn't known.

        Raises the error if a function of torch's asks, which may have a way to do without an answer. If it hasn't,
        the error ends the run, and the next one answers.
        """
        frames = running_frames()
        steps = steps_of(frames)
        if not steps:
            raise error
        place = steps[-1].span
        if is_in_operator() and place not in self._refused:
            self._in_operator = place
            raise error
        if not self._descends_from_another(error, place):
            self._add(Failure("graph-break", describe(error).partition("\n")[0], steps), frames)
        if self._counts[place] > MOST_TURNS:
            raise error
        self._has_answered = True
        known = known_answer(error)
        if known is not None:
            return bool(known) if kind is bool else kind(known)
        return False if kind is bool else 1

    def _descends_from_another(self, error: BaseException, place: Span) -> bool:
        """Whether a question is only about numbers that other breaks read: whoever mends these has no such numbers."""
        origins = [steps_of(frames or ()) for frames in origins_of(error)]
        return bool(origins) and all(steps and steps[-1].span in self._found.keys() - {place} for steps in origins)

    def decide(self, error: BaseException) -> None:
        """Add the break at a branch whose answer is known. Raises ``error`` if there are too many."""
        self.note(error)
        frames = steps_of(text_and_frames(error)[1])
        if not frames or self._counts[frames[-1].span] > MOST_TURNS:
            raise error

    def _seen(self, error: BaseException) -> None:
        if not (self._has_answered and may_be_due_to_an_answer(error)):
            self.note(error)

    def note(self, error: BaseException) -> None:
        """Add the break that ``error`` describes."""
        failure = failure_of(error)
        if failure.chain:  # otherwise a function of Python's own broke, compiled by itself
            self._add(failure, text_and_frames(error)[1])

    def _concerns_program(self, chain: Sequence[Step]) -> bool:
        """Whether a break is the program's: behind one in a package, torch compiles each of its functions by itself."""
        return any(self._is_installed or not is_installed(step.span.file) for step in chain)

    def _add(self, failure: Failure, frames: list[FrameSummary]) -> None:
        place = failure.chain[-1].span
        self._counts[place] += 1
        if not self._concerns_program(failure.chain):
            return
        found = self._found if knows_columns(frames) else self._lines
        known = found.get(place, failure)
        found[place] = dataclasses.replace(known, count=max(known.count, self._counts[place]))
        self._tell(self.failures)
