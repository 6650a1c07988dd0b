from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest
import pytest_asyncio
from lsprotocol import types

from fx_lsp.analysis.findings import Finding
from fx_lsp.documents.documents import Documents
from fx_lsp.server.features import diagnostics
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.server.features.diagnostics import DiagnosticsPublisher, Shows, diagnostic
from tests.analysis.fake_agent import Bench, failure_at, span_of

MODEL = (
    "import torch.fx\nfrom helper import scale\n\ntorch.fx.symbolic_trace(scale)\ntorch.fx.symbolic_trace(scale, {})\n"
)
HELPER = "def scale(x):\n    return x * len(x)\n"


class Screen:
    """What a client shows."""

    def __init__(self, bench: Bench, *, related: bool = True, described: bool = True, data: bool = False) -> None:
        self.bench = bench
        self.messages: list[types.PublishDiagnosticsParams] = []
        self.publisher = DiagnosticsPublisher(
            bench.scheduler,
            ClientPlaces(bench.documents),
            self.messages.append,
            Shows(related=related, described=described, data=data),
        )
        bench.scheduler.on_result = self.on_result

    def on_result(self, path: str, complete: bool) -> None:
        self.publisher.on_result(path, complete)
        self.bench.results.put_nowait((path, complete))

    def published(self) -> list[tuple[str, int | None, int]]:
        """File name, version and number of diagnostics of each message since the last call."""
        messages, self.messages[:] = list(self.messages), []
        return [(params.uri.rpartition("/")[2], params.version, len(params.diagnostics)) for params in messages]


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.scheduler.close()


async def test_a_version_is_named_once_its_diagnostics_are_complete(bench: Bench) -> None:
    screen = Screen(bench)
    model = bench.open("model.py", MODEL)
    request = await bench.agent.asked()
    first, second = (target.key for target in request.targets)
    request.report(first, failure_at(span_of(model, MODEL, "torch.fx.symbolic_trace(scale)")))
    await bench.results.get()
    assert screen.published() == [("model.py", None, 1)]
    request.report(second)
    request.done()
    await bench.complete(model)
    assert screen.published() == [("model.py", 1, 1)]


async def test_a_file_without_failures_is_published_once_for_each_version(bench: Bench) -> None:
    screen = Screen(bench)
    model = bench.open("model.py", MODEL)
    await bench.traced(model)
    bench.edit(model, "import torch.fx", "import torch.fx  # é")
    await bench.traced(model)
    assert screen.published() == [("model.py", 1, 0), ("model.py", 2, 0)]


async def test_a_failure_in_another_file_is_published_there_and_cleared(bench: Bench) -> None:
    screen = Screen(bench)
    helper = bench.file("helper.py", HELPER)
    model = bench.open("model.py", MODEL)
    await bench.traced(model, failure_at(span_of(model, MODEL, "symbolic_trace"), span_of(helper, HELPER, "len(x)")))
    (there, _) = screen.messages
    assert there.uri == Path(helper).as_uri()
    (shown,) = there.diagnostics
    assert shown.range == types.Range(types.Position(1, 15), types.Position(1, 21))
    assert shown.related_information is not None
    assert [item.location.uri for item in shown.related_information] == [Path(model).as_uri()]
    assert screen.published() == [("helper.py", None, 1), ("model.py", 1, 0)]

    bench.documents.close(model)
    bench.scheduler.forget(model)
    assert ("helper.py", None, 0) in screen.published()


async def test_two_targets_that_fail_at_one_place_are_one_diagnostic(bench: Bench) -> None:
    screen = Screen(bench)
    helper = bench.file("helper.py", HELPER)
    model = bench.open("model.py", MODEL)
    request = await bench.agent.asked()
    for target in request.targets:
        request.report(target.key, failure_at(span_of(helper, HELPER, "len(x)")))
    request.done()
    await bench.complete(model)
    last = [params for params in screen.messages if params.uri.endswith("helper.py")][-1]
    (shown,) = last.diagnostics
    assert all(f"`{target.title}`" in shown.message for target in request.targets)


async def test_only_clients_that_can_show_related_information_get_it(bench: Bench) -> None:
    screen = Screen(bench, related=False)
    model = bench.open("model.py", MODEL)
    span = span_of(model, MODEL, "symbolic_trace")
    await bench.traced(model, failure_at(span, span_of(model, MODEL, "scale)")))
    (shown,) = screen.messages[-1].diagnostics
    assert shown.related_information is None


