"""Every failure of a program in one run."""

from __future__ import annotations

import gc
import linecache
import operator
import weakref

import pytest
import torch
from torch import nn

import fxcore
from fxcore.explore import Exploration, explore
from fxcore.failures import FailureKind, TraceFailure
from tests import zoo
from tests.core.explore.untraceable import Everything
from tests.core.snippets import define


def text(failure: TraceFailure) -> str:
    """The failing expression."""
    span = failure.span
    assert span is not None
    assert span.line == span.end_line
    return linecache.getline(span.file, span.line).encode()[span.col : span.end_col].decode()


def seen(found: Exploration) -> list[tuple[str, str]]:
    return [(text(site.failure), site.assumption) for site in found.sites]


def test_all_failures_are_found_by_guessing() -> None:
    found = explore(Everything())
    assert seen(found) == [
        ("h != w", "it is false"),
        ("c == 3", "it is true"),
        ("x.sum() > 0", "it is false"),
        ("torch.zeros(b, c)", "it is recorded"),
        ("(*x.shape[:2], -1)", "it has 2 items"),
        ("len(x)", "it is 2"),
        ("x[0]", "it is recorded"),
        ("x.mean() > 0", "it is false"),
        ("nn.ReLU()(x)", "it is registered"),
        ("int(h)", "it is 1"),
        ("max(h, w)", "it is false"),
    ]
    assert found.graph is not None


@pytest.mark.parametrize(
    "program",
    [
        "return torch.zeros(x.shape[0])",
        "return torch.full((x.shape[0],), 3)",
        "return torch.arange(4)[x.shape[0]]",
        "return torch.arange(4).view(x.shape[0], -1)",
        "return torch.arange(4).narrow(0, 0, x.shape[0])",
        "return torch.narrow(torch.arange(4), 0, 0, x.shape[0])",
        "return torch.arange(4).roll(x.shape[0], 0)",
        "return torch.arange(4).topk(x.shape[0])",
        "return torch.tril(torch.ones(4, 4), x.shape[0])",
    ],
)
def test_what_torch_may_ask_in_vain_is_no_site(program: str) -> None:
    assert explore(define(f"def f(x):\n    {program}\n")).sites == []


@pytest.mark.parametrize(
    "program",
    ["torch.ones(x.shape[0], 2)", "torch.arange(4)[: x.shape[0]]", "torch.tensor([x.shape[0]])", "1 in x", "'%d' % x"],
)
def test_exploring_tells_what_a_plain_trace_tells(program: str) -> None:
    function = define(f"def f(x):\n    return {program}\n")
    with pytest.raises(TraceFailure) as plain:
        fxcore.symbolic_trace(function)
    found = explore(function).sites[0].failure
    assert (found.kind, found.operation, found.callee) == (plain.value.kind, plain.value.operation, plain.value.callee)


def test_examples_lead_the_real_way() -> None:
    found = explore(Everything(), examples={"x": torch.ones(2, 3, 8, 8), "flag": True})
    assert ("h > 3", "it is true") in seen(found)
    assert all(site.certain and site.after is None for site in found.sites)


def test_the_first_is_where_a_plain_trace_ends() -> None:
    for name in zoo.UNTRACEABLE:
        module = zoo.build(name)
        with pytest.raises(TraceFailure) as failure:
            fxcore.symbolic_trace(module)
        first = explore(module).sites[0].failure
        assert (first.kind, first.frames) == (failure.value.kind, failure.value.frames)


def test_a_program_that_traces_has_no_sites_and_the_same_graph() -> None:
    module = zoo.build("resnet50")
    found = explore(module)
    assert not found.sites
    assert str(found.graph) == str(fxcore.symbolic_trace(module).graph)


