"""A trace leaves nothing behind, however it ends, and disturbs nobody meanwhile."""

from __future__ import annotations

import gc
import linecache
import math
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx

import fxcore
from fxcore.code.generated_function import _forward_from_src
from fxcore.failures import FailureKind, TraceFailure
from fxcore.torch_compat import tracing_flag_of_torch_fx
from fxcore.tracing import patching
from fxcore.tracing.trace_session import current, is_fx_symbolic_tracing, is_fx_tracing


def helper(x: Any) -> Any:
    return x * 2


fxcore.wrap("helper")
fxcore.wrap("len")


class Block(torch.nn.Module):
    def __init__(self, size: int = 4) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(size, size)
        self.weight = torch.nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.linear(x) + self.weight + math.sqrt(x.size(0)) + helper(x) + len(x) + torch.ones(4)
        return result


class Net(torch.nn.Module):
    """Calls ``middle`` between its two blocks."""

    def __init__(self, middle: Callable[[torch.Tensor], object]) -> None:
        super().__init__()
        self.first, self.second = Block(), Block()
        self.middle = middle

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        self.middle(x)
        result: torch.Tensor = self.second(y)
        return result


def world() -> tuple[Any, ...]:
    """What a trace replaces."""
    names = globals()
    return (
        torch.nn.Module.__call__,
        torch.nn.Module.__getattr__,
        names["helper"],
        names.get("len"),
        math.sqrt,
        _flag_of_torch_fx(),
        current(),
        dict(patching._replacements),
    )


def _flag_of_torch_fx() -> Any:
    flag = tracing_flag_of_torch_fx()
    assert flag is not None
    namespace, name = flag
    return namespace[name]


@pytest.fixture(autouse=True)
def _all_is_undone() -> Any:
    before = world()
    yield
    assert world() == before


def expected(module: torch.nn.Module) -> str:
    return str(torch.fx.symbolic_trace(module).code)


PLAIN = fxcore.symbolic_trace(Net(lambda x: None)).code