async def test_the_code_links_to_the_page_of_its_rule(bench: Bench) -> None:
    screen = Screen(bench)
    model = bench.open("model.py", MODEL)
    await bench.traced(model, failure_at(span_of(model, MODEL, "scale)")))
    (shown,) = screen.messages[-1].diagnostics
    assert shown.code_description is not None
    assert Path(url2pathname(urlparse(shown.code_description.href).path)).read_text().startswith(f"# {shown.code}: ")


async def test_only_clients_that_can_open_links_get_one(bench: Bench) -> None:
    screen = Screen(bench, described=False)
    model = bench.open("model.py", MODEL)
    await bench.traced(model, failure_at(span_of(model, MODEL, "scale)")))
    (shown,) = screen.messages[-1].diagnostics
    assert shown.code_description is None


async def test_while_the_text_does_not_parse_diagnostics_keep_to_their_text(bench: Bench) -> None:
    screen = Screen(bench)
    model = bench.open("model.py", MODEL)
    await bench.traced(model, failure_at(span_of(model, MODEL, "torch.fx.symbolic_trace(scale)")))
    screen.published()
    bench.edit(model, "import", "(\nimport")
    await bench.complete(model)
    (shown,) = screen.messages[-1].diagnostics
    assert shown.range.start.line == 4
    bench.edit(model, "trace(scale)", "trace(scal)")
    await bench.complete(model)
    assert screen.published() == [("model.py", None, 1), ("model.py", None, 1)]
    bench.edit(model, "(\n", "")
    await bench.traced(model)
    assert screen.published() == [("model.py", None, 0), ("model.py", 4, 0)]


TWO = """\
import torch.fx

def first(x):
    return x / len(x)

def second(x):
    return first(x)

torch.fx.symbolic_trace(first)
torch.fx.symbolic_trace(second)
"""


def said(screen: Screen) -> list[str]:
    """The targets that the one diagnostic of each message since the last call names."""
    messages, screen.messages[:] = list(screen.messages), []
    assert all(len(params.diagnostics) == 1 for params in messages), messages
    return [params.diagnostics[0].message.rpartition("While tracing ")[2] for params in messages]


BOTH = "`torch.fx.symbolic_trace(first)` and `torch.fx.symbolic_trace(second)`."


async def failing_in_both(bench: Bench) -> str:
    """Open a file whose two targets fail at one place."""
    path = bench.open("two.py", TWO)
    request = await bench.agent.asked()
    for target in request.targets:
        request.report(target.key, failure_at(span_of(path, TWO, "len(x)")))
    request.done()
    await bench.complete(path)
    return path


async def test_an_edited_diagnostic_stays_until_its_target_is_traced_again(bench: Bench) -> None:
    screen = Screen(bench)
    path = await failing_in_both(bench)
    said(screen)
    bench.edit(path, "len(x)", "len(x + 1)")
    request = await bench.agent.asked()
    first, second = (target.key for target in request.targets)
    failure = failure_at(span_of(path, bench.documents.text(path) or "", "len(x + 1)"))
    request.report(first, failure)
    request.report(second, failure)
    request.done()
    await bench.complete(path)
    shown = screen.messages[-1]
    assert (shown.version, shown.diagnostics[0].range.end) == (2, types.Position(3, 25))
    assert set(said(screen)) == {BOTH}, "the first report gives the diagnostic its new range and message, and stays it"


async def test_an_edited_diagnostic_goes_with_the_last_report_that_does_not_find_it(bench: Bench) -> None:
    screen = Screen(bench)
    path = await failing_in_both(bench)
    said(screen)
    bench.edit(path, "len(x)", "x.size(0)")
    request = await bench.agent.asked()
    first, second = sorted(target.key for target in request.targets)
    request.report(first)
    await bench.results.get()
    assert said(screen) == ["`torch.fx.symbolic_trace(second)`."]
    request.report(second)
    await bench.results.get()
    assert screen.published() == [("two.py", None, 0)]
    request.done()
    await bench.complete(path)
    assert screen.published() == [("two.py", 2, 0)]


