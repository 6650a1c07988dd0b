"""What is tried when, what is kept of it, and what a person is offered."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types

import fx_lsp.server.features.code_actions
from fx_lsp.agent.messages import Failure, Outcome, Proof, Report, Span, Step, Verdict
from fx_lsp.analysis.apply_fixes import _waits
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.directive_edits import INPUTS
from fx_lsp.fixes.editing.text_edits import applied, overlap
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.server.features.code_actions import FIX_ALL, Takes, code_actions
from tests.analysis.fake_agent import PATIENCE, Bench, failure_at, shown_of, span_of

MODEL = """\
import torch.fx


def f(x):
    y = x / len(x)
    return y + sum(x)


torch.fx.symbolic_trace(f)
"""

NET = """\
import torch.fx


class Net(torch.nn.Module):
    def forward(self, x):
        return x / len(x)
"""


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.scheduler.close()
    await bench.proofs.close()


def fixes_of(failure: Failure, read: ReadText, calls: Sequence[Span] = ()) -> tuple[Fix, ...]:
    """One fix for each failure of the model: the expression gives way to a number, and a line goes in front."""
    span = failure.chain[-1].span
    front = Span(span.file, 2, 0, 2, 0)
    changes = (TextChange(front, f"# {span.line}\n"), TextChange(span, "2"))
    return (Fix(f"Take 2 in line {span.line}", changes[1:] if span.line == 6 else changes),)


class Opened:
    """The model, traced with two failures."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.places = ClientPlaces(bench.documents)
        self.path = ""

    async def trace(self) -> Opened:
        self.path = self.bench.open("model.py", MODEL)
        await self.bench.traced(self.path, self.failure("len(x)"), self.failure("sum(x)"))
        return self

    def failure(self, part: str) -> Failure:
        return failure_at(span_of(self.path, MODEL, part))

    def fixes(self, part: str) -> tuple[Fix, ...]:
        return fixes_of(self.failure(part), self.bench.documents.text)

    async def actions(self, *only: str) -> list[types.CodeAction]:
        """What is offered at ``len(x)``."""
        finding = next(iter(self.bench.scheduler.results.findings()))
        shown = shown_of(finding, self.places)
        context = types.CodeActionContext([shown], list(only) or None)
        identifier = types.TextDocumentIdentifier(Path(self.path).as_uri())
        params = types.CodeActionParams(identifier, shown.range, context)
        bench = self.bench
        return await code_actions(
            bench.scheduler, bench.proofs, self.places, params, Takes(versions=True, disabled=True)
        )


async def until(happened: Callable[[], bool]) -> None:
    async def poll() -> None:
        while not happened():
            await asyncio.sleep(0)

    await asyncio.wait_for(poll(), PATIENCE)


async def proven(opened: Opened, part: str, *, verdict: str = "proven") -> None:
    """Wait until what came of the first fix is known."""
    (fix, *_) = opened.fixes(part)

    def known() -> bool:
        proof = opened.bench.proofs.trials.known(opened.failure(part), fix)
        return proof is not None and proof.verdict == verdict

    await until(known)


