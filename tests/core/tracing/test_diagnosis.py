"""What a failure tells of its circumstances: what it hangs on, what was being done, who refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.fx

import fxcore
from fxcore.failures import FailureKind, TraceFailure
from tests.core.snippets import define


def failure_of(body: str, header: str = "def f(x):") -> TraceFailure:
    with pytest.raises(TraceFailure) as caught:
        fxcore.symbolic_trace(define(f"{header}\n    {body}\n"))
    return caught.value


@pytest.mark.parametrize(
    ("subject", "condition"),
    [
        ("shape", "x.shape[0] > 1"),
        ("shape", "x.ndim == 4"),
        ("shape", "x.size(-1) % 2 != 0"),
        ("shape", "x.dim()"),
        ("shape", "torch.numel(x) == 0"),
        ("shape", "math.ceil(x.shape[0] / 2) - 1"),
        ("shape", "torch.sym_max(x.shape[0], 2) > 3"),
        ("shape", "x.shape[2:].numel()"),
        ("dtype", "x.dtype == torch.float32"),
        ("dtype", "x.is_floating_point()"),
        ("device", "x.device.type == 'cuda'"),
        ("device", "x.is_cuda"),
        ("attribute", "x.requires_grad"),
        ("values", "x.sum() > 0"),
        ("values", "x.any()"),
        ("values", "x.sum() > x.shape[0]"),
        ("values", "torch.nn.functional.relu(x).max().item() < 1"),
        ("values", "x"),
        ("argument", "x == 'same'"),
        ("argument", "x != True"),
    ],
)
def test_a_failure_names_what_was_asked_about_the_value(subject: str, condition: str) -> None:
    assert failure_of(f"return 1 if {condition} else 2").subject == subject


@pytest.mark.parametrize(
    "header",
    ["def f(x=None):", "def f(x: bool):", "def f(x: 'bool'):", "def f(x=True):", "def f(x: list[torch.Tensor]):"],
)
def test_an_input_is_an_option_by_its_default_or_annotation(header: str) -> None:
    assert failure_of("return 1 if x else 2", header).subject == "argument"


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("if", "if x: return 1"),
        ("if", "return [1 for _ in 'a' if x]"),
        ("guard", "if x: raise ValueError"),
        ("guard", "if x.f(): raise ValueError('no', 1)"),
        ("while", "while x + 1: pass"),
        ("assert", "assert x.any(), 'no'"),
        ("conditional", "return 1 if x[0] else 2"),
        ("and", "return x and 1"),
        ("or", "return x == 1 or 2"),
        ("not", "return not x.any()"),
        ("comparison", "return 0 < x < 2"),
        ("comparison", "if 0 < x < 2: return 1"),
        ("in", "return x.dtype in [1, 2]"),
        ("in", "if x.dtype not in [1, 2]: return 1"),
        ("max", "return max(x, 0)"),
        ("max", "if max(x, 0): return 1"),
        ("sorted", "return sorted([x, x])"),
        ("for", "for i in x: pass"),
        ("comprehension", "return [i for i in x.shape]"),
        ("star", "return (*x.shape, 1)"),
        ("star", "return f(*x)"),
        ("star", "return f(1, *x)"),
        ("double-star", "return f(**x)"),
        ("unpacking", "a, *b = x"),
        ("zip", "return zip(x, x)"),
        ("range", "for i in range(x): pass"),
        ("slice", "return [1, 2][:x]"),
        ("slice", "return torch.zeros(2, 2)[:, :x]"),
        ("index", "return [1, 2][x]"),
        ("format", "return f'{x:3d}'"),
        ("operator", "return '%d' % x"),
        ("len", "return len(x)"),
    ],
)
def test_a_failure_names_the_operation(operation: str, body: str) -> None:
    assert failure_of(body).operation == operation


@pytest.mark.parametrize(
    ("callee", "body"),
    [
        ("torch.ones", "return torch.ones(x.shape[0], 2)"),
        ("torch.ones", "ones = torch.ones; sizes = [x.shape[0], 2]; return ones(*sizes)"),
        ("torch.finfo", "return torch.finfo(x.dtype).min"),
        ("torch.vmap", "return torch.vmap(torch.sin)(x)"),
        ("numpy.sqrt", "import numpy as np; return np.sqrt(x)"),
        ("json.dumps", "import json; return json.dumps(x)"),
        ("einops.rearrange", "import einops; return einops.rearrange(x, 'a b -> b a')"),
        ("divmod", "return divmod(x, 2)"),
        ("''.join", "return ''.join(['a', x])"),
        ("torch.ones", "rows = [{'sizes': [x, 2]}]; return torch.ones(*rows[0]['sizes'])"),
        ("torch.ones", "sizes = iter([x, 2]); return torch.ones(*sizes)"),
        ("torch.ones", "f.sizes = [x, 2]; return torch.ones(*f.sizes)"),
    ],
)
def test_a_foreign_call_names_the_function_that_refused(callee: str, body: str) -> None:
    if callee.startswith("einops"):
        pytest.importorskip("einops")
    failure = failure_of(body)
    assert (failure.kind, failure.callee) == (FailureKind.FOREIGN_CALL, callee.removeprefix("''."))


def test_a_value_that_a_trace_by_torch_fx_left_behind_is_of_another_trace() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return x

    torch.fx.symbolic_trace(keep)
    with pytest.raises(TraceFailure) as caught:
        fxcore.symbolic_trace(lambda x: torch.add(kept[0], x))
    assert caught.value.kind is FailureKind.TWO_TRACERS


def test_a_library_s_own_error_without_a_traced_value_is_no_refusal() -> None:
    failure = failure_of("import json; json.loads('['); return x")
    assert (failure.kind, failure.callee) == (FailureKind.EXCEPTION, "")


@pytest.mark.parametrize("arguments", ["[]", "[x[i] for i in parts]", "parts, dim=1", "f.parts"])
def test_a_call_that_is_given_no_traced_value_does_not_refuse_one(arguments: str) -> None:
    failure = failure_of(f"parts = f.parts = []; return torch.cat({arguments})")
    assert failure.kind is FailureKind.EXCEPTION


def test_what_can_t_be_called_does_not_refuse_its_arguments() -> None:
    assert failure_of("layer = None; return layer(x)").kind is FailureKind.EXCEPTION
