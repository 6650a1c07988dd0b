"""reinplace against torch.fx: the same code, and the results of the functional graph."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.passes.reinplace as theirs
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.fx.experimental.proxy_tensor import make_fx

import fxcore.passes.reinplace as ours
from fxcore._symbolic_trace import symbolic_trace
from fxcore.interop import from_torch
from fxcore.passes.reinplace import inplace_variant
from tests.core.code_text import code_of


def basic(x: torch.Tensor) -> Any:
    return x.clone().add_(1)


def views(x: torch.Tensor) -> Any:
    a = x.clone()
    b = a.view(-1)
    b.add_(1)
    return a.mul(2) + b.view(2, 2)


def used_later(x: torch.Tensor) -> Any:
    a = x.clone()
    b = a + 1
    return a + b


def view_used_later(x: torch.Tensor) -> Any:
    a = x.clone()
    b = a.view(-1)
    c = a + 1
    return c, b


def different_metadata(x: torch.Tensor) -> Any:
    a = x.clone()
    return (a + 1).ge(a)


def overlap(x: torch.Tensor) -> Any:
    return torch.ones(1).expand(2, 2) + x.sum()


def scatter(x: torch.Tensor) -> Any:
    a = x.clone()
    a[0] = torch.ones(2)
    return a


def scatter_of_a_changed_view(x: torch.Tensor) -> Any:
    a = x.clone()
    a[:, 1].add_(1)
    a.diagonal().mul_(3)
    return a


def scatter_twice_deep(x: torch.Tensor) -> Any:
    a = x.clone()
    b = a[0]
    c = b[1]
    c.add_(1)
    return a


def scatter_into_another(x: torch.Tensor) -> Any:
    a, b = x.clone(), x.clone()
    part = a[0]
    part.add_(1)
    b[1].copy_(part)
    return a, b


def several_views(x: torch.Tensor) -> Any:
    a = x.clone()
    first, second = torch.split(a, 1)
    first.add_(1)
    return second + a


def same_operand_twice(x: torch.Tensor) -> Any:
    a = x.clone()
    return a.mul(a)


def scalar_first(x: torch.Tensor) -> Any:
    a = x.sum()
    return a + x


def written_input(x: torch.Tensor) -> Any:
    x.add_(1)
    return x.view(-1)


def chain(x: torch.Tensor) -> Any:
    a = x.sin()
    for _ in range(4):
        a = (a * 2).relu().exp() - 1
    return a


def transposed(x: torch.Tensor) -> Any:
    a = x.sin()
    return a.transpose(0, 1) + a


CASES: list[Callable[..., Any]] = [
    basic,
    views,
    used_later,
    view_used_later,
    different_metadata,
    overlap,
    scatter,
    scatter_of_a_changed_view,
    scatter_twice_deep,
    scatter_into_another,
    several_views,
    same_operand_twice,
    scalar_first,
    written_input,
    chain,
]


def functional(function: Callable[..., Any], *inputs: Any, remove: str = "mutations") -> torch.fx.GraphModule:
    module = make_fx(torch.func.functionalize(function, remove=remove))(*inputs)
    assert isinstance(module, torch.fx.GraphModule)
    return module


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_reinplacing(function: Callable[..., Any], remove: str) -> None:
    x = torch.rand(2, 2)
    module = functional(function, x.clone(), remove=remove)
    mine = ours.reinplace(from_torch(module), x)
    assert code_of(mine) == code_of(theirs.reinplace(module, x))
    given = x.clone()
    torch.testing.assert_close(mine(given), function(x.clone()))


def test_something_is_written_in_place() -> None:
    x = torch.rand(2, 2)
    codes = [ours.reinplace(from_torch(functional(case, x)), x).code for case in CASES]
    assert sum("_.Tensor(" in code or "_.default(" in code for code in codes) >= 8
    assert "copy_" in codes[CASES.index(scatter)]
    assert "scatter" not in codes[CASES.index(scatter)]


def test_operand_that_is_read_another_way() -> None:
    x = torch.rand(2, 2)
    module = functional(transposed, x)
    torch.testing.assert_close(ours.reinplace(from_torch(module), x)(x), transposed(x))
    with pytest.raises(RuntimeError, match="single memory location"):
        theirs.reinplace(module, x)(x)


def test_inputs_that_share_memory() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        return x.view(-1) + 1, y.sin().cos()

    x = torch.rand(2, 2)
    module = functional(function, x, x[0])
    mine = ours.reinplace(from_torch(module), x, x[0])
    assert code_of(mine) == code_of(theirs.reinplace(module, x, x[0]))
    assert "cos_" in mine.code
    assert "add_" not in mine.code


def test_traced_operators() -> None:
    def function(x: torch.Tensor) -> Any:
        a = torch.ops.aten.sin.default(x)
        return torch.ops.aten.mul.Tensor(a, 2)

    x = torch.rand(3)
    mine = ours.reinplace(symbolic_trace(function), x)
    assert code_of(mine) == code_of(theirs.reinplace(torch.fx.symbolic_trace(function), x))
    assert "mul_" in mine.code
    torch.testing.assert_close(mine(x), function(x))


def test_in_place_variants_are_those_of_torch_fx() -> None:
    for module_op in [
        torch.ops.aten.add.Tensor,
        torch.ops.aten.pow.Scalar,
        torch.ops.aten.relu.default,
        torch.ops.aten.view.default,
        torch.ops.aten.as_strided.default,
        torch.ops.aten.cat.default,
        torch.ops.aten.clamp.Tensor,
    ]:
        assert inplace_variant(module_op) is theirs._maybe_get_inplace_op(module_op)


aten = torch.ops.aten
OPERATIONS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: (aten.sin.default, (a,)),
    lambda a, b: (aten.add.Tensor, (a, b)),
    lambda a, b: (aten.mul.Tensor, (a, 2)),
    lambda a, b: (aten.view.default, (a, [4, 4])),
    lambda a, b: (aten.transpose.int, (a, 0, 1)),
    lambda a, b: (aten.slice.Tensor, (a, 0, 0, 4)),
    lambda a, b: (aten.slice_scatter.default, (a, b, 0, 0, 4)),
    lambda a, b: (aten.clone.default, (a,)),
    lambda a, b: (aten.expand.default, (a, [4, 4])),
]


def built(program: list[tuple[int, int, int]]) -> torch.fx.GraphModule:
    """A functional graph: each step is an operation and how far back its operands are among the values so far."""
    graph = torch.fx.Graph()
    values = [graph.placeholder("x")]
    values.append(graph.call_function(aten.clone.default, (values[0],)))
    for operation, first, second in program:
        target, args = OPERATIONS[operation](values[-1 - first % len(values)], values[-1 - second % len(values)])
        values.append(graph.call_function(target, args))
    graph.output((values[-1], values[len(values) // 2]))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def outcome(module: Any, x: torch.Tensor) -> Any:
    try:
        return [value.clone() for value in module(x.clone())]
    except RuntimeError:
        return None


def equal(left: Any, right: Any) -> bool:
    return left is not None and all(map(torch.allclose, left, right))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, len(OPERATIONS) - 1), st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=10
    )
)
def test_random_programs(program: list[tuple[int, int, int]]) -> None:
    x = torch.arange(16.0).reshape(4, 4) / 8
    expected = outcome(built(program), x)
    if expected is None:  # a view that this tensor's strides don't allow
        return
    mine = ours.reinplace(from_torch(built(program)), x)
    assert equal(outcome(mine, x), expected), mine.code