async def test_a_diagnostic_stays_while_the_call_that_traces_its_function_is_edited(bench: Bench) -> None:
    screen = Screen(bench)
    path = await failing_in_both(bench)
    said(screen)
    bench.edit(path, "trace(first)", "trace(first, {})")
    request = await bench.agent.asked()
    changed, same = request.targets[0], request.targets[1]
    if "{}" not in changed.title:
        changed, same = same, changed
    failure = failure_at(span_of(path, TWO, "len(x)"))
    request.report(same.key, failure)
    request.report(changed.key, failure)
    request.done()
    await bench.complete(path)
    assert said(screen)[-1] == BOTH.replace("(first)", "(first, {})")


async def test_a_deleted_diagnostic_is_not_shown(bench: Bench) -> None:
    screen = Screen(bench)
    path = await failing_in_both(bench)
    bench.edit(path, "    return x / len(x)\n", "    (\n")
    await bench.complete(path)
    assert screen.publisher.current(Path(path).as_uri()) == []


async def test_a_version_of_a_helper_is_named_once_the_files_that_import_it_are_traced(bench: Bench) -> None:
    screen = Screen(bench)
    helper, model = bench.open("helper.py", HELPER), bench.open("model.py", MODEL)
    failure = failure_at(span_of(model, MODEL, "symbolic_trace"), span_of(helper, HELPER, "len(x)"))
    await bench.traced(model, failure, dependencies=[helper])
    assert screen.published()[-2:] == [("helper.py", 1, 1), ("model.py", 1, 0)]
    bench.edit(helper, "len(x)", "2")
    await bench.complete(helper)
    assert ("helper.py", 2) not in [published[:2] for published in screen.published()]
    await bench.traced(model, dependencies=[helper])
    assert screen.published() == [("helper.py", None, 0), ("helper.py", 2, 0)]


async def test_a_report_makes_diagnostics_only_for_the_documents_that_it_concerns(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen(bench)
    made: list[str] = []

    def noting(finding: Finding, *others: Any) -> types.Diagnostic:
        made.append(Path(finding.place.path).name)
        return diagnostic(finding, *others)

    monkeypatch.setattr(diagnostics, "diagnostic", noting)
    for name in ("first.py", "second.py"):
        path = bench.open(name, MODEL)
        await bench.traced(path, failure_at(span_of(path, MODEL, "torch.fx.symbolic_trace(scale)")))
    assert set(made) == {"first.py", "second.py"}
    made.clear()
    bench.edit(str(bench.folder / "second.py"), "trace(scale)", "trace(scal)")
    await bench.traced(path)
    assert "first.py" not in made
    assert len(screen.publisher.current((bench.folder / "first.py").as_uri())) == 1
    assert screen.publisher.current(Path(path).as_uri()) == []


async def test_a_related_place_follows_its_text_while_that_does_not_parse(bench: Bench) -> None:
    screen = Screen(bench)
    helper = bench.file("helper.py", HELPER)
    model = bench.open("model.py", MODEL)
    await bench.traced(model, failure_at(span_of(model, MODEL, "symbolic_trace"), span_of(helper, HELPER, "len(x)")))
    screen.published()
    bench.edit(model, "import", "(\nimport")
    await bench.complete(model)
    (there,) = [params for params in screen.messages if params.uri.endswith("helper.py")]
    (link,) = there.diagnostics[0].related_information or ()
    assert link.location.range.start.line == 4


def test_the_clients_own_spelling_of_a_uri_is_kept() -> None:
    places = ClientPlaces(Documents())
    uri = "file:///c%3A/work%20%C3%A9/a.py"
    path = places.path(uri)
    assert path is not None
    assert places.uri(path) == uri
    assert places.path("untitled:Untitled-1") is None


async def test_of_many_targets_with_one_problem_the_first_are_named(bench: Bench) -> None:
    screen = Screen(bench)
    path = bench.open(
        "many.py", HELPER + "import torch.fx" + "".join(f"\ntorch.fx.symbolic_trace(scale, {n})" for n in range(5))
    )
    request = await bench.agent.asked()
    for target in request.targets:
        request.report(target.key, failure_at(span_of(path, HELPER, "len(x)")))
    request.done()
    await bench.complete(path)
    (shown,) = screen.messages[-1].diagnostics
    titles = [f"`{target.title}`" for target in request.targets]
    assert shown.message.endswith(f"While tracing {', '.join(titles[:3])} and 2 more.")
