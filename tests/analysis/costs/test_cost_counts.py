import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.messages import Costs, ModuleCosts, NodeCosts, Report, Uncounted
from fx_lsp.analysis.costs.cost_counts import NOT_COUNTED, CostCounts
from tests.analysis.fake_agent import PATIENCE, Bench, failure_at, span_of

MODEL = """\
import torch.fx

def f(x):
    return x + 1

torch.fx.symbolic_trace(f)
"""


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.descriptions.close()
    await bench.scheduler.close()


@pytest_asyncio.fixture
async def counts(bench: Bench) -> AsyncIterator[CostCounts]:
    counts = CostCounts(bench.scheduler, after=bench.descriptions)
    told = bench.scheduler.on_result

    def on_result(path: str, complete: bool) -> None:
        told(path, complete)
        bench.descriptions.on_result(path, complete)
        counts.on_result(path, complete)

    bench.scheduler.on_result = on_result
    yield counts
    await counts.close()


async def traced(bench: Bench, path: str, *, fails: bool = False, code: str = "") -> str:
    """Answer the next request; the target's key."""
    request = await bench.agent.asked()
    failures = [failure_at(span_of(path, MODEL, "x + 1"))] if fails else []
    request.report(request.targets[0].key, *failures, nodes=3, code=code)
    request.done()
    await bench.complete(path)
    return request.targets[0].key


async def counted(bench: Bench, counts: CostCounts, *answers: Costs) -> None:
    """Answer the next request for costs, and wait until an answer is kept."""
    await asyncio.wait_for(bench.agent.counted.get(), PATIENCE)
    kept = asyncio.Event()
    counts.on_counted = lambda path, key: kept.set()
    for answer in (*answers, None):
        bench.agent.costs.put_nowait(answer)
    await asyncio.wait_for(kept.wait(), PATIENCE)


async def test_costs_are_counted_only_when_everything_is_described(bench: Bench, counts: CostCounts) -> None:
    path = bench.open("model.py", MODEL)
    key = await traced(bench, path)
    await asyncio.wait_for(bench.agent.described.get(), PATIENCE)
    counts._start()  # as when its time has come
    assert counts.is_due
    assert counts._worker is None, "it waits for the description"
    bench.agent.details.put_nowait(None)
    await counted(bench, counts, Costs(1, key, input="x: [2]"))
    assert (found := counts.of(path, key)) is not None
    assert found.input == "x: [2]"
    assert counts.in_file(path) == {key: found}


async def test_costs_stay_until_the_target_is_counted_again(bench: Bench, counts: CostCounts) -> None:
    path = bench.open("model.py", MODEL)
    bench.agent.details.put_nowait(None)
    key = await traced(bench, path)
    await counted(bench, counts, Costs(1, key))
    first = counts.of(path, key)
    bench.edit(path, "import", "\nimport")
    await traced(bench, path)
    assert counts.of(path, key) is first
    bench.agent.details.put_nowait(None)
    await counted(bench, counts, Costs(2, key))
    assert counts.of(path, key) is not first


async def test_costs_are_dropped_when_the_target_can_no_longer_be_traced(bench: Bench, counts: CostCounts) -> None:
    path = bench.open("model.py", MODEL)
    bench.agent.details.put_nowait(None)
    key = await traced(bench, path)
    await counted(bench, counts, Costs(1, key))
    bench.edit(path, "import", "\nimport")
    await traced(bench, path, fails=True)
    assert counts.of(path, key) is None


async def test_a_count_that_brings_nothing_is_not_asked_for_again(bench: Bench, counts: CostCounts) -> None:
    path = bench.open("model.py", MODEL)
    bench.agent.details.put_nowait(None)
    key = await traced(bench, path)
    await counted(bench, counts)
    found = counts.of(path, key)
    assert found is not None
    assert (found.modules, found.reason) == ((), NOT_COUNTED)
    await counts.count(path)
    assert bench.agent.counted.empty()


async def test_nodes_cost_something_only_in_the_graph_that_was_counted(bench: Bench, counts: CostCounts) -> None:
    path = bench.open("model.py", MODEL)
    bench.agent.details.put_nowait(None)
    key = await traced(bench, path, code="first")
    await counted(bench, counts, Costs(1, key, nodes=(NodeCosts("add", 5, 8),)))
    reports = [Report(1, key, "traced", code=code) for code in ("first", "second")]
    count = counts.latest(path, key)
    assert count is not None
    assert [count.by_node(report) for report in reports] == [{"add": NodeCosts("add", 5, 8)}, {}]


EXPECTING = """\
from torch import nn

# fx: expect(parameters < 1k, flops < 1k, peak < 1KiB)
class Net(nn.Module):
    def forward(self, x):
        return x

Net()(3)
"""


@pytest.mark.parametrize(
    ("uncounted", "unknown", "told"),
    [
        ((), (), []),
        ((Uncounted("aten.relu", 1, 9),), (), []),
        (
            (Uncounted("mine.kernel", 1, 9),),
            (),
            ["`flops < 1k` could not be checked: torch has no formula for mine.kernel."],
        ),
        (
            (),
            ("nonzero", "add"),
            [
                f"`{part}` could not be checked: torch can't run some of the model's nodes without data: nonzero, add."
                for part in ("flops < 1k", "peak < 1KiB")
            ],
        ),
    ],
)
async def test_an_expectation_that_holds_only_for_what_was_counted_could_not_be_checked(
    bench: Bench, counts: CostCounts, uncounted: tuple[Uncounted, ...], unknown: tuple[str, ...], told: list[str]
) -> None:
    path = bench.open("model.py", EXPECTING)
    bench.agent.details.put_nowait(None)
    key = await traced(bench, path)
    modules = (ModuleCosts("", "Net", flops=10, activations=0, peak=0),)
    await counted(bench, counts, Costs(1, key, modules, uncounted=uncounted, unknown=unknown))
    found = list(bench.scheduler.results.findings())
    assert [(finding.message, finding.severity) for finding in found] == [(text, "information") for text in told]


async def test_what_is_no_longer_expected_is_no_longer_told_even_if_costs_are_off(
    bench: Bench, counts: CostCounts
) -> None:
    bench.settings = type(bench.settings)(costs="off")
    path = bench.open("model.py", EXPECTING)
    bench.agent.details.put_nowait(None)
    key = await traced(bench, path)
    await counted(bench, counts, Costs(1, key, (ModuleCosts("", "Net", flops=5000, activations=0, peak=0),)))
    told: list[str] = []
    counts.on_counted = lambda path, key: told.append(key)
    bench.edit(path, "Net()(3)", "Net()(")
    await bench.complete(path)
    found = bench.scheduler.results.findings()
    assert [finding.message.partition(":")[0] for finding in found] == ["`flops < 1k` does not hold"]
    bench.edit(path, "Net()(", "Net()(3)")
    bench.edit(path, "# fx: expect", "# expect")
    await traced(bench, path)
    assert list(bench.scheduler.results.findings()) == []
    assert told == [key], "the client hears of it"
