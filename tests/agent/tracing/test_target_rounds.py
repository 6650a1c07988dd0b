"""In which order the targets of a request are tried, what waits for what, and whose word counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from fx_lsp.agent.messages import Failure, Limits, Outcome, Recipe, Report, Snippet, Span, Step, Target, Trace
from fx_lsp.agent.processes.watchdog import ChildProcess, Gone, Hear
from fx_lsp.agent.tracing.attempt import Attempt, HasParts, RetryOnCpu
from fx_lsp.agent.tracing.target_rounds import TargetRounds
from fx_lsp.agent.tracing.trace_target import could_not_invent


class Processes:
    """Runs what a request of these classes' targets asks for, as the test says."""

    def __init__(self, *symbols: str, at_once: int = 2, sure: bool = True, made_up: bool = False) -> None:
        self.started: list[tuple[Attempt, Hear, Gone]] = []
        self.told: list[tuple[str, Outcome, int]] = []
        """Of each report that was told: the target, the outcome, the number of failures."""
        targets = tuple(target(symbol, sure=sure, made_up=made_up) for symbol in symbols)
        request = Trace("model.py", targets, limits=Limits(at_once=at_once))
        rounds = TargetRounds(request, symbols, (), lambda *attempt: self.started.append(attempt), self.tell)
        self.steps: Iterator[None] = rounds.steps()
        self.step()

    def step(self) -> bool:
        """Go on as far as can be; whether there is anything left to wait for."""
        return next(self.steps, "over") is None

    def tell(self, item: object) -> None:
        if isinstance(item, Report):
            self.told.append((item.target, item.outcome, len(item.failures)))

    def say(self, number: int, item: object) -> None:
        """Have the process that was started as this number say something."""
        self.started[number][1](item)
        self.step()

    def end(self, number: int, status: int = 0) -> bool:
        """Have it end; whether there is anything left to wait for."""
        self.started[number][2](cast(ChildProcess, SimpleNamespace(overdue=False, status=status, stack="")))
        return self.step()


def target(symbol: str, *, sure: bool = True, made_up: bool = False) -> Target:
    """A class of the file, built without arguments; with ``made_up``, by a call with arguments or by invented ones."""
    root = Snippet(f"{symbol}()", 1)
    if made_up:
        call, fallbacks = Recipe(Snippet(f"{symbol}(8)", 1)), (Recipe(Snippet(symbol, 1), made_up=True),)
        return Target(symbol, symbol, Span("model.py", 1, 0, 1, 1), call, symbol=symbol, fallbacks=fallbacks)
    recipe = Recipe(root) if sure else Recipe(root, made_up=True)
    return Target(symbol, symbol, Span("model.py", 1, 0, 1, 1), recipe, symbol=symbol)


def failed(symbol: str, count: int = 1) -> Report:
    """It failed at so many places; of the first alone it is not known what is behind."""
    failures = tuple(Failure("len", f"error {number}") for number in range(count))
    return Report(0, symbol, "failed", failures, partial=count == 1)


def with_a_part() -> Processes:
    """Those of two classes: the first failed, and the second, which was traced, holds one of it."""
    processes = Processes("Block", "Net", at_once=3)
    processes.say(0, failed("Block"))
    processes.say(1, HasParts(("Block",)))
    processes.say(1, Report(0, "Net", "traced"))
    return processes


def test_a_failure_is_reported_once_final_and_again_in_full() -> None:
    processes = Processes("Net")
    processes.say(0, failed("Net"))
    assert processes.told == [("Net", "failed", 1)]
    processes.say(0, failed("Net", 3))
    assert processes.told[1:] == [("Net", "failed", 3)]
    assert not processes.end(0)


def test_a_failure_is_held_back_while_a_host_may_trace_through_it() -> None:
    processes = Processes("Block", "Net", at_once=3)
    processes.say(0, failed("Block"))
    processes.say(0, failed("Block", 2))
    assert processes.told == []
    processes.say(1, HasParts(("Block",)))
    processes.say(1, Report(0, "Net", "traced"))
    part, hear, _ = processes.started[2]
    assert (part.target.key, [held.key for held in part.parts]) == ("Net", ["Block"])
    hear(Report(0, "Block", "traced"))
    assert processes.told == [("Net", "traced", 0), ("Block", "traced", 0)]


@pytest.mark.parametrize("built_first", [1, 2])
def test_which_of_two_hosts_is_taken_does_not_depend_on_which_is_built_first(built_first: int) -> None:
    processes = Processes("Block", "First", "Second", at_once=4)
    processes.say(0, failed("Block"))
    for number in (built_first, 3 - built_first):
        processes.say(number, HasParts(("Block",)))
    processes.say(1, Report(0, "First", "traced"))
    processes.say(2, Report(0, "Second", "traced"))
    assert [attempt.target.key for attempt, _, _ in processes.started[3:]] == ["First"]


