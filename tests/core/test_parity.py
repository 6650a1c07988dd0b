"""Models traced by fxcore and by the installed torch.fx: the same graphs, outputs, failures. `sweep` has them all."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.fx

import fxcore
from fxcore.failures import TraceFailure
from fxcore.source import span_at
from tests import zoo
from tests.core.oracle import assert_same_graph, assert_same_values
from tests.core.sweep.cases import Case, build_timm
from tests.core.sweep.comparison import check, users_innermost
from tests.core.sweep.transformers_cases import cases_of, main_input

MODES = pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])


def attributes(module: torch.nn.Module) -> dict[str, dict[str, Any]]:
    """Every submodule's attributes by name; tensors and modules by identity."""
    return {
        path: {name: _comparable(value) for name, value in vars(submodule).items()}
        for path, submodule in module.named_modules()
    }


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    return id(value) if isinstance(value, torch.Tensor | torch.nn.Module) else repr(value)


def scopes(graph: Any) -> list[Any]:
    return [node.meta.get("nn_module_stack") for node in graph.nodes]


@MODES
@pytest.mark.parametrize("name", zoo.CLASSIFIERS)
def test_classifier(name: str, training: bool) -> None:
    module = zoo.build(name, training=training)
    before = attributes(module)
    ours = fxcore.symbolic_trace(module)
    assert attributes(module) == before
    theirs = torch.fx.symbolic_trace(module)
    assert_same_graph(ours, theirs)
    assert scopes(ours.graph) == scopes(theirs.graph)
    if not training:
        inputs = zoo.example_input(name)
        with torch.no_grad():
            assert_same_values(ours(inputs), theirs(inputs))


@MODES
@pytest.mark.parametrize("name", zoo.UNTRACEABLE)
def test_failure(name: str, training: bool) -> None:
    module = zoo.build(name, training=training)
    before = attributes(module)
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (whatever torch.fx raises is right)
        torch.fx.symbolic_trace(module)
    with pytest.raises(TraceFailure) as ours:
        fxcore.symbolic_trace(module)
    assert attributes(module) == before
    assert type(theirs.value).__mro__[1] in type(ours.value).__mro__
    span, expected = ours.value.span, users_innermost(theirs.tb)
    assert span is not None
    assert expected is not None
    assert (span.file, span.line) == (expected.tb_frame.f_code.co_filename, expected.tb_lineno)
    assert span == span_at(expected.tb_frame.f_code, expected.tb_lasti)


def test_the_spans_are_the_failing_expressions() -> None:
    texts = {}
    for name in zoo.UNTRACEABLE:
        with pytest.raises(TraceFailure) as failure:
            fxcore.symbolic_trace(zoo.build(name))
        span = failure.value.span
        assert span is not None
        line = Path(span.file).read_text(encoding="utf-8").splitlines()[span.line - 1]
        texts[name] = line[span.col : span.end_col]
    assert texts == {"fasterrcnn_resnet50_fpn": "images", "raft_small": "(h, w) != image2.shape[-2:]"}


@pytest.mark.parametrize(
    ("name", "outcome"), [("resnet18", "traced"), ("mobilenetv3_small_050", "traced"), ("vgg11", "failed")]
)
def test_timm(name: str, outcome: str) -> None:
    pytest.importorskip("timm")
    for training in (False, True):
        case = Case("timm", "", name, functools.partial(build_timm, name, training=training), runs=not training)
        result = check(case)
        assert (result.outcome, result.ran) == (outcome, case.runs and outcome == "traced"), result.detail


@pytest.mark.parametrize(
    ("name", "outcomes"),
    [
        ("PoolFormerModel", ["traced", "traced"]),
        ("TextNetBackbone", ["traced"]),
        ("ResNetModel", ["failed", "failed"]),
        ("BertModel", ["failed"]),
    ],
)
def test_transformer(name: str, outcomes: list[str]) -> None:
    model_class = getattr(pytest.importorskip("transformers"), name)
    main = main_input(model_class)
    assert main is not None
    results = [check(case) for case in cases_of(model_class, main)]
    assert [result.outcome for result in results] == outcomes, results
    assert all(result.ran == (result.outcome == "traced") for result in results)
