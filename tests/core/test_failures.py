"""Every way a trace can fail: torch.fx's verdict and exception type, our kind, and the exact place."""

from __future__ import annotations

import sys

import pytest
import torch
import torch.fx

import fxcore
from fxcore.failures import FailureKind, TraceFailure
from tests.core.oracle import assert_same_failure, attempt
from tests.core.snippets import define, text_of
from tests.core.versions import COLUMNS

CASES: list[tuple[FailureKind, str, str]] = [
    # control flow
    (FailureKind.CONTROL_FLOW, "x.sum() > 0", "é = '😋'; y = 1 if x.sum() > 0 else 2; return x + y"),
    (FailureKind.CONTROL_FLOW, "x", "while x: pass"),
    (FailureKind.CONTROL_FLOW, "x.any()", "assert x.any(), 'no'"),
    (FailureKind.CONTROL_FLOW, "x", "return x and x"),
    (FailureKind.CONTROL_FLOW, "x", "return not x"),
    (FailureKind.CONTROL_FLOW, "x", "return x or 1"),
    (FailureKind.CONTROL_FLOW, "0 < x < 3", "return 0 < x < 3"),
    (FailureKind.CONTROL_FLOW, "bool(x)", "return bool(x)"),
    (FailureKind.CONTROL_FLOW, "max(x, 0)", "return max(x, 0)"),
    (FailureKind.CONTROL_FLOW, "min(1, x)", "return min(1, x)"),
    (FailureKind.CONTROL_FLOW, "sorted([x, x])", "return sorted([x, x])"),
    (FailureKind.CONTROL_FLOW, "any([x])", "return any([x])"),
    (FailureKind.CONTROL_FLOW, "all([x])", "return all([x])"),
    (FailureKind.CONTROL_FLOW, "x in [1, 2]", "return x in [1, 2]"),
    (FailureKind.CONTROL_FLOW, "(x, 1) == (x + 1, 1)", "return (x, 1) == (x + 1, 1)"),
    (FailureKind.CONTROL_FLOW, "x.shape[0] == 3", "if x.shape[0] == 3: return x"),
    # len
    (FailureKind.LEN, "len(x)", "return len(x)"),
    (FailureKind.LEN, "len(x.shape[1:])", "return x.view(len(x.shape[1:]))"),
    (FailureKind.LEN, "reversed(x)", "return reversed(x)"),
    # iteration
    (FailureKind.ITERATION, "x.shape", "return [i for i in x.shape]"),
    (FailureKind.ITERATION, "x", "for i in x: pass"),
    (FailureKind.ITERATION, "enumerate(x)", "for i, j in enumerate(x): pass"),
    (FailureKind.ITERATION, "zip(x, x)", "return zip(x, x)"),
    (FailureKind.ITERATION, "list(x)", "return list(x)"),
    (FailureKind.ITERATION, "sum(x)", "return sum(x)"),
    (FailureKind.ITERATION, "any(x)", "return any(x)"),
    (FailureKind.ITERATION, "iter(x)", "return iter(x)"),
    # conversion
    (FailureKind.CONVERSION, "int(x)", "return int(x)"),
    (FailureKind.CONVERSION, "float(x.item())", "return float(x.item())"),
    (FailureKind.CONVERSION, "complex(x)", "return complex(x)"),
    (FailureKind.CONVERSION, "round(x)", "return round(x)"),
    (FailureKind.CONVERSION, "round(x, 2)", "return round(x, 2)"),
    (FailureKind.CONVERSION, "range(x.size(0))", "for i in range(x.size(0)): pass"),
    (FailureKind.CONVERSION, "[1, 2][x]", "return [1, 2][x]"),
    (FailureKind.CONVERSION, "'abc'[x]", "return 'abc'[x]"),
    (FailureKind.CONVERSION, "[1, 2][:x]", "return [1, 2][:x]"),
    (FailureKind.CONVERSION, "torch.zeros(4)[: x.size(0)]", "return torch.zeros(4)[: x.size(0)]"),
    (FailureKind.CONVERSION, "{x:.2f}" if sys.version_info >= (3, 12) else "f'{x:.2f}'", "return f'{x:.2f}'"),
    (FailureKind.CONVERSION, "'{:d}'.format(x)", "return '{:d}'.format(x)"),
    (FailureKind.CONVERSION, "'%d' % x", "return '%d' % x"),
    (FailureKind.CONVERSION, "hex(x)", "return hex(x)"),
    # items, containment
    (FailureKind.ITEM_ASSIGNMENT, "x[0]", "x[0] = 1"),
    (FailureKind.ITEM_ASSIGNMENT, "x[0]", "x[0] += 1"),
    (FailureKind.ITEM_ASSIGNMENT, "x[0]", "del x[0]"),
    (FailureKind.CONTAINMENT, "1 in x", "return 1 in x"),
    (FailureKind.CONTAINMENT, "x not in x", "return x not in x"),
    # modules and parameters
    (FailureKind.NOT_A_SUBMODULE, "torch.nn.ReLU()(x)", "return torch.nn.ReLU()(x)"),
    (
        FailureKind.NOT_A_PARAMETER,
        "x + torch.nn.Parameter(torch.ones(1))",
        "return x + torch.nn.Parameter(torch.ones(1))",
    ),
    # arguments
    (FailureKind.ARGUMENT, "x.relu({1, 2})", "return x.relu({1, 2})"),
    (FailureKind.ARGUMENT, "x + b''", "return x + b''"),
    (FailureKind.ARGUMENT, "x.map(len)", "return x.map(len)"),
    (FailureKind.ARGUMENT, "x.to(type)", "return x.to(type)"),
    (FailureKind.ARGUMENT, "x.cat(i for i in [1])", "return x.cat(i for i in [1])"),
    (FailureKind.ARGUMENT, "return {1, 2}", "x + 1; return {1, 2}"),
    (FailureKind.DICT_KEY, "x.f({x: 1})", "return x.f({x: 1})"),
    (FailureKind.DICT_KEY, "x.f({(1, x): 1})", "return x.f({(1, x): 1})"),
    (FailureKind.DICT_KEY, "return {x: 1}", "return {x: 1}"),
    # other libraries
    (FailureKind.FOREIGN_CALL, "numpy.array(x)", "import numpy; return numpy.array(x)"),
    (FailureKind.FOREIGN_CALL, "numpy.sqrt(x)", "import numpy; return numpy.sqrt(x)"),
    (FailureKind.FOREIGN_CALL, "torch.tensor(x)", "return torch.tensor(x)"),
    (FailureKind.FOREIGN_CALL, "torch.zeros(x.size(0), 2)", "return torch.zeros(x.size(0), 2)"),
    (FailureKind.FOREIGN_CALL, "torch.finfo(x.dtype)", "return torch.finfo(x.dtype)"),
    (FailureKind.FOREIGN_CALL, "''.join(['a', x])", "return ''.join(['a', x])"),
    (FailureKind.FOREIGN_CALL, "isinstance(x, 3)", "return isinstance(x, 3)"),
    (FailureKind.FOREIGN_CALL, "next(x)", "return next(x)"),
    (FailureKind.FOREIGN_CALL, "torch.vmap(torch.sin)(x)", "return torch.vmap(torch.sin)(x)"),
    # operators with functions
    (
        FailureKind.HIGHER_ORDER,
        "torch.ops.higher_order.strict_mode(f, (x,))",
        "return torch.ops.higher_order.strict_mode(f, (x,))",
    ),
    # the program's own errors
    (FailureKind.EXCEPTION, "raise KeyError('k')", "raise KeyError('k')"),
    (FailureKind.EXCEPTION, "{}['k']", "return {}['k']"),
    (FailureKind.EXCEPTION, "nowhere", "return nowhere"),
    (FailureKind.EXCEPTION, "False" if sys.version_info >= (3, 13) else "assert False", "assert False"),
    (FailureKind.EXCEPTION, "1 / 0", "return x + 1 / 0"),
    (FailureKind.FOREIGN_CALL, "divmod(x, 2)", "return divmod(x, 2)"),
    (FailureKind.EXCEPTION, "f(x)", "return f(x)"),
]


@pytest.mark.parametrize(("kind", "place", "body"), CASES, ids=[body for _, _, body in CASES])
def test_kind_place_and_type(kind: FailureKind, place: str, body: str) -> None:
    function = define(f"def f(x):\n    {body}\n")
    theirs = attempt(lambda: torch.fx.symbolic_trace(function))
    ours = attempt(lambda: fxcore.symbolic_trace(function))
    assert_same_failure(ours, theirs)
    assert isinstance(ours, TraceFailure), ours
    assert ours.kind == kind
    if COLUMNS:
        assert text_of(ours.span) == place
    assert ours.frames[0].name == "f"
    assert ours.frames[-1].span == ours.span