@pytest_asyncio.fixture
async def opened(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Opened:
    bench.proofs.trials.find_fixes = fixes_of
    monkeypatch.setattr(fx_lsp.server.features.code_actions, "fixes_for", fixes_of)
    return await Opened(bench).trace()


async def test_an_offered_fix_is_tried_at_once_and_a_proven_one_is_preferred(opened: Opened) -> None:
    (before, *_) = await opened.actions()
    assert before.is_preferred is None
    assert before.title == f"{opened.fixes('len(x)')[0].title} (being tried)"
    attempt = await opened.bench.agent.tried()
    assert attempt.message.file == opened.path
    assert attempt.message.failures == (opened.failure("len(x)"),)
    assert attempt.message.edited == {opened.path: MODEL.replace("fx\n", "fx\n# 5\n", 1).replace("len(x)", "2")}
    assert attempt.message.limits == opened.bench.settings.limits
    attempt.settle("proven", "it behaves the same on 5 inputs")
    await proven(opened, "len(x)")
    (after, *_) = await opened.actions()
    told = f"{opened.fixes('len(x)')[0].title} (proven: it behaves the same on 5 inputs)"
    assert (after.title, after.is_preferred) == (told, True)


async def test_a_fix_is_tried_on_the_target_of_the_edited_text(opened: Opened) -> None:
    await opened.actions()
    attempt = await opened.bench.agent.tried()
    text = attempt.message.edited[opened.path]
    line = text.splitlines().index("torch.fx.symbolic_trace(f)") + 1
    assert attempt.message.edited_target.recipe.root.line == line
    assert attempt.message.edited_target.key == attempt.message.target.key


async def test_a_refuted_fix_is_not_offered(opened: Opened) -> None:
    (first, *_) = await opened.actions()
    (await opened.bench.agent.tried()).settle("refuted")
    await proven(opened, "len(x)", verdict="refuted")
    title = first.title.removesuffix(" (being tried)")
    assert not any(action.title.startswith(title) for action in await opened.actions())


async def test_a_fix_that_cannot_be_tried_says_why(opened: Opened) -> None:
    (first, *_) = await opened.actions()
    (await opened.bench.agent.tried()).settle("untried", "no inputs")
    await proven(opened, "len(x)", verdict="untried")
    titles = {action.title: action.is_preferred for action in await opened.actions()}
    title = first.title.removesuffix(" (being tried)")
    assert titles[f"{title} (not proven: no inputs)"] is None


@pytest.mark.parametrize("lacks_inputs", [False, True])
async def test_where_no_inputs_were_found_a_comment_with_inputs_is_offered(
    opened: Opened, *, lacks_inputs: bool
) -> None:
    bench = opened.bench
    bench.documents.close(opened.path)
    bench.scheduler.forget(opened.path)
    opened.path = bench.open("net.py", NET)
    await bench.traced(opened.path, failure_at(span_of(opened.path, NET, "len(x)")))
    await opened.actions()
    attempt = await bench.agent.tried()
    attempt.answer.set_result(Proof(1, "untried", "because", lacks_inputs))
    if lacks_inputs:  # the only function that the edit changes is tried alone
        alone = await bench.agent.tried()
        assert alone.message.function_only
        alone.settle("untried", "because")
    await until(lambda: not bench.proofs.busy)
    titles = [action.title for action in await opened.actions()]
    assert (INPUTS in titles) is lacks_inputs


async def failing_part(bench: Bench, outcome: Outcome) -> Failure:
    """The failure of a class, in a file with a model around it whose own trace ends with ``outcome``."""
    text = f"{NET}\n\nclass Model(torch.nn.Module):\n    def __init__(self):\n        self.net = Net()\n"
    path = bench.open("model.py", f"{text}\n    def forward(self, x):\n        return self.net(x)\n")
    failure = failure_at(span_of(path, text, "len(x)"))
    request = await bench.agent.asked()
    part, model = sorted(request.targets, key=lambda target: target.symbol or "", reverse=True)
    request.report(part.key, failure)
    request.end(model.key, outcome)
    request.done()
    await bench.complete(path)
    return failure


@pytest.mark.parametrize("outcome", ["traced", "not-built"])
async def test_a_fix_of_a_part_is_tried_in_a_model_that_can_be_built(bench: Bench, outcome: Outcome) -> None:
    failure = await failing_part(bench, outcome)
    bench.proofs.trials.find_fixes = fixes_of
    proving = asyncio.create_task(bench.proofs.trials.prove(failure, fixes_of(failure, bench.documents.text)[0]))
    (await bench.agent.tried()).answer.set_result(Proof(1, "untried", "because", lacks_inputs=True))
    second = await bench.agent.tried()
    assert second.message.target.recipe.is_host is (outcome == "traced")
    second.settle("proven")
    assert (await proving).verdict == "proven"


@pytest.mark.parametrize("lacks_inputs", [False, True])
async def test_no_other_fix_is_tried_in_a_model_that_could_not_be_built(bench: Bench, *, lacks_inputs: bool) -> None:
    failure = await failing_part(bench, "traced")
    fixes = [Fix(f"Take {number}", (TextChange(failure.chain[-1].span, f"{number}"),)) for number in (2, 3)]
    bench.proofs.trials.find_fixes = lambda failure, read, calls: tuple(fixes)
    tried_in = []
    for fix in fixes:
        proving = asyncio.create_task(bench.proofs.trials.prove(failure, fix))
        while not proving.done():
            attempt = await bench.agent.tried()
            is_host = attempt.message.target.recipe.is_host
            tried_in.append("model" if is_host else "function" if attempt.message.function_only else "part")
            has_no_program = is_host and not lacks_inputs
            proof = Proof(1, "untried", "", lacks_inputs=not has_no_program, has_no_program=has_no_program)
            attempt.answer.set_result(proof)
            await until(lambda proving=proving: proving.done() or not bench.agent.attempts.empty())  # type: ignore[misc]
    first, second = ["part", "model", "function"], ["part", *(["model"] if lacks_inputs else []), "function"]
    assert tried_in == first + second


async def test_after_a_new_report_fixes_are_tried_again(opened: Opened) -> None:
    await opened.actions()
    (await opened.bench.agent.tried()).settle("proven")
    await proven(opened, "len(x)")
    bench = opened.bench
    bench.scheduler.trace_all()
    await bench.traced(opened.path, opened.failure("len(x)"))
    (fix, *_) = opened.fixes("len(x)")
    assert bench.proofs.trials.known(opened.failure("len(x)"), fix) is None


@pytest.mark.parametrize("verdict", ["untried", "refuted"])
async def test_a_fix_that_cannot_be_tried_is_tried_for_another_target(bench: Bench, verdict: Verdict) -> None:
    bench.proofs.trials.find_fixes = fixes_of
    path = bench.open("model.py", f"{MODEL}torch.fx.symbolic_trace(lambda x: f(2 * x))\n")
    near = failure_at(span_of(path, MODEL, "len(x)"))
    far = dataclasses.replace(near, chain=(Step("<lambda>", span_of(path, MODEL, "sum(x)")), *near.chain))
    request = await bench.agent.asked()
    for target, failure in zip(request.targets, (far, near), strict=True):
        request.report(target.key, failure)
    request.done()
    await bench.complete(path)
    proving = asyncio.create_task(bench.proofs.trials.prove(far, fixes_of(far, bench.documents.text)[0]))
    attempt = await bench.agent.tried()
    attempt.settle(verdict)
    if verdict == "untried":
        second = await bench.agent.tried()
        assert second.message.target.key != attempt.message.target.key
        second.settle("proven")
    assert (await proving).verdict == ("proven" if verdict == "untried" else "refuted")


async def test_a_refuted_trial_of_all_failures_is_enough_for_those_that_still_occur(opened: Opened) -> None:
    bench, failures = opened.bench, [opened.failure(text) for text in ("len(x)", "sum(x)")]
    fix = Fix("Skip", (TextChange(failures[0].chain[-1].span, "2"),))
    bench.proofs.trials.find_fixes = lambda failure, read, calls: (fix,)
    proving = asyncio.create_task(bench.proofs.trials.prove(failures[1], fix))
    attempt = await bench.agent.tried()
    assert attempt.message.failures == (failures[1], failures[0])
    attempt.answer.set_result(Proof(1, "refuted", "it still fails", unmended=(0, 1)))
    assert (await proving).verdict == "refuted"
    assert (await bench.proofs.trials.prove(failures[0], fix)).reason == "it still fails"


async def test_a_fix_that_also_mends_another_capture_comes_first(opened: Opened) -> None:
    bench, failure = opened.bench, opened.failure("len(x)")
    own, both = (Fix(title, (TextChange(failure.chain[-1].span, title),)) for title in ("own", "both"))
    bench.proofs.trials.find_fixes = lambda one, read, calls: (own, both) if one == failure else (both,)
    exported = dataclasses.replace(failure, kind="data-dependent-guard")
    (target,) = bench.scheduler.results[opened.path].traced
    report = Report(1, target, "failed", (exported,))
    bench.scheduler.results.keep_capture(opened.path, "export", report, bench.documents.snapshot())
    assert bench.proofs.trials.fixes(failure) == (own, both)
    bench.settings = dataclasses.replace(bench.settings, captures=("fx", "export"))
    assert bench.proofs.trials.fixes(failure) == (both, own)


async def test_the_standard_library_is_not_edited(opened: Opened) -> None:
    bench, failure = opened.bench, opened.failure("len(x)")
    read = [bench.documents.text(file) for file in (opened.path, logging.__file__)]
    assert None not in read
    given: list[str | None] = []

    def fixes_of_library(failure: Failure, read: ReadText, calls: Sequence[Span] = ()) -> tuple[Fix, ...]:
        given.extend(read(file) for file in (opened.path, logging.__file__))
        return ()

    bench.proofs.trials.find_fixes = fixes_of_library
    assert bench.proofs.trials.fixes(failure) == ()
    assert given == [read[0], None]


async def test_an_edit_stops_the_trial_of_a_fix(opened: Opened) -> None:
    await opened.actions()
    attempt = await opened.bench.agent.tried()
    opened.bench.proofs.pause()
    await opened.bench.proofs.close()
    assert attempt.answer.cancelled()


async def test_the_fixes_of_an_idle_file_are_tried_and_the_proven_ones_are_one_action(opened: Opened) -> None:
    bench = opened.bench
    bench.proofs.on_result(opened.path, True)
    for failure in ("len(x)", "sum(x)"):
        attempt = await bench.agent.tried()
        assert attempt.message.failures == (opened.failure(failure),)
        attempt.settle("proven")
    both = await bench.agent.tried()
    assert both.message.failures == (opened.failure("len(x)"), opened.failure("sum(x)"))
    both.settle("proven")
    await until(lambda: bench.proofs.together(opened.path) is not None)
    (action,) = await opened.actions("source.fixAll")
    assert action.kind == FIX_ALL
    assert await opened.actions("source.organizeImports") == []
    bench.edit(opened.path, "return y", "return  y")
    assert bench.proofs.together(opened.path) is None


async def test_nothing_unproven_is_applied_to_a_whole_file(opened: Opened) -> None:
    bench = opened.bench
    bench.proofs.on_result(opened.path, True)
    for verdict in ("untried", "refuted"):
        (await bench.agent.tried()).settle(verdict)
    await until(lambda: not bench.proofs.busy)
    assert bench.proofs.together(opened.path) is None


async def test_fixes_that_do_not_go_together_are_applied_one_by_one(opened: Opened) -> None:
    bench = opened.bench
    bench.proofs.on_result(opened.path, True)
    for verdict in ("proven", "proven", "refuted"):
        (await bench.agent.tried()).settle(verdict)
    await until(lambda: bench.proofs.together(opened.path) is not None)
    assert bench.proofs.together(opened.path) == opened.fixes("len(x)")[0]


async def test_an_edit_that_breaks_another_target_is_not_applied(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.proofs.trials.find_fixes = fixes_of
    path = bench.open("model.py", f"{MODEL}torch.fx.symbolic_trace(lambda x: 2 * x)\n")
    failure = failure_at(span_of(path, MODEL, "len(x)"))
    request = await bench.agent.asked()
    for target, failures in zip(request.targets, ((failure,), ()), strict=True):
        request.report(target.key, *failures)
    request.done()
    await bench.complete(path)
    for outcome in ((failure,), ()):
        proving = asyncio.create_task(bench.proofs.combinations.prove_together(path))
        if outcome:
            (await bench.agent.tried()).settle("proven")
        again = await bench.agent.asked()
        (other,) = again.targets
        assert "len(x)" not in again.message.overlays[path]
        again.report(other.key, *outcome)
        again.done()
        assert (await proving is None) is bool(outcome)


async def test_an_edit_is_tried_for_another_target_if_its_graph_changes(bench: Bench) -> None:
    bench.proofs.trials.find_fixes = fixes_of
    path = bench.open("model.py", f"{MODEL}torch.fx.symbolic_trace(lambda x: 2 * x)\n")
    failure = failure_at(span_of(path, MODEL, "len(x)"))
    request = await bench.agent.asked()
    first, other = request.targets
    request.report(first.key, failure)
    request.report(other.key, code="before")
    request.done()
    await bench.complete(path)
    for verdict in ("proven", "untried", "refuted"):
        proving = asyncio.create_task(bench.proofs.combinations.prove_together(path))
        if verdict == "proven":
            (await bench.agent.tried()).settle("proven")
        again = await bench.agent.asked()
        again.report(again.targets[0].key, code="after")
        again.done()
        attempt = await bench.agent.tried()
        assert (attempt.message.target.key, attempt.message.failures) == (other.key, ())
        attempt.settle(verdict)
        assert (await proving is None) is (verdict == "refuted")


def one_change(failure: Failure, read: ReadText, calls: Sequence[Span] = ()) -> tuple[Fix, ...]:
    """One fix for each failure: the expression gives way to a number."""
    (fix,) = fixes_of(failure, read, calls)
    return (Fix(fix.title, fix.changes[-1:]),)


async def two_targets(bench: Bench, *more: str, last_fails_everywhere: bool = False) -> tuple[str, str]:
    """The path and the text of a file with two targets, one of which fails at ``len(x)``, the other at ``sum(z)``.

    ``more``: what further targets compute of ``z``, and fail at. ``last_fails_everywhere``: the last target fails where
    the others fail, too.
    """
    parts = ("sum(z)", *more)
    text = MODEL + "".join(f"torch.fx.symbolic_trace(lambda z: {part})\n" for part in parts)
    path = bench.open("model.py", text)
    request = await bench.agent.asked()
    failures = [failure_at(span_of(path, text, part)) for part in ("len(x)", *parts)]
    for target, failure in zip(request.targets, failures, strict=True):
        is_last = last_fails_everywhere and failure is failures[-1]
        request.report(target.key, *(reversed(failures) if is_last else [failure]))
    request.done()
    await bench.complete(path)
    return path, text


async def test_each_target_need_only_reach_the_changes_of_its_own_failures(bench: Bench) -> None:
    bench.proofs.trials.find_fixes = one_change
    path, text = await two_targets(bench)
    parts = ("len(x)", "sum(z)")
    proving = asyncio.create_task(bench.proofs.combinations.prove_together(path))
    for _ in parts:
        alone = await bench.agent.tried()
        assert alone.message.own_part == {}
        alone.settle("proven")
    for part in parts:
        both = await bench.agent.tried()
        assert both.message.edited == {path: text.replace("len(x)", "2").replace("sum(z)", "2")}
        assert both.message.own_part == {path: text.replace(part, "2")}
        both.settle("proven")
    assert await proving is not None


async def test_an_edit_is_not_proven_if_one_of_its_fixes_is_not(bench: Bench) -> None:
    bench.proofs.trials.find_fixes = one_change
    path, _ = await two_targets(bench)
    proving = asyncio.create_task(bench.proofs.combinations.prove_at_once(path))
    for verdict in ("proven", "untried"):
        (await bench.agent.tried()).settle(verdict)
    assert await proving is None


async def test_what_is_not_proven_at_once_is_left_out(bench: Bench) -> None:
    bench.proofs.trials.find_fixes = one_change
    path, text = await two_targets(bench, "max(z)")
    proving = asyncio.create_task(bench.proofs.combinations.prove_at_once(path))
    for verdict in ("proven", "untried", "proven"):
        (await bench.agent.tried()).settle(verdict)
    for _ in ("len(x)", "max(z)"):
        left = await bench.agent.tried()
        assert left.message.edited == {path: text.replace("len(x)", "2").replace("max(z)", "2")}
        left.settle("proven")
    other = await bench.agent.asked()  # the target that is left out is traced in the edited text
    other.report(other.targets[0].key, failure_at(span_of(path, text, "sum(z)")))
    other.done()
    fix = await proving
    assert fix is not None
    assert len(fix.changes) == 2


async def test_a_fix_that_is_proven_elsewhere_is_not_blamed_for_another(bench: Bench) -> None:
    bench.proofs.trials.find_fixes = one_change
    path, text = await two_targets(bench, "max(z)", last_fails_everywhere=True)
    proving = asyncio.create_task(bench.proofs.combinations.prove_at_once(path))
    for verdict in ("proven", "proven", "refuted"):
        (await bench.agent.tried()).settle(verdict)
    again = await bench.agent.tried()
    assert again.message.edited == {path: text.replace("len(x)", "2").replace("sum(z)", "2")}
    proving.cancel()


async def test_a_comment_that_is_left_out_concerns_no_other_target(bench: Bench) -> None:
    def fixes(failure: Failure, read: ReadText, calls: Sequence[Span] = ()) -> tuple[Fix, ...]:
        (fix,) = one_change(failure, read, calls)
        (change,) = fix.changes
        start = dataclasses.replace(change.span, col=0, end_line=change.span.line, end_col=0)
        is_last = span_of(path, text, "max(z)") == change.span
        return (Fix("Skip", (TextChange(start, "# fx: skip\n"),)),) if is_last else (fix,)

    path, text = await two_targets(bench, "min(z)", "max(z)")
    bench.proofs.trials.find_fixes = fixes
    proving = asyncio.create_task(bench.proofs.combinations.prove_at_once(path))
    for verdict in ("proven", "proven", "proven", "untried"):
        (await bench.agent.tried()).settle(verdict)
    other = await bench.agent.asked()  # nothing is tried again
    other.report(other.targets[0].key, failure_at(span_of(path, text, "max(z)")))
    other.done()
    fix = await proving
    assert fix is not None
    assert len(fix.changes) == 3


async def test_what_is_refuted_for_a_target_of_its_own_is_given_up(bench: Bench) -> None:
    bench.proofs.trials.find_fixes = one_change
    path, _ = await two_targets(bench, "max(z)")
    given_up: set[tuple[str, ...]] = set()
    proving = asyncio.create_task(bench.proofs.combinations.prove_at_once(path, given_up))
    for verdict in ("refuted", "untried", "proven"):
        (await bench.agent.tried()).settle(verdict)
    assert await proving is None
    assert ["Take 2 in line 5" in identity for identity in given_up] == [True]


async def test_a_file_waits_for_the_fixes_of_the_files_that_hold_the_failing_code(bench: Bench) -> None:
    layers = bench.open("layers.py", NET)
    failure = failure_at(span_of(layers, NET, "len(x)"))
    await bench.traced(layers, failure)
    user = bench.open("user.py", MODEL)
    await bench.traced(user, failure)
    assert _waits(bench.scheduler, user, {layers, user})
    assert not _waits(bench.scheduler, user, {user})
    assert not _waits(bench.scheduler, layers, {layers, user})
    both = bench.open("both.py", MODEL)
    await bench.traced(both, failure, failure_at(span_of(both, MODEL, "sum(x)")))
    assert not _waits(bench.scheduler, both, {layers, both})


async def test_a_fix_that_was_given_up_is_not_tried_again(opened: Opened) -> None:
    given_up: set[tuple[str, ...]] = set()
    proving = asyncio.create_task(opened.bench.proofs.combinations.prove_together(opened.path, given_up=given_up))
    for verdict in ("refuted", "untried"):
        (await opened.bench.agent.tried()).settle(verdict)
    assert await proving is None
    assert len(given_up) == 2
    assert await opened.bench.proofs.combinations.prove_at_once(opened.path, given_up) is None
    assert await opened.bench.proofs.combinations.prove_together(opened.path, given_up=given_up) is None
    assert opened.bench.agent.attempts.empty()


async def test_an_edit_has_no_part_that_was_given_up_before(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    failure = failure_at(span_of(path, MODEL, "len(x)"))
    fixes = [Fix(f"Take {number}", (TextChange(failure.chain[-1].span, number),)) for number in ("2", "3")]
    bench.proofs.trials.find_fixes = lambda *_: tuple(fixes)
    await bench.traced(path, failure)
    combinations = bench.proofs.combinations
    first, other = (combinations.identity(failure, fix) for fix in fixes)
    assert combinations.part_of(path, fixes[0]) == first
    assert combinations.part_of(path, fixes[1], {first}) == other


@pytest.mark.parametrize("verdict", ["proven", "refuted", "untried"])
async def test_proving_all_fixes_at_once_takes_one_trial(opened: Opened, verdict: Verdict) -> None:
    bench = opened.bench
    proving = asyncio.create_task(bench.proofs.combinations.prove_at_once(opened.path))
    attempt = await bench.agent.tried()
    assert attempt.message.failures == (opened.failure("len(x)"), opened.failure("sum(x)"))
    attempt.settle(verdict)
    fix = await proving
    assert (fix is not None) is (verdict == "proven")
    if fix is not None:
        changes = [change for part in ("len(x)", "sum(x)") for change in opened.fixes(part)[0].changes]
        assert set(fix.changes) == set(changes)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((1, 0, 1, 5), (1, 4, 1, 6), True),
        ((1, 0, 1, 5), (1, 5, 1, 6), False),
        ((1, 0, 1, 0), (1, 0, 1, 0), True),
        ((1, 0, 2, 0), (1, 3, 1, 3), True),
        ((1, 0, 2, 0), (2, 0, 3, 0), False),
    ],
)
def test_changes_of_the_same_place_overlap(
    one: tuple[int, int, int, int], other: tuple[int, int, int, int], expected: bool
) -> None:
    def change(ends: tuple[int, int, int, int], text: str) -> TextChange:
        line, col, end_line, end_col = ends
        return TextChange(Span("a.py", line, col, end_line, end_col), text)

    assert overlap(change(one, "1"), change(other, "2")) is expected
    assert overlap(change(other, "2"), change(one, "1")) is expected
    assert not overlap(change(one, "1"), change(one, "1"))


def test_changes_refer_to_the_text_before_any_of_them() -> None:
    text = "é = 1\nb = 2\n"
    changes = [TextChange(Span("a.py", 1, 0, 1, 2), "x\ny"), TextChange(Span("a.py", 2, 4, 2, 5), "3")]
    assert applied(changes, lambda path: LineIndex(text)) == {"a.py": "x\ny = 1\nb = 3\n"}