class Endless(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while not (x.sum() > 0):
            x = x + 1
        while True:
            if x.max() > 5:
                x = x * 2


def test_a_root_of_torchs_own_is_told_by_its_signature() -> None:
    root = nn.TransformerEncoderLayer(8, 2, batch_first=True)
    with pytest.raises(TraceFailure) as plain:
        fxcore.Tracer().trace(root)
    (first, *_) = explore(root).sites
    assert first.failure.span == plain.value.span


def test_files_of_the_same_text_are_two() -> None:
    first, second = (define("def f(x):\n    return len(x)\n") for _ in range(2))
    files = {site.failure.span.file for site in explore(lambda x: first(x) + second(x)).sites if site.failure.span}
    assert files == {first.__code__.co_filename, second.__code__.co_filename}


def test_loops_without_end_are_left() -> None:
    found = explore(Endless())
    assert [text(site.failure) for site in found.sites] == ["x.sum() > 0", "x.max() > 5"]
    assert found.graph is None


class Inner(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.ndim != 4:
            raise ValueError(f"four dimensions, not {x.ndim}")
        return {x.dtype: x}["missing"]  # type: ignore[index]


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: torch.Tensor) -> int:
        return len(self.inner(x))


def test_an_error_costs_the_innermost_module_alone() -> None:
    found = explore(Outer())
    assert [(site.failure.kind, site.assumption) for site in found.sites] == [
        (FailureKind.CONTROL_FLOW, "it is false"),
        (FailureKind.EXCEPTION, "Inner is recorded as one call"),
        (FailureKind.LEN, "it is 2"),
    ]
    assert found.sites[1].after is found.sites[0]
    assert found.sites[2].after is found.sites[1]  # in a real run the error may end it


def test_a_call_that_is_recorded_surely_lets_a_real_run_go_on() -> None:
    source = """
        def f(x):
            made = torch.zeros(x.shape[0], 2)
            size = len(x)
            return made, size, x.sum() > 0 or 2
    """
    found = explore(define(source))
    assert [(site.certain, site.after) for site in found.sites] == [
        (True, None),
        (False, None),
        (False, found.sites[1]),
    ]


def test_an_assertion_about_a_type_is_passed_and_recorded_ones_keep_their_name() -> None:
    source = """
        def f(x, flag):
            torch._assert(isinstance(x, torch.Tensor), "a tensor")
            torch._assert(x.sum() > 0, "positive")
            return len(x) if flag else x
    """
    found = explore(define(source), {"flag": True})
    assert [site.assumption for site in found.sites] == ["it holds", "it is 2"]
    assert found.graph is not None
    assert [node.target for node in found.graph.nodes].count(torch._assert) == 2  # one of them for the flag


def test_as_many_items_as_chunks_were_asked_for() -> None:
    found = explore(define("def f(x):\n    q, k, v = map(torch.relu, x.chunk(3, dim=-1))\n    return q + k + v\n"))
    assert [site.assumption for site in found.sites] == ["it has 3 items"]


class TakesAnything(nn.Module):
    def forward(self, x: torch.Tensor, things: object) -> torch.Tensor:
        raise LookupError(things)


def test_arguments_and_results_that_no_graph_holds_are_each_found_at_their_place() -> None:
    source = """
    class Cache:
        pass

    def f(x):
        y = x.type(Cache)
        return y + 1, Cache()
    """
    found = explore(define(source))
    assert [site.failure.kind for site in found.sites] == [FailureKind.ARGUMENT] * 2
    assert [text(site.failure) for site in found.sites] == ["x.type(Cache)", "return y + 1, Cache()"]
    assert not found.complete


def test_a_call_whose_arguments_no_graph_holds_is_recorded_without() -> None:
    class Caller(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = TakesAnything()

        def forward(self, x: torch.Tensor) -> int:
            return len(self.inner(x, object()))

    found = explore(Caller())
    assert [site.failure.kind for site in found.sites] == [FailureKind.EXCEPTION, FailureKind.LEN]


def test_a_failed_call_keeps_arguments_that_no_graph_holds() -> None:
    def forward(x: torch.Tensor) -> int:
        made = torch.zeros(x.shape[0], dtype=int)  # type: ignore[call-overload]
        return len(made)

    found = explore(forward, examples={"x": torch.ones(3)})
    assert [site.assumption for site in found.sites] == ["it is recorded", "it is 3"]


def test_each_call_of_a_library_that_refuses_traced_values_is_a_site() -> None:
    program = define(
        """
        import torch
        from textwrap import dedent

        class Net(torch.nn.Module):
            def forward(self, x):
                y = dedent(x) + 1
                return dedent(y)
        """,
        "Net",
    )()
    sites = explore(program).sites
    assert [site.failure.callee for site in sites] == ["textwrap.dedent"] * 2
    assert {site.failure.kind for site in sites} == {FailureKind.FOREIGN_CALL}


def test_an_error_of_a_library_that_is_not_about_traced_values_may_come_from_an_assumption() -> None:
    program = define(
        """
        import torch
        from statistics import quantiles

        class Net(torch.nn.Module):
            def forward(self, x):
                return quantiles(x, n=0)
        """,
        "Net",
    )()
    (site,) = explore(program).sites
    assert site.failure.kind is FailureKind.EXCEPTION


def test_the_keys_of_mappings_are_themselves_and_their_values_traced() -> None:
    def forward(features: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        kept = []
        for name in features:
            if name.startswith("a"):
                kept.append(features[name])
        for name, value in features.items():
            if name == "b":
                kept.append(value + 1)
        for name in list(features.keys()):
            if name != "a":
                kept.append(features[name])
        return kept

    found = explore(forward, examples={"features": {"a": torch.ones(1), "b": torch.ones(2)}})
    assert [text(site.failure) for site in found.sites] == [
        "features",
        "features.items()",
        "list(features.keys())",
    ]
    assert found.graph is not None
    assert [node.args[1] for node in found.graph.nodes if node.target is operator.getitem] == ["a", "a", "b", "b"]


def test_the_cause_leads_from_the_input_to_the_place() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        size = y.shape[0]
        return y if size > 3 else -y

    (site,) = explore(forward).sites
    lines = [linecache.getline(frame.span.file, frame.span.line).strip() for frame in site.cause]
    assert lines == ["y = x + 1", "size = y.shape[0]", "return y if size > 3 else -y"]


def test_own_tracers_steer_and_stay_as_they_are() -> None:
    class KeepsInner(fxcore.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return isinstance(m, Inner)

        def to_bool(self, obj: fxcore.Proxy) -> bool:
            return True

    tracer = KeepsInner()
    found = explore(Outer(), tracer=tracer)
    assert [text(site.failure) for site in found.sites] == ["len(self.inner(x))"]
    assert type(tracer) is KeepsInner
    assert not hasattr(tracer, "graph")


def test_nothing_of_a_program_outlives_its_exploration() -> None:
    class Checked(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            torch._assert(x.dim() == 4, "images")  # type: ignore[no-untyped-call]
            return x.view(x.size(0), -1)[: len(x)]

    root = Checked()
    alive = weakref.ref(root)
    explore(root, examples={"x": torch.ones(1, 2, 3, 4)})
    explore(root)
    del root
    gc.collect()
    assert alive() is None


def test_what_runs_within_an_exploration_is_explored_apart() -> None:
    inner: list[str] = []

    def within(x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(x.size(0), 2)

    def around(x: torch.Tensor) -> torch.Tensor:
        inner.extend(site.assumption for site in explore(within).sites)
        return torch.ones(x.size(1), 2)

    assert [site.failure.frames[-1].name.rpartition(".")[2] for site in explore(around).sites] == ["around"]
    assert inner == ["it is recorded"]


HANDLED = {
    "a condition": ("y = x if x.sum() > 0 else -x", "ValueError"),
    "a size": ("y = torch.zeros(x.shape[0], 4)", "(KeyError, TypeError)"),
    "an old constructor": ("y = torch.Tensor(x.shape[0], 4)", "Exception"),
    "a length": ("y = x[: len(x)]", "RuntimeError"),
    "a module": ("y = self.part(x)", "ValueError"),
}


def _program(statement: str, error: str, handler: str) -> nn.Module:
    source = f"""
class Part(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x

class Whole(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x):
        y = x
        try:
            {statement}
        except {error}:
            {handler}
        return y if x.max() > 0 else x
"""
    whole: nn.Module = define(source, "Whole")()
    return whole


@pytest.mark.parametrize(("statement", "error"), HANDLED.values(), ids=HANDLED)
def test_what_the_program_handles_is_no_failure(statement: str, error: str) -> None:
    found = explore(_program(statement, error, "y = -x"))
    assert found.complete
    assert seen(found) == [("x.max() > 0", "it is false")]


@pytest.mark.parametrize(("error", "handler"), [("KeyError", "y = -x"), ("ValueError", "raise")])
def test_what_the_program_does_not_handle_is_a_failure(error: str, handler: str) -> None:
    found = explore(_program(HANDLED["a condition"][0], error, handler))
    assert found.complete
    assert len(found.sites) == 2
