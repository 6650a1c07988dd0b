"""Shapes and costs for inputs that the user has chosen: when they are asked for, and how long they stay."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.messages import Costs, Details, Trace
from fx_lsp.analysis.chosen_inputs import LONGEST_PROBLEM, NO_ARGUMENTS, ChosenInput, ChosenInputs
from fx_lsp.analysis.costs.cost_counts import NOT_COUNTED
from tests.analysis.fake_agent import PATIENCE, Bench, failure_at, span_of

MODEL = """\
import torch.fx

def f(x):
    return x + 1

torch.fx.symbolic_trace(f)
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest_asyncio.fixture
async def inputs(bench: Bench) -> AsyncIterator[ChosenInputs]:
    inputs = ChosenInputs(bench.scheduler)
    told = bench.scheduler.on_result

    def on_result(path: str, complete: bool) -> None:
        told(path, complete)
        inputs.on_result(path, complete)

    bench.scheduler.on_result = on_result
    yield inputs
    await inputs.close()
    await bench.scheduler.close()


async def traced(bench: Bench, path: str, *, fails: bool = False) -> str:
    """Answer the next request; the target's key."""
    failures = [failure_at(span_of(path, MODEL, "x + 1"))] if fails else []
    request = await bench.traced(path, *failures)
    return request.targets[0].key


async def answered(bench: Bench, inputs: ChosenInputs, details: Details | None, costs: Costs | None = None) -> Trace:
    """Answer the next request for details, and the one for costs if there are ``costs``; the request."""
    known = asyncio.Event()
    inputs.on_result_for_input = lambda path, key: known.set()
    request = await asyncio.wait_for(bench.agent.described.get(), PATIENCE)
    for answer in (details, None) if details else (None,):
        bench.agent.details.put_nowait(answer)
    if costs:
        for cost in (costs, None):
            bench.agent.costs.put_nowait(cost)
    await asyncio.wait_for(known.wait(), PATIENCE)
    return request


def described(key: str, given: str = "", problem: str = "") -> Details:
    return Details(1, key, (), (), given, problem=problem)


def chosen(inputs: ChosenInputs, path: str, key: str, text: str) -> ChosenInput:
    found = inputs.choose(path, key, text)
    assert found is not None
    return found


def shown(choice: ChosenInput) -> str:
    """The input that the last result is for."""
    assert choice.result is not None
    return choice.result.description.details.input


async def test_a_target_is_described_and_counted_for_the_input_that_is_chosen(
    bench: Bench, inputs: ChosenInputs
) -> None:
    path = bench.open("model.py", MODEL)
    key = await traced(bench, path)
    choice = chosen(inputs, path, key, " x=torch.rand(2) ")
    assert (choice.report, choice.result) == (None, None), "nothing waits for it"
    request = await answered(bench, inputs, described(key, "x: [2]"), Costs(1, key, input="x: [2]"))
    assert request.inputs == "(x=torch.rand(2))"
    assert (shown(choice), choice.problem) == ("x: [2]", "")
    assert choice.result is not None
    assert choice.result.count is not None
    assert choice.result.count.costs.input == "x: [2]"
    assert inputs.choose(path, key, " ") is None


async def test_the_former_result_stays_while_an_input_can_not_be_used(bench: Bench, inputs: ChosenInputs) -> None:
    path = bench.open("model.py", MODEL)
    key = await traced(bench, path)
    choice = chosen(inputs, path, key, "2")
    await answered(bench, inputs, described(key, "x: 2"), Costs(1, key))
    inputs.choose(path, key, "y")
    await answered(bench, inputs, described(key, problem=f"it is unknown{'!' * LONGEST_PROBLEM}\nat line 1"))
    assert choice.problem == f"it is unknown{'!' * (LONGEST_PROBLEM - 13)}…"
    assert shown(choice) == "x: 2"
    inputs.choose(path, key, "3")
    await answered(bench, inputs, None)
    assert (choice.problem, shown(choice)) == (NOT_COUNTED, "x: 2")


@pytest.mark.parametrize("text", ["x +", "1) or (2", "1)(2", "*"])
async def test_what_is_no_list_of_arguments_is_not_sent_to_the_agent(
    bench: Bench, inputs: ChosenInputs, text: str
) -> None:
    path = bench.open("model.py", MODEL)
    key = await traced(bench, path)
    known = asyncio.Event()
    inputs.on_result_for_input = lambda path, key: known.set()
    choice = chosen(inputs, path, key, text)
    await asyncio.wait_for(known.wait(), PATIENCE)
    assert choice.problem == NO_ARGUMENTS
    assert bench.agent.described.empty()


async def test_a_new_trace_is_counted_for_the_chosen_input_too(bench: Bench, inputs: ChosenInputs) -> None:
    path = bench.open("model.py", MODEL)
    key = await traced(bench, path)
    choice = chosen(inputs, path, key, "2")
    await answered(bench, inputs, described(key, "x: 2"), Costs(1, key))
    bench.edit(path, "import", "\nimport")
    await traced(bench, path)
    await answered(bench, inputs, described(key, "x: 2 again"), Costs(1, key))
    assert shown(choice) == "x: 2 again"
    bench.edit(path, "import", "\nimport")
    await traced(bench, path, fails=True)
    await inputs.work()
    assert bench.agent.described.empty(), "a target that fails has no shapes"


async def test_another_choice_ends_the_work_on_the_first(bench: Bench, inputs: ChosenInputs) -> None:
    path = bench.open("model.py", MODEL)
    key = await traced(bench, path)
    choice = chosen(inputs, path, key, "2")
    first = await asyncio.wait_for(bench.agent.described.get(), PATIENCE)
    inputs.choose(path, key, "3")
    second = await answered(bench, inputs, described(key, "x: 3"), Costs(1, key))
    assert [first.inputs, second.inputs] == ["(2)", "(3)"]
    assert shown(choice) == "x: 3"


async def test_nothing_is_counted_if_the_settings_say_so(bench: Bench, inputs: ChosenInputs) -> None:
    bench.settings = type(bench.settings)(costs="off")
    path = bench.open("model.py", MODEL)
    key = await traced(bench, path)
    choice = chosen(inputs, path, key, "2")
    await answered(bench, inputs, described(key, "x: 2"))
    assert choice.result is not None
    assert choice.result.count is None
    assert bench.agent.counted.empty()


async def test_the_choice_ends_with_the_document(bench: Bench, inputs: ChosenInputs) -> None:
    path = bench.open("model.py", MODEL)
    key = await traced(bench, path)
    choice = chosen(inputs, path, key, "2")
    await answered(bench, inputs, described(key, "x: 2"), Costs(1, key))
    bench.scheduler.forget(path)
    assert inputs.choose(path, key, "2") is not choice
