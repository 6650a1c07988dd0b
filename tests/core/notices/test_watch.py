"""Where a trace goes wrong in silence."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import pytest
import torch
import torch.fx
from torch import nn

import fxcore
from fxcore.failures import TraceFailure
from fxcore.notices import Notice, NoticeKind
from fxcore.notices.watch import noticing
from fxcore.tracing.patching import _replacements
from tests import zoo
from tests.core.notices.noticed import NOTED, SILENT
from tests.core.snippets import define, stands_at, text_of, unmarked


def program(source: str) -> Any:
    """The function ``f``, or a ``Net``, of a source."""
    return define(source, "Net")() if "class Net" in source else define(source)


def traced(root: Any, concrete_args: dict[str, Any] | None = None) -> tuple[fxcore.Graph, tuple[Notice, ...]]:
    with noticing() as watch:
        graph = fxcore.Tracer().trace(root, concrete_args)
    return graph, watch.notices(root, graph)


def notices_of(root: Any) -> tuple[Notice, ...]:
    _, notices = traced(root)
    return notices


@pytest.mark.filterwarnings("ignore")  # checkpoint's own about gradients
@pytest.mark.parametrize(("kind", "source"), [(kind, source) for kind in NOTED for source in NOTED[kind]])
def test_a_notice_is_given_at_the_marked_place(kind: NoticeKind, source: str) -> None:
    found = [notice.span for notice in notices_of(program(unmarked(source))) if notice.kind == kind]
    assert any(stands_at(span, source) for span in found), found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "source"), [(kind, source) for kind in SILENT for source in SILENT[kind]])
def test_a_harmless_program_gives_no_notice_of_the_kind(kind: NoticeKind, source: str) -> None:
    assert kind not in [notice.kind for notice in notices_of(program(source))]


def test_every_kind_has_three_programs_of_either_sort() -> None:
    assert all(len(programs[kind]) >= 3 for programs in (NOTED, SILENT) for kind in NoticeKind)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", [unmarked(source) for kind in NOTED for source in NOTED[kind]])
def test_graphs_are_those_of_any_other_trace(source: str) -> None:
    torch.manual_seed(0)
    plain = fxcore.Tracer().trace(program(source))
    torch.manual_seed(0)
    with noticing():
        watched = fxcore.Tracer().trace(program(source))
    assert str(watched) == str(plain)
    assert str(watched.constants) == str(plain.constants)


def test_failures_are_those_of_any_other_trace() -> None:
    f = program("def f(x): return x if isinstance(x, torch.Tensor) or x.sum() > 0 else -x")
    with pytest.raises(TraceFailure) as plain:
        fxcore.Tracer().trace(f)
    with noticing(), pytest.raises(TraceFailure) as watched:
        fxcore.Tracer().trace(f)
    assert type(watched.value) is type(plain.value)
    assert str(watched.value) == str(plain.value)


def test_nothing_stays_replaced() -> None:
    before = dict(vars(fxcore.Proxy))
    with noticing():
        assert vars(fxcore.Proxy)["__getattr__"] is not before["__getattr__"]
    assert dict(vars(fxcore.Proxy)) == before
    assert not _replacements


@pytest.mark.parametrize("source", NOTED[NoticeKind.LOST_WRITE] + NOTED[NoticeKind.SWALLOWED_FAILURE])
def test_these_really_compute_something_else(source: str) -> None:
    x = torch.tensor([[1.0, -2.0], [3.0, -4.0]])
    function: Callable[..., Any] = program(unmarked(source))
    graph_module = fxcore.symbolic_trace(function)
    graph_module.graph.eliminate_dead_code()
    graph_module.recompile()
    assert str(graph_module(x.clone())) != str(function(x.clone()))


class Blocks(nn.Module):
    """Calls one function at two places."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return scaled(scaled(x) + 1)


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if torch.is_tensor(x) else x


def test_a_place_is_noted_once_however_often_it_is_run() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        names = [str(x.shape) for _ in range(100)]
        return x * len(names)

    assert [notice.kind for notice in notices_of(f)] == [NoticeKind.TEXT]


def test_a_place_is_noted_once_with_the_way_there() -> None:
    (notice,) = notices_of(Blocks())
    assert [frame.name for frame in notice.frames] == ["Blocks.forward", "scaled"]
    assert text_of(notice.frames[0].span) == "scaled(x)"


@pytest.mark.parametrize("name", zoo.CLASSIFIERS)
def test_models_that_trace_well_have_no_notice_but_the_mode(name: str) -> None:
    kinds = {notice.kind for notice in notices_of(zoo.build(name))}
    assert kinds <= {NoticeKind.TRAINING_FLAG, NoticeKind.FROZEN_CONSTANT}


class HasMask(Protocol):
    """What `isinstance` may be asked for, and `issubclass` may not."""

    mask: torch.Tensor


@pytest.mark.filterwarnings("ignore:the graph is specialized")
def targets(graph: Any) -> list[Any]:
    return [node.target for node in graph.nodes]


def test_questions_that_cannot_be_understood_are_left_alone() -> None:
    f = define("def f(x, protocol): return -x if isinstance(x, protocol) else x")
    concrete_args = {"protocol": runtime_checkable(HasMask)}
    graph, notices = traced(f, concrete_args)
    theirs = torch.fx.Tracer().trace(f, concrete_args)  # Python 3.12 answers otherwise than earlier ones
    assert (operator.neg in targets(graph)) == (operator.neg in targets(theirs))
    assert NoticeKind.TYPE_CHECK not in [notice.kind for notice in notices]


def test_long_sums_are_not_looked_through() -> None:
    def doubled(x: torch.Tensor) -> torch.Tensor:
        for _ in range(5000):
            x = x + x
        return x.reshape(-1) if isinstance(x, torch.Tensor) else x

    _, notices = traced(doubled)
    assert [notice.kind for notice in notices] == [NoticeKind.TYPE_CHECK]