def test_a_worse_report_does_not_replace_a_better_one() -> None:
    processes = with_a_part()
    processes.say(2, Report(0, "Block", "traced"))
    processes.say(0, failed("Block", 4))
    assert processes.told == [("Net", "traced", 0), ("Block", "traced", 0)]
    assert processes.end(0)
    assert processes.end(1)
    assert not processes.end(2)


def test_a_host_replaces_a_report_only_with_a_better_one() -> None:
    processes = with_a_part()
    processes.say(2, dataclasses.replace(failed("Block", 2), reason="of the host"))
    processes.end(2)
    assert processes.told == [("Net", "traced", 0), ("Block", "failed", 1)]
    processes.say(0, failed("Block", 4))
    assert processes.told[2:] == [("Block", "failed", 4)]


def test_a_failure_in_a_host_tells_more_than_a_call_that_could_not_build_the_class() -> None:
    processes = Processes("Block", "Net", at_once=3)
    processes.say(0, Report(0, "Block", "not-built"))
    processes.say(1, HasParts(("Block",)))
    processes.say(1, Report(0, "Net", "traced"))
    processes.say(2, failed("Block", 2))
    processes.end(2)
    assert processes.told == [("Net", "traced", 0), ("Block", "failed", 2)]


def test_a_doubtful_result_tells_less_than_a_class_that_refuses_its_own_defaults() -> None:
    processes = Processes("Block", "Net", at_once=3)
    processes.say(0, Report(0, "Block", "not-built"))
    processes.say(1, HasParts(("Block",)))
    processes.say(1, Report(0, "Net", "traced"))
    for number in (2, 3):  # without a result that settles it, the part is tried again after the invented modules
        processes.say(number, Report(0, "Block", "unchecked"))
        processes.end(number)
    assert processes.told == [("Net", "traced", 0), ("Block", "not-built", 0)]


@pytest.mark.parametrize("outcome", ["out-of-memory", "timed-out", "unchecked"])
def test_a_failure_that_no_device_can_cause_counts_if_the_cpu_has_no_room(outcome: Outcome) -> None:
    processes = Processes("Net")
    processes.say(0, RetryOnCpu(failed("Net", 2)))
    processes.end(0)
    processes.say(1, Report(0, "Net", outcome))
    processes.end(1)
    told: Outcome = "unchecked" if outcome == "unchecked" else "failed"
    assert [outcome for _, outcome, _ in processes.told] == [told]


AT = Step("__init__", Span("model.py", 3, 0, 3, 9))
OLD_NAME = "AttributeError: module 'numpy' has no attribute 'float'."
OF_OWN_MODULE = "AttributeError: module 'config' has no attribute 'DEPTH'"
OF_OBJECT = "AttributeError: 'Net' object has no attribute 'size'"


@pytest.mark.parametrize(
    ("error", "reason", "invented", "told"),
    [
        ("TypeError: a size is a float", "", "TypeError: a size is a float", "not-built"),
        ("TypeError: a size is a float\nand so on", "", "TypeError: a size is a float", "not-built"),
        ("TypeError: a size is a float", "it needs a file", "TypeError: a size is a float", "unchecked"),
        ("TypeError: a size is a float", "", "TypeError: another", "unchecked"),
        ("TypeError: 'NoneType' object is no size", "", "TypeError: 'NoneType' object is no size", "unchecked"),
        ("TypeError: must be int, not NoneType", "", "TypeError: must be int, not NoneType", "unchecked"),
        ("KeyError: 'size'", "", "KeyError: 'size'", "unchecked"),
        (OLD_NAME, "", OLD_NAME, "not-built"),
        (OF_OBJECT, "", OF_OBJECT, "unchecked"),
        (OF_OWN_MODULE, "", OF_OWN_MODULE, "unchecked"),
    ],
)
def test_an_error_of_both_the_call_and_invented_arguments_is_the_class_s_own(
    error: str, reason: str, invented: str, told: Outcome
) -> None:
    processes = Processes("Net", made_up=True)
    processes.say(0, Report(0, "Net", "not-built", (Failure("build", error, (AT,)),), reason=reason))
    processes.end(0)
    processes.say(1, Report(0, "Net", "unchecked", reason=could_not_invent(Failure("build", invented, (AT,)))))
    processes.end(1)
    assert [outcome for _, outcome, _ in processes.told] == [told]


