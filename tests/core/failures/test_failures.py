"""Every way a trace can fail: torch.fx's verdict and exception type, our kind, and the exact place."""

from __future__ import annotations

import sys

import pytest
import torch
import torch.fx

import fxcore
from fxcore.failures import FailureKind, TraceFailure
from tests.core.oracle import assert_same_failure, attempt
from tests.core.snippets import define, stands_at, unmarked

CASES: dict[FailureKind, list[str]] = {
    FailureKind.CONTROL_FLOW: [
        "é = '😋'; y = 1 if «x.sum() > 0» else 2; return x + y",
        "while «x»: pass",
        "assert «x.any()», 'no'",
        "return «x» and x",
        "return not «x»",
        "return «x» or 1",
        "return «0 < x < 3»",
        "return «bool(x)»",
        "return «max(x, 0)»",
        "return «min(1, x)»",
        "return «sorted([x, x])»",
        "return «any([x])»",
        "return «all([x])»",
        "return «x in [1, 2]»",
        "return «(x, 1) == (x + 1, 1)»",
        "if «x.shape[0] == 3»: return x",
    ],
    FailureKind.LEN: [
        "return «len(x)»",
        "return x.view(«len(x.shape[1:])»)",
        "return «reversed(x)»",
    ],
    FailureKind.ITERATION: [
        "return [i for i in «x.shape»]",
        "for i in «x»: pass",
        "for i, j in «enumerate(x)»: pass",
        "return «zip(x, x)»",
        "return «list(x)»",
        "return «sum(x)»",
        "return «any(x)»",
        "return «iter(x)»",
    ],
    FailureKind.CONVERSION: [
        "return «int(x)»",
        "return «float(x.item())»",
        "return «complex(x)»",
        "return «round(x)»",
        "return «round(x, 2)»",
        "for i in «range(x.size(0))»: pass",
        "return «[1, 2][x]»",
        "return «'abc'[x]»",
        "return «[1, 2][:x]»",
        "return «torch.zeros(4)[: x.size(0)]»",
        "return f'«{x:.2f}»'" if sys.version_info >= (3, 12) else "return «f'{x:.2f}'»",
        "return «'{:d}'.format(x)»",
        "return «'%d' % x»",
        "return «hex(x)»",
    ],
    FailureKind.ITEM_ASSIGNMENT: [
        "«x[0]» = 1",
        "«x[0]» += 1",
        "del «x[0]»",
    ],
    FailureKind.CONTAINMENT: [
        "return «1 in x»",
        "return «x not in x»",
    ],
    FailureKind.NOT_A_SUBMODULE: [
        "return «torch.nn.ReLU()(x)»",
    ],
    FailureKind.NOT_A_PARAMETER: [
        "return «x + torch.nn.Parameter(torch.ones(1))»",
    ],
    FailureKind.ARGUMENT: [
        "return «x.relu({1, 2})»",
        "return «x + b''»",
        "return «x.map(len)»",
        "return «x.to(type)»",
        "return «x.cat(i for i in [1])»",
        "x + 1; «return {1, 2}»",
    ],
    FailureKind.DICT_KEY: [
        "return «x.f({x: 1})»",
        "return «x.f({(1, x): 1})»",
        "«return {x: 1}»",
    ],
    FailureKind.FOREIGN_CALL: [
        "import numpy; return «numpy.array(x)»",
        "import numpy; return «numpy.sqrt(x)»",
        "return «torch.tensor(x)»",
        "return «torch.zeros(x.size(0), 2)»",
        "return «torch.finfo(x.dtype)»",
        "return «''.join(['a', x])»",
        "return «isinstance(x, 3)»",
        "return «next(x)»",
        "return «torch.vmap(torch.sin)(x)»",
        "return «divmod(x, 2)»",
    ],
    FailureKind.HIGHER_ORDER: [
        "return «torch.ops.higher_order.strict_mode(f, (x,))»",
    ],
    FailureKind.EXCEPTION: [
        "«raise KeyError('k')»",
        "return «{}['k']»",
        "return «nowhere»",
        "assert «False»" if sys.version_info >= (3, 12) else "«assert False»",
        "return x + «1 / 0»",
        "return «f(x)»",
    ],
}
"""For each kind bodies of functions of ``x``; what fails stands in « »."""


@pytest.mark.parametrize(
    ("kind", "body"), [pytest.param(kind, body, id=unmarked(body)) for kind in CASES for body in CASES[kind]]
)
def test_kind_place_and_type(kind: FailureKind, body: str) -> None:
    source = f"def f(x):\n    {body}\n"
    function = define(unmarked(source))
    theirs = attempt(lambda: torch.fx.symbolic_trace(function))
    ours = attempt(lambda: fxcore.symbolic_trace(function))
    assert_same_failure(ours, theirs)
    assert isinstance(ours, TraceFailure), ours
    assert ours.kind == kind
    assert stands_at(ours.span, source)
    assert ours.frames[0].name == "f"
    assert ours.frames[-1].span == ours.span