def test_a_failing_trace() -> None:
    with pytest.raises(TraceFailure) as failure:
        fxcore.symbolic_trace(Net(lambda x: bool(x)))
    assert failure.value.kind is FailureKind.CONTROL_FLOW
    assert [frame.name for frame in failure.value.frames] == ["Net.forward", "test_a_failing_trace.<locals>.<lambda>"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_passes_untouched(error: type[BaseException]) -> None:
    raised = error("now")

    def interrupt(x: object) -> None:
        raise raised

    with pytest.raises(error) as caught:
        fxcore.symbolic_trace(Net(interrupt))
    assert caught.value is raised


def test_tracing_is_seen_by_the_traced_code_alone() -> None:
    seen: list[Any] = []

    def look(x: object) -> None:
        torch_fx = torch.fx._symbolic_trace
        seen.append((is_fx_tracing(), is_fx_symbolic_tracing(), bool(torch_fx.is_fx_symbolic_tracing())))
        thread = threading.Thread(
            target=lambda: seen.append(
                (is_fx_tracing(), is_fx_symbolic_tracing(), bool(torch_fx.is_fx_symbolic_tracing()))
            )
        )
        thread.start()
        thread.join()

    look(None)
    fxcore.symbolic_trace(Net(look))
    assert seen == [(False,) * 3, (False,) * 3, (True,) * 3, (False,) * 3]


def test_a_module_that_knows_a_wrapped_function_by_a_private_name_alone() -> None:
    namespace = {"_root": math.sqrt}
    exec("def forward(x): return x * _root(4)", namespace)
    forward: Any = namespace["forward"]
    assert "x * 2.0" in fxcore.symbolic_trace(forward).code


def test_a_trace_within_a_trace() -> None:
    inner: list[str] = []
    net = Net(lambda x: inner.append(fxcore.symbolic_trace(Net(lambda x: None)).code))
    assert fxcore.symbolic_trace(net).code == PLAIN
    assert inner == [PLAIN]


def test_a_failing_trace_within_a_trace() -> None:
    def fail(x: object) -> None:
        with pytest.raises(TraceFailure):
            fxcore.symbolic_trace(Net(lambda x: bool(x)))

    assert fxcore.symbolic_trace(Net(fail)).code == PLAIN


def test_an_inner_failure_that_ends_the_outer_trace_tells_both_ways() -> None:
    def fail(x: object) -> None:
        fxcore.symbolic_trace(Net(lambda y: int(y)))

    with pytest.raises(TraceFailure) as failure:
        fxcore.symbolic_trace(Net(fail))
    assert failure.value.kind is FailureKind.CONVERSION
    names = [frame.name.rpartition(".")[2] for frame in failure.value.frames]
    assert names == ["forward", "fail", "forward", "<lambda>"]


def test_values_of_two_traces_do_not_mix() -> None:
    def mix(x: Any) -> None:
        fxcore.symbolic_trace(lambda y: torch.add(x, y))

    with pytest.raises(RuntimeError) as failure:
        fxcore.symbolic_trace(Net(mix))
    assert isinstance(failure.value, TraceFailure)
    assert failure.value.kind is FailureKind.TWO_TRACERS


@pytest.mark.parametrize("ours_first", [True, False])
def test_within_and_around_torch_fx(ours_first: bool) -> None:
    outer, inner = (fxcore, torch.fx) if ours_first else (torch.fx, fxcore)
    codes: list[str] = []

    def simple(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + 1

    def around(x: torch.Tensor) -> torch.Tensor:
        codes.append(inner.symbolic_trace(simple).code)
        return torch.relu(x) + 2

    code = outer.symbolic_trace(around).code
    assert codes == [torch.fx.symbolic_trace(simple).code]
    assert "relu + 2" in code


def test_two_threads_at_once() -> None:
    """Both are in the middle of their traces at the same time, and the first to begin is the first to end."""
    barrier, codes = threading.Barrier(2), {}
    first_ended = threading.Event()

    def wait(x: object) -> None:
        barrier.wait(timeout=60)
        if threading.current_thread().name == "second":
            assert first_ended.wait(timeout=60)

    def run() -> None:
        codes[threading.current_thread().name] = fxcore.symbolic_trace(Net(wait)).code
        if threading.current_thread().name == "first":
            first_ended.set()

    threads = [threading.Thread(target=run, name=name) for name in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert codes == {"first": PLAIN, "second": PLAIN}


@pytest.mark.parametrize("made", ["before", "meanwhile"])
def test_a_trace_that_begins_during_another_and_outlives_it(made: str) -> None:
    tracer = fxcore.Tracer() if made == "before" else None
    began, other_ended = threading.Event(), threading.Event()
    codes: list[str] = []

    def wait(x: object) -> None:
        began.set()
        assert other_ended.wait(timeout=60)

    def run() -> None:
        net = Net(wait)
        codes.append(fxcore.GraphModule(net, (tracer or fxcore.Tracer()).trace(net), "Net").code)

    thread = threading.Thread(target=run)

    def start(x: object) -> None:
        thread.start()
        assert began.wait(timeout=60)

    fxcore.symbolic_trace(Net(start))
    other_ended.set()
    thread.join(timeout=60)
    assert codes == [PLAIN]


def test_a_tracer_that_was_made_during_a_trace_wraps_the_same_functions_later() -> None:
    made: list[fxcore.Tracer] = []
    fxcore.symbolic_trace(Net(lambda x: made.append(fxcore.Tracer())))
    net = Net(lambda x: None)
    assert fxcore.GraphModule(net, made[0].trace(net), "Net").code == PLAIN


def test_another_thread_runs_the_model_meanwhile() -> None:
    net = Net(lambda x: None)
    inputs = torch.ones(4, 4)
    normal = net(inputs)
    outputs: list[torch.Tensor] = []

    def run_elsewhere(x: object) -> None:
        thread = threading.Thread(target=lambda: outputs.append(net(inputs)))
        thread.start()
        thread.join(timeout=60)

    fxcore.symbolic_trace(Net(run_elsewhere))
    assert [bool((output == normal).all()) for output in outputs] == [True]


def test_a_thousand_traces_leave_nothing() -> None:
    net = Net(lambda x: None)
    failing = Net(lambda x: bool(x))

    def measure() -> dict[str, int]:
        gc.collect()
        names = sum(len(vars(module)) for module in net.modules())
        return {
            "objects": len(gc.get_objects()),
            "blocks": sys.getallocatedblocks(),
            "files": len(linecache.cache),
            "modules": len(sys.modules),
            "names": names,
        }

    def trace(times: int) -> None:
        for _ in range(times):
            traced = fxcore.symbolic_trace(net)
            traced.forward  # noqa: B018 (compiles it)
            with pytest.raises(TraceFailure):
                fxcore.symbolic_trace(failing)

    trace(200)  # until Python's and torch's own caches are full and its free memory is in use
    before = measure()
    trace(500)
    growth = {key: value - before[key] for key, value in measure().items()}
    assert growth.pop("objects") < 50, "less than one for ten traces"
    assert growth.pop("blocks") < 500, "strings and numbers, too, which aren't among the objects"
    assert growth == {"files": 0, "modules": 0, "names": 0}


def test_generated_functions_may_be_collected_while_a_trace_begins() -> None:
    def generated(wraps: int) -> Callable[..., Any]:
        names = [f"name{number}" for number in range(wraps)]
        lines = [f'torch.fx._symbolic_trace.wrap("{name}")' for name in names]
        source = "\n".join([*lines, "", "def forward(self, x):", "    return x"])
        return _forward_from_src(source, dict.fromkeys(names, abs))

    kept = generated(200)
    thresholds = gc.get_threshold()
    try:
        for allocations in range(10, 400, 30):
            gc.collect()
            gc.disable()
            garbage: list[Any] = [generated(1)]
            garbage.append(garbage)
            del garbage
            gc.set_threshold(gc.get_count()[0] + allocations)
            gc.enable()
            fxcore.symbolic_trace(torch.nn.ReLU())
    finally:
        gc.enable()
        gc.set_threshold(*thresholds)
    assert kept(None, 1) == 1