@pytest.mark.parametrize(("alone", "told"), [("unchecked", "traced"), ("failed", "failed")])
def test_a_class_without_a_verdict_is_traced_as_its_subclass(alone: Outcome, told: Outcome) -> None:
    processes = Processes("Base", "Net")
    failures = (Failure("control-flow", "", (AT,)),) if alone == "failed" else ()
    processes.say(0, Report(0, "Base", alone, failures))
    processes.say(1, HasParts((), ("Base",)))
    processes.say(1, Report(0, "Net", "traced"))
    processes.end(0)
    processes.end(1)
    if len(processes.started) > 2:
        assert [part.key for part in processes.started[2][0].parts] == ["Base"]
        assert processes.started[2][0].of_heirs
        processes.say(2, Report(0, "Base", "traced"))
        processes.end(2)
    assert processes.told == [("Net", "traced", 0), ("Base", told, len(failures))]


@pytest.mark.parametrize(
    ("invented", "told"),
    [
        ("traced", "traced"),
        ("failed", "failed"),
        ("unchecked", "limit"),
        ("timed-out", "limit"),
        ("not-built", "limit"),
    ],
)
@pytest.mark.parametrize("limit", ["timed-out", "out-of-memory"])
def test_what_takes_too_much_as_the_workspace_calls_it_is_tried_with_invented_arguments(
    limit: Outcome, invented: Outcome, told: str
) -> None:
    processes = Processes("Net", made_up=True)
    processes.say(0, Report(0, "Net", limit, (Failure("time-limit", "8 layers"),)))
    processes.end(0)
    processes.say(1, failed("Net") if invented == "failed" else Report(0, "Net", invented))
    assert not processes.end(1)
    assert [outcome for _, outcome, _ in processes.told] == [limit if told == "limit" else told]


def test_the_same_error_at_another_line_is_not_the_class_s_own() -> None:
    processes = Processes("Net", made_up=True)
    processes.say(0, Report(0, "Net", "not-built", (Failure("build", "TypeError: no", (AT,)),)))
    processes.end(0)
    elsewhere = Failure("build", "TypeError: no", (Step("__init__", Span("model.py", 4, 0, 4, 9)),))
    processes.say(1, Report(0, "Net", "unchecked", reason=could_not_invent(elsewhere)))
    processes.end(1)
    assert [outcome for _, outcome, _ in processes.told] == ["unchecked"]


def test_a_host_that_could_not_be_imported_is_not_reported_as_a_target() -> None:
    processes = with_a_part()
    processes.say(2, Report(0, "host:Other()", "not-imported"))
    processes.end(2)
    assert processes.told == [("Net", "traced", 0), ("Block", "failed", 1)]


@pytest.mark.parametrize("outcome", ["failed", "not-built"])
def test_a_call_with_arguments_may_show_more_than_a_class_built_without(outcome: Outcome) -> None:
    processes = Processes("Net")
    bare = target("Net")
    call, request = Recipe(Snippet("Net(shared=part)", 9), file="train.py"), Trace("model.py", ())
    request = dataclasses.replace(request, targets=(dataclasses.replace(bare, fallbacks=(call,)),))
    rounds = TargetRounds(request, ["Net"], (), lambda *attempt: processes.started.append(attempt), processes.tell)
    processes.started.clear()
    processes.steps = rounds.steps()
    processes.step()
    processes.say(0, Report(0, "Net", "unchecked", reason="it was built without `shared`, which it reads"))
    assert [attempt.target.recipe for attempt, _, _ in processes.started] == [bare.recipe, call]
    processes.say(1, Report(0, "Net", outcome, failed("Net").failures))
    assert processes.told == [("Net", "failed" if outcome == "failed" else "unchecked", int(outcome == "failed"))]


def test_no_more_attempts_run_at_once_than_allowed() -> None:
    processes = Processes("A", "B", "C", at_once=1)
    assert len(processes.started) == 1
    processes.say(0, failed("A"))
    assert len(processes.started) == 1
    processes.end(0)
    assert [attempt.target.key for attempt, _, _ in processes.started] == ["A", "B"]


def test_a_failure_on_meta_is_retried_on_the_cpu() -> None:
    processes = Processes("Net")
    processes.say(0, RetryOnCpu())
    processes.end(0)
    assert [attempt.on_meta for attempt, _, _ in processes.started] == [True, False]
    processes.say(1, Report(0, "Net", "traced"))
    assert processes.told == [("Net", "traced", 0)]


def test_a_process_that_dies_silently_is_reported_as_crashed() -> None:
    processes = Processes("Net")
    assert not processes.end(0, status=-9)
    assert processes.told == [("Net", "crashed", 1)]


def test_a_process_that_dies_after_its_first_report_keeps_it() -> None:
    processes = Processes("Net")
    processes.say(0, failed("Net"))
    assert not processes.end(0, status=-9)
    assert processes.told == [("Net", "failed", 1)]


def test_invented_arguments_are_the_last_resort() -> None:
    processes = Processes("Net", sure=False)
    (attempt, _, _) = processes.started[0]
    assert attempt.target.recipe.made_up
    processes.say(0, Report(0, "Net", "traced"))
    assert not processes.end(0)
