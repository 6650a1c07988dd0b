import asyncio
import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.messages import Done, Report
from fx_lsp.analysis import machine_load
from fx_lsp.documents import half_typed
from fx_lsp.settings.settings import Settings
from tests.analysis.fake_agent import PATIENCE, Bench, Request, failure_at, span_of

MODEL = """\
import torch.fx
from helper import scale

def f(x):
    y = "é😋"; return x / len(x)

torch.fx.symbolic_trace(f)
"""
HELPER = "def scale(x):\n    return x * len(x)\n"


@pytest_asyncio.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    monkeypatch.setattr(machine_load, "is_loaded", lambda: False)  # whatever else this machine is doing
    folder = tmp_path / "work é"
    folder.mkdir()
    bench = Bench(folder)
    yield bench
    await bench.scheduler.close()


async def test_reports_on_an_open_file_are_kept_at_their_places(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    request = await bench.agent.asked()
    assert (request.message.file, list(request.message.overlays), request.message.roots) == (
        path,
        [],
        (str(bench.folder),),
    )
    (target,) = request.targets
    request.report(target.key, failure_at(span_of(path, MODEL, "len(x)")))
    assert await asyncio.wait_for(bench.results.get(), PATIENCE) == (path, False)
    assert bench.found() == [("model.py", "len(x)")]
    assert bench.scheduler.is_tracing(path)
    request.done()
    await bench.complete(path)
    await asyncio.wait_for(request.ended.wait(), PATIENCE)


async def test_the_next_report_replaces_the_last(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)")))
    bench.edit(path, "len(x)", "x.size(0)")
    request = await bench.traced(path)
    assert request.message.overlays == {path: MODEL.replace("len(x)", "x.size(0)")}
    assert bench.found() == []


TWO_FAILURES = MODEL.replace("return x / len(x)", "return scale(x) / len(x) + x * int(x)")


async def partly_traced(bench: Bench, path: str, part: str) -> Request:
    """Answer the next request with the failure at ``part``, as the first of several; return when that is kept."""
    request = await bench.agent.asked()
    failure = failure_at(span_of(path, bench.documents.text(path) or "", part))
    request.report(request.targets[0].key, failure, partial=True)
    while await asyncio.wait_for(bench.results.get(), PATIENCE) != (path, False):
        pass
    return request


@pytest_asyncio.fixture
async def failing_twice(bench: Bench) -> str:
    """A file with two known failures."""
    path = bench.open("model.py", TWO_FAILURES)
    await bench.traced(path, *(failure_at(span_of(path, TWO_FAILURES, part)) for part in ("len(x)", "int(x)")))
    return path


async def test_findings_behind_the_first_failure_stay_until_the_full_report(bench: Bench, failing_twice: str) -> None:
    bench.edit(failing_twice, "len(x) + x", "len(x) - x")
    request = await partly_traced(bench, failing_twice, "len(x)")
    assert bench.found() == [("model.py", "len(x)"), ("model.py", "int(x)")]
    request.report(request.targets[0].key, failure_at(span_of(failing_twice, TWO_FAILURES, "len(x)")))
    request.done()
    await bench.complete(failing_twice)
    assert bench.found() == [("model.py", "len(x)")]


async def test_findings_behind_the_first_failure_stay_during_fast_edits(bench: Bench, failing_twice: str) -> None:
    for number in "123":
        bench.edit(failing_twice, " * int(x)", f" * {number} * int(x)")
        await partly_traced(bench, failing_twice, "len(x)")
    assert bench.found() == [("model.py", "len(x)"), ("model.py", "int(x)")]


async def test_findings_behind_the_first_failure_go_if_no_full_report_comes(bench: Bench, failing_twice: str) -> None:
    bench.edit(failing_twice, "len(x) + x", "len(x) - x")
    (await partly_traced(bench, failing_twice, "len(x)")).done()
    await bench.complete(failing_twice)
    assert bench.found() == [("model.py", "len(x)")]


async def test_findings_behind_the_first_failure_go_when_tracing_is_cancelled(bench: Bench, failing_twice: str) -> None:
    bench.edit(failing_twice, "len(x) + x", "len(x) - x")
    await partly_traced(bench, failing_twice, "len(x)")
    bench.scheduler.cancel()
    assert bench.found() == [("model.py", "len(x)")]


async def test_a_failure_whose_place_has_grown_is_one_finding(bench: Bench, failing_twice: str) -> None:
    bench.edit(failing_twice, "len(x)", "len(x).real")
    await partly_traced(bench, failing_twice, "len(x).real")
    assert bench.found() == [("model.py", "len(x).real"), ("model.py", "int(x)")]


async def test_findings_that_the_trace_has_passed_go(bench: Bench, failing_twice: str) -> None:
    bench.edit(failing_twice, "import torch.fx", "import torch.fx as fx, torch")
    await partly_traced(bench, failing_twice, "int(x)")
    assert bench.found() == [("model.py", "int(x)")]


async def test_findings_that_are_now_ignored_are_not_kept(bench: Bench, failing_twice: str) -> None:
    bench.edit(failing_twice, "* int(x)\n", "* int(x)  # fx: ignore\n")
    await partly_traced(bench, failing_twice, "len(x)")
    assert bench.found() == []


async def test_findings_of_a_failed_import_are_not_kept(bench: Bench) -> None:
    path = bench.open("model.py", TWO_FAILURES)
    request = await bench.agent.asked()
    request.answers.put_nowait(
        Report(1, request.targets[0].key, "not-imported", (failure_at(span_of(path, TWO_FAILURES, "import torch.fx")),))
    )
    request.done()
    await bench.complete(path)
    bench.edit(path, "len(x) + x", "len(x) - x")
    await partly_traced(bench, path, "len(x)")
    assert bench.found() == [("model.py", "len(x)")]


async def test_an_edit_cancels_what_is_under_way_and_nothing_stale_is_kept(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    first = await bench.agent.asked()
    bench.edit(path, "x / len(x)", "x / 2")
    first.report(first.targets[0].key, failure_at(span_of(path, MODEL, "len(x)")))
    first.done()
    await bench.traced(path)
    assert first.ended.is_set()
    assert bench.found() == []


async def test_edits_that_follow_each_other_are_traced_once(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path)
    for digit in "123":
        bench.edit(path, "len(x)", f"{digit} + len(x)")
    request = await bench.traced(path)
    assert "x / 1 + 2 + 3 + len(x)" in request.message.overlays[path]
    assert bench.agent.requests.empty()


async def test_an_edit_is_traced_at_once_and_those_that_come_fast_wait(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path)
    bench.settings = Settings(trace_delay=3_600_000)
    bench.edit(path, "len(x)", "1 + len(x)")
    first = await bench.agent.asked()
    assert "x / 1 + len(x)" in first.message.overlays[path]
    bench.edit(path, "len(x)", "2 + len(x)")
    await asyncio.wait_for(first.ended.wait(), PATIENCE)
    assert bench.scheduler.is_tracing(path)
    assert bench.agent.requests.empty()
    bench.settings = Settings(trace_delay=0)
    bench.edit(path, "len(x)", "3 + len(x)")
    request = await bench.traced(path)
    assert "x / 1 + 2 + 3 + len(x)" in request.message.overlays[path]
    assert bench.agent.requests.empty()


async def test_a_word_that_is_being_typed_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)")))
    monkeypatch.setattr(half_typed, "SECONDS", 3_600)
    bench.settings = Settings(trace_delay=1)
    for typed in ("h", "ho", "hop"):
        bench.edit(path, typed[:-1] + "len(x)", typed + "len(x)")
    assert bench.scheduler.is_tracing(path)
    assert bench.found() == [("model.py", "len(x)")]
    assert bench.agent.requests.empty()
    bench.edit(path, "hoplen(x)", "hop + len(x)")
    request = await bench.traced(path)
    assert "x / hop + len(x)" in request.message.overlays[path]
    monkeypatch.setattr(half_typed, "SECONDS", 0.01)
    bench.edit(path, "hop", "ho")
    request = await bench.traced(path)
    assert "x / ho + len(x)" in request.message.overlays[path]


async def test_on_a_loaded_machine_one_model_is_traced_at_a_time_after_a_longer_pause(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path)
    monkeypatch.setattr(machine_load, "is_loaded", lambda: True)
    monkeypatch.setattr(machine_load, "QUIET_SECONDS", 3_600)
    bench.settings = Settings(trace_delay=1)
    bench.edit(path, "len(x)", "1 + len(x)")
    assert bench.scheduler.is_tracing(path)
    assert bench.agent.requests.empty()
    monkeypatch.setattr(machine_load, "QUIET_SECONDS", 0.01)
    bench.edit(path, "1 +", "2 +")
    request = await bench.traced(path)
    assert request.message.limits.at_once == 1
    assert "x / 2 + len(x)" in request.message.overlays[path]


async def test_a_saved_file_is_traced_with_those_that_import_it(bench: Bench) -> None:
    bench.settings = Settings(trace="onSave", trace_delay=0)
    helper, model = bench.open("helper.py", HELPER), bench.open("model.py", MODEL)
    assert bench.agent.requests.empty()
    bench.scheduler.saved(model)
    await bench.traced(model, dependencies=[helper])
    bench.edit(helper, "len(x)", "2")
    assert not bench.scheduler.is_tracing(helper)
    bench.scheduler.saved(helper)
    request = await bench.traced(model, dependencies=[helper])
    assert (request.message.file, list(request.message.overlays)) == (model, [helper])


async def test_a_file_that_waits_to_be_traced_is_traced_when_it_is_saved(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path)
    bench.settings = Settings(trace_delay=3_600_000)
    for digit in "12":
        bench.edit(path, "len(x)", f"{digit} + len(x)")
    bench.scheduler.saved(path)
    request = await bench.traced(path)
    assert "x / 1 + 2 + len(x)" in request.message.overlays[path]


async def test_manually_neither_saved_files_nor_those_that_import_them_are_traced(bench: Bench) -> None:
    helper, model = bench.open("helper.py", HELPER), bench.open("model.py", MODEL)
    await bench.traced(model, dependencies=[helper])
    bench.settings = Settings(trace="manual", trace_delay=0)
    bench.edit(helper, "len(x)", "2")
    bench.scheduler.saved(helper)
    bench.scheduler.trace_dependants(helper)
    bench.scheduler.trace_all()
    assert not any(map(bench.scheduler.is_tracing, (helper, model)))
    bench.scheduler.trace_anew(model)
    await bench.traced(model, dependencies=[helper])


async def test_a_pause_ends_what_is_under_way_and_afterward_only_what_changed_is_traced(bench: Bench) -> None:
    other, model = bench.open("other.py", MODEL), bench.open("model.py", MODEL)
    await bench.traced(other)
    request = await bench.agent.asked()
    bench.scheduler.pause()
    await asyncio.wait_for(request.ended.wait(), PATIENCE)
    bench.edit(model, "len(x)", "2")
    assert not bench.scheduler.is_tracing(model)
    bench.scheduler.resume()
    assert not bench.scheduler.is_tracing(other)
    await bench.traced(model)


async def test_after_a_pause_what_changed_on_disk_is_traced_and_until_then_counts_as_outdated(bench: Bench) -> None:
    helper, model = bench.file("helper.py", HELPER), bench.open("model.py", MODEL)
    await bench.traced(model, dependencies=[helper])
    assert bench.scheduler.results.is_current(model)
    bench.scheduler.pause()
    bench.scheduler.trace_dependants(helper)
    assert not bench.scheduler.results.is_current(model)
    assert not bench.scheduler.is_tracing(model)
    bench.scheduler.resume()
    await bench.traced(model, dependencies=[helper])


async def test_a_file_that_was_saved_during_a_pause_is_traced_afterward(bench: Bench) -> None:
    bench.settings = Settings(trace="onSave", trace_delay=0)
    path = bench.open("model.py", MODEL)
    bench.scheduler.pause()
    bench.scheduler.saved(path)
    assert not bench.scheduler.is_tracing(path)
    bench.scheduler.resume()
    await bench.traced(path)


async def test_a_pause_keeps_what_the_trace_had_not_reached(bench: Bench, failing_twice: str) -> None:
    bench.scheduler.trace_anew(failing_twice)
    await partly_traced(bench, failing_twice, "len(x)")
    bench.scheduler.pause()
    assert bench.found() == [("model.py", "len(x)"), ("model.py", "int(x)")]


async def test_a_trace_that_waits_is_stopped_if_files_are_no_longer_traced_while_they_are_edited(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path)
    bench.settings = Settings(trace_delay=3_600_000)
    for digit in "12":
        bench.edit(path, "len(x)", f"{digit} + len(x)")
    assert bench.scheduler.is_tracing(path)
    bench.settings = Settings(trace="manual")
    bench.scheduler.opened(path)
    assert not bench.scheduler.is_tracing(path)


async def test_a_request_that_the_agent_has_dropped_changes_nothing(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)")))
    bench.scheduler.trace_anew(path)
    request = await bench.agent.asked()
    request.answers.put_nowait(Done(request.message.id, (), cancelled=True))
    await asyncio.wait_for(request.ended.wait(), PATIENCE)
    assert bench.found() == [("model.py", "len(x)")]
    assert not bench.scheduler.results.is_current(path)


async def test_what_a_file_that_does_not_parse_has_reported_elsewhere_is_dropped_by_an_edit(bench: Bench) -> None:
    helper, model = bench.open("helper.py", HELPER), bench.open("model.py", MODEL)
    await bench.traced(model, failure_at(span_of(helper, HELPER, "len(x)")), dependencies=[helper])
    bench.edit(model, "import torch.fx", "import torch.fx\nclass (")
    await bench.complete(model)
    bench.edit(helper, "len(x)", "2")
    await bench.complete(helper)
    assert list(bench.scheduler.results.shown({helper})) == []


async def test_files_that_are_traced_at_the_same_time_do_not_count_as_load(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_load, "is_loaded", lambda: True)
    assert bench.scheduler.is_loaded()
    paths = [bench.open(name, MODEL) for name in ("model.py", "other.py")]
    assert not bench.scheduler.is_loaded()
    for path in paths:
        await bench.traced(path)
    monkeypatch.setattr(machine_load, "WINDOW", 0)
    assert bench.scheduler.is_loaded()


async def test_while_a_file_does_not_parse_its_findings_follow_their_text(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)")), failure_at(span_of(path, MODEL, "x / len(x)")))
    bench.edit(path, "import torch.fx", "import torch.fx\nclass 😋(")
    await bench.complete(path)
    assert bench.found() == [("model.py", "len(x)"), ("model.py", "x / len(x)")]
    bench.edit(path, "x / len", "x /0 len")
    await bench.complete(path)
    assert bench.found() == [("model.py", "len(x)")]
    assert bench.agent.requests.empty()


async def test_an_edited_file_has_those_that_import_it_traced_again(bench: Bench) -> None:
    helper, model = bench.open("helper.py", HELPER), bench.open("model.py", MODEL)
    await bench.traced(model, failure_at(span_of(helper, HELPER, "len(x)")), dependencies=[helper, model])
    assert bench.found() == [("helper.py", "len(x)")]
    bench.edit(helper, "len(x)", "2")
    request = await bench.traced(model, dependencies=[helper])
    assert (request.message.file, list(request.message.overlays)) == (model, [helper])
    assert bench.found() == []


async def test_a_file_that_is_opened_with_unsaved_text_counts_as_edited(bench: Bench) -> None:
    helper, model = bench.file("helper.py", HELPER), bench.open("model.py", MODEL)
    await bench.traced(model, dependencies=[helper])
    bench.documents.open(helper, HELPER.replace("len(x)", "2"), 1)
    bench.scheduler.opened(helper)
    request = await bench.traced(model, dependencies=[helper])
    assert (request.message.file, list(request.message.overlays)) == (model, [helper])


async def test_an_edited_file_that_does_not_parse_leaves_those_that_import_it_alone(bench: Bench) -> None:
    helper, model = bench.open("helper.py", HELPER), bench.open("model.py", MODEL)
    await bench.traced(model, dependencies=[helper])
    bench.edit(helper, "return", "return (")
    await bench.complete(helper)
    assert bench.agent.requests.empty()


async def test_an_edit_of_an_import_that_was_not_known_of_yet_is_not_missed(bench: Bench) -> None:
    helper, model = bench.open("helper.py", HELPER), bench.open("model.py", MODEL)
    request = await bench.agent.asked()
    bench.edit(helper, "def scale", "# first\ndef scale")
    await bench.complete(helper)
    request.report(request.targets[0].key, failure_at(span_of(helper, HELPER, "len(x)")))
    request.done(helper)
    again = await bench.agent.asked()
    assert (again.message.file, list(again.message.overlays)) == (model, [helper])
    assert bench.found() == [("helper.py", "len(x)")], "its place is that of the text that was traced, moved since"


async def test_a_file_that_changes_on_the_disk_has_those_that_import_it_traced(bench: Bench) -> None:
    helper, model = bench.file("helper.py", HELPER), bench.open("model.py", MODEL)
    await bench.traced(model, failure_at(span_of(helper, HELPER, "len(x)")), dependencies=[helper])
    bench.file("helper.py", "def scale(x):\n    return x\n")
    bench.scheduler.trace_dependants(helper)
    await bench.traced(model, dependencies=[helper])
    assert bench.found() == []


NET = """\
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, x):
        return x + self.width
"""


def write(bench: Bench, text: str) -> str:
    path = bench.folder / "use.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


async def test_another_files_way_to_build_a_class_is_used_and_followed(bench: Bench) -> None:
    use = write(bench, "from net import Net\nnet = Net(3)\n")
    path = bench.open("net.py", NET)
    request = await bench.traced(path)
    assert request.message.targets[0].recipe.root.source == "Net(3)"
    write(bench, "from net import Net\nnet = Net(4)\n")
    bench.scheduler.trace_dependants(use)
    request = await bench.traced(path)
    assert request.message.targets[0].recipe.root.source == "Net(4)"


async def test_a_change_that_shows_no_other_way_to_build_traces_nothing_again(bench: Bench) -> None:
    use = write(bench, "from net import Net\nnet = Net(3)\n")
    path = bench.open("net.py", NET)
    await bench.traced(path)
    write(bench, "from net import Net\nnet = Net(3)\nprint('Net')\n")
    bench.scheduler.trace_dependants(use)
    bench.edit(path, "x + ", "x - ")
    request = await bench.traced(path)
    assert request.message.overlays == {path: NET.replace("x + ", "x - ")}


async def test_results_of_targets_that_are_gone_are_dropped(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)")))
    bench.edit(path, "torch.fx.symbolic_trace(f)", "")
    await bench.complete(path)
    assert bench.found() == []
    assert bench.agent.requests.empty()


async def test_results_stay_until_newer_ones_come(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)")))
    bench.edit(path, "def f", "# later\ndef f")
    await bench.agent.asked()
    assert bench.found() == [("model.py", "len(x)")]


async def test_without_an_agent_nothing_old_is_kept(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)")))
    bench.scheduler.trace_all()
    request = await bench.agent.asked()
    assert bench.found() == [("model.py", "len(x)")]
    request.done()
    await bench.complete(path)
    assert bench.found() == []
    assert [traced.report for traced in bench.scheduler.results[path].traced.values()] == [None]


async def test_a_file_that_is_closed_just_before_it_is_traced_again_stays_forgotten(bench: Bench) -> None:
    helper, model = bench.open("helper.py", HELPER), bench.open("model.py", MODEL)
    request = await bench.agent.asked()
    bench.edit(helper, "def scale", "# first\ndef scale")
    await bench.complete(helper)
    bench.scheduler.on_result = lambda path, complete: bench.scheduler.forget(path) if complete else None
    request.report(request.targets[0].key)
    request.done(helper)
    await asyncio.wait_for(request.ended.wait(), PATIENCE)
    other = bench.open("other.py", MODEL)
    assert (await bench.agent.asked()).message.file == other
    assert model not in bench.scheduler.results


async def test_a_closed_file_is_forgotten(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)")))
    bench.documents.close(path)
    bench.scheduler.forget(path)
    await bench.complete(path)
    assert bench.found() == []
    assert path not in bench.scheduler.results


async def test_installed_files_and_excluded_ones_are_not_traced(bench: Bench) -> None:
    bench.settings = dataclasses.replace(bench.settings, exclude=("scripts/**",)).anchored(str(bench.folder))
    for name in ("scripts/deep/model.py", "lib/site-packages/model.py"):
        await bench.complete(bench.open(name, MODEL))
    assert bench.agent.requests.empty()


async def test_an_internal_error_is_logged_and_the_next_edit_is_traced(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    path = bench.open("model.py", MODEL)
    request = await bench.agent.asked()
    request.fail(ZeroDivisionError("ours"))
    await asyncio.wait_for(request.ended.wait(), PATIENCE)
    bench.edit(path, "len(x)", "2")
    await bench.traced(path)
    assert "ZeroDivisionError" in caplog.text


async def test_closing_ends_every_request(bench: Bench) -> None:
    bench.open("a.py", MODEL)
    bench.open("b.py", MODEL)
    requests = [await bench.agent.asked(), await bench.agent.asked()]
    await bench.scheduler.close()
    assert all(request.ended.is_set() for request in requests)


async def test_without_an_event_the_command_line_traces_a_file_at_once(bench: Bench) -> None:
    path = bench.file("model.py", MODEL)
    work = asyncio.ensure_future(bench.scheduler.trace(path))
    await bench.traced(path, failure_at(span_of(path, MODEL, "len(x)")))
    await work
    assert bench.found() == [("model.py", "len(x)")]
