import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest_asyncio

from fx_lsp.agent.messages import Details, GraphNode, Intent, ModuleCall, Report, Span
from fx_lsp.analysis.graph_descriptions import GraphDescription
from fx_lsp.documents.documents import Place
from fx_lsp.server.features.hover_nodes import described_nodes
from fx_lsp.server.features.inlay_hints import hints_of
from tests.analysis.fake_agent import PATIENCE, Bench, Request, failure_at, span_of

MODEL = """\
import torch.fx

def f(x):
    return x + 1

torch.fx.symbolic_trace(f)
"""


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    told = bench.scheduler.on_result

    def on_result(path: str, complete: bool) -> None:
        told(path, complete)
        bench.descriptions.on_result(path, complete)

    bench.scheduler.on_result = on_result
    yield bench
    await bench.descriptions.close()
    await bench.scheduler.close()


def node(path: str, at: str, value: str = "", name: str = "add") -> GraphNode:
    return GraphNode(name, "call_function", "operator.add", (), (), "", span=span_of(path, MODEL, at), value=value)


async def traced(bench: Bench, path: str, *, fails: bool = False) -> Request:
    """Answer the next request, with success if nothing else is said."""
    request = await bench.agent.asked()
    failures = [failure_at(span_of(path, MODEL, "x + 1"))] if fails else []
    request.report(request.targets[0].key, *failures, nodes=3)
    request.done()
    await bench.complete(path)
    return request


async def described(bench: Bench, path: str, *nodes: GraphNode) -> str:
    """Answer the next request for details; the target's key."""
    asked = await asyncio.wait_for(bench.agent.described.get(), PATIENCE)
    key = asked.targets[0].key
    told = asyncio.Event()
    bench.descriptions.on_described = lambda path, key: told.set()
    bench.agent.details.put_nowait(Details(1, key, nodes, ()))
    bench.agent.details.put_nowait(None)
    await asyncio.wait_for(told.wait(), PATIENCE)
    return key


async def test_what_was_traced_is_described_once_nothing_is_traced(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await traced(bench, path)
    key = await described(bench, path, node(path, "x + 1"))
    description = bench.descriptions.of(path, key)
    assert description is not None
    ((place, nodes),) = description.recorded[path].items()
    assert MODEL[place.start : place.end] == "x + 1"
    assert [item.name for item in nodes] == ["add"]


async def test_a_description_stays_while_the_text_is_edited_and_is_replaced_by_the_next(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await traced(bench, path)
    key = await described(bench, path, node(path, "x + 1"))
    first = bench.descriptions.of(path, key)
    bench.edit(path, "import", "\nimport")
    await traced(bench, path)
    assert bench.descriptions.of(path, key) is first
    await described(bench, path)
    assert bench.descriptions.of(path, key) is not first


async def test_a_description_is_dropped_when_its_target_can_no_longer_be_traced(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await traced(bench, path)
    key = await described(bench, path)
    bench.edit(path, "import", "\nimport")
    await traced(bench, path, fails=True)
    assert bench.descriptions.of(path, key) is None


async def test_an_edit_ends_the_describing(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await traced(bench, path)
    await asyncio.wait_for(bench.agent.described.get(), PATIENCE)
    bench.descriptions.pause()
    bench.edit(path, "import", "\nimport")
    await traced(bench, path)
    await described(bench, path)


async def test_a_target_that_fails_is_not_described(bench: Bench) -> None:
    failing, fine = bench.open("a.py", MODEL), bench.open("b.py", MODEL)
    await traced(bench, failing, fails=True)
    await traced(bench, fine)
    asked = await asyncio.wait_for(bench.agent.described.get(), PATIENCE)
    assert asked.file == fine
    bench.agent.details.put_nowait(None)


async def test_a_target_built_with_invented_arguments_counts_only_if_no_other_does(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    span, snapshot = span_of(path, MODEL, "x + 1"), bench.documents.snapshot()
    for title, intent, value in (("made up", "assumed", "[1]"), ("sure", "inferred", "[2]")):
        report = Report(1, title, "traced", intent=cast("Intent", intent))
        nodes = (GraphNode("add", "call_function", "operator.add", (), (), "", span=span, value=value),)
        described = GraphDescription(title, Details(1, title, nodes, ()), report, snapshot, Place(path, 0, 1, 0))
        bench.descriptions.keep(path, title, described)
        hints = hints_of(bench.descriptions, bench.documents, path)
        assert {at: (hint.text, hint.arrow) for at, hint in hints.items()} == {MODEL.index(" + 1") + 4: (value, True)}
        (shown,) = described_nodes(bench.descriptions, bench.documents, path, MODEL.index("x + 1") + 2, shapes=True)
        assert title in shown


async def test_the_value_of_a_call_is_what_the_outermost_module_returns(bench: Bench) -> None:
    path = bench.open("model.py", MODEL)
    await traced(bench, path)
    asked = await asyncio.wait_for(bench.agent.described.get(), PATIENCE)
    span = span_of(path, MODEL, "x + 1")
    calls = [call("a", span, "[2]"), call("a.0", span, "[1]"), call("b", span, "[3]"), call("", None, "[4]")]
    details = Details(1, asked.targets[0].key, (node(path, "x + 1", "[1]"), node(path, "f", "[5]")), tuple(calls))
    told = asyncio.Event()
    bench.descriptions.on_described = lambda path, key: told.set()
    bench.agent.details.put_nowait(details)
    bench.agent.details.put_nowait(None)
    await asyncio.wait_for(told.wait(), PATIENCE)
    (description,) = bench.descriptions
    values = {MODEL[place.start : place.end]: found for place, found in description.values[path].items()}
    assert values == {"f": ("[5]",), "x + 1": ("[2]", "[3]")}


def call(path: str, span: Span | None, value: str) -> ModuleCall:
    return ModuleCall(path, "Linear", 1, span=span, value=value)
