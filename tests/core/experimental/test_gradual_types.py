"""tensor_type, unification, graph_gradual_typechecker and unify_refinements against torch.fx: the same types."""

import itertools
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.experimental.graph_gradual_typechecker as their_checker
import torch.fx.experimental.unification as their_unification
import torch.fx.experimental.unify_refinements as their_refinements
import torch.fx.tensor_type as theirs
from torch import nn

import fxcore.experimental.graph_gradual_typechecker as our_checker
import fxcore.experimental.unification as our_unification
import fxcore.experimental.unify_refinements as our_refinements
import fxcore.tensor_type as ours
from fxcore._symbolic_trace import symbolic_trace
from fxcore.experimental.refinement_types import Equality
from tests.zoo import torchvision

BOTH: list[tuple[Any, Any, Any, Any]] = [
    (symbolic_trace, ours, our_checker, our_refinements),
    (torch.fx.symbolic_trace, theirs, their_checker, their_refinements),
]
DYN = "Dyn"


def tensor_type(module: Any, dims: Any) -> Any:
    """The type that ``dims``, with DYN for what isn't known, describes in one of the two modules."""
    if dims == DYN:
        return module.Dyn
    if not isinstance(dims, tuple):
        return dims
    return module.TensorType(tuple(module.Dyn if dim == DYN else dim for dim in dims))


TYPES: list[Any] = [DYN, (1, 2), (1, DYN), (DYN, 2), (3, 2), (1, 2, 3), (DYN,), (), int, float]


def test_consistency_and_precision_are_those_of_torch_fx() -> None:
    for left, right in itertools.product(TYPES, repeat=2):
        results = [
            (
                module.is_consistent(tensor_type(module, left), tensor_type(module, right)),
                module.is_more_precise(tensor_type(module, left), tensor_type(module, right)),
                tensor_type(module, left) == tensor_type(module, right),
            )
            for module in (ours, theirs)
        ]
        assert results[0] == results[1], (left, right)


def test_equal_spellings_of_a_tensor_type() -> None:
    for module in (ours, theirs):
        assert module.TensorType[1, 2, module.Dyn] == module.TensorType((1, 2, module.Dyn))
        assert module.TensorType[3] == module.TensorType((3,))
        assert repr(module.TensorType((1, module.Dyn))) == "TensorType[(1, Dyn)]"
    assert ours.is_consistent(our_unification.Var("x"), 3)
    assert len({ours.TensorType((1, ours.Dyn)), ours.TensorType([1, ours.Dyn])}) == 1


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, (3, 5), stride=2, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.mean = nn.AdaptiveAvgPool2d(3)
        self.linear = nn.Linear(3, 7)
        self.bias = nn.Parameter(torch.rand(7))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        a = self.relu(self.norm(self.conv(x)))
        b = self.linear(self.mean(self.pool(a)))
        c = torch.add(torch.transpose(b, 1, 2), y)
        return torch.flatten(c, 1), b + self.bias, y.shape


class Reshapes(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return torch.flatten(torch.reshape(x, [2, -1, 3]), 0, 1), torch.reshape(y, [6])


class Adds(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return x + y + x


INPUTS: list[tuple[Any, Any]] = [
    (DYN, DYN),
    ((2, 3, 32, 32), DYN),
    ((DYN, 3, 32, DYN), (1, 1, 1, 1)),
    ((2, 4, 32, 32), DYN),
    ((2, 3, 32), (1,)),
    ((2, 6), (2, 3)),
    ((DYN, 6), (DYN, 3)),
    ((1, 2, DYN), (4, 2, 7)),
    ((2, 5, 3), (5, 3)),
    ((2, 5), (3, 4)),
    ((2,), int),
    (int, (4, 5)),
]


def types_of(index: int, model: nn.Module, inputs: tuple[Any, ...], infer: bool) -> Any:
    """The types of all nodes as text, or the type of the error."""
    trace, types, checker, refinements = BOTH[index]
    traced = trace(model)
    placeholders = [node for node in traced.graph.nodes if node.op == "placeholder"]
    for node, dims in zip(placeholders, inputs, strict=True):
        node.type = tensor_type(types, dims)
    try:
        checker.GraphTypeChecker({}, traced).type_check()
        if infer:
            refinements.infer_symbolic_types_single_pass(traced)
    except (TypeError, AssertionError, RuntimeError) as error:
        return type(error)
    # torch.fx keeps some dimensions in a list, others in a tuple.
    return [str(node.type).replace("[[", "[(").replace("]]", ")]") for node in traced.graph.nodes]


@pytest.mark.parametrize("infer", [False, True])
@pytest.mark.parametrize("inputs", INPUTS, ids=str)
@pytest.mark.parametrize("cls", [Small, Reshapes, Adds])
def test_inferred_types_are_those_of_torch_fx(cls: Any, inputs: tuple[Any, Any], infer: bool) -> None:
    model = cls()
    mine, reference = types_of(0, model, inputs, infer), types_of(1, model, inputs, infer)
    if infer and reference in (NotImplementedError, RuntimeError) and mine is TypeError:
        return  # a contradiction, for which torch.fx's unification finds no rule
    assert mine == reference


@pytest.mark.parametrize("infer", [False, True])
@pytest.mark.parametrize("dims", [(1, 3, 64, 64), (DYN, 3, 64, DYN), (DYN, DYN, DYN, DYN)], ids=str)
def test_types_of_a_torchvision_model(dims: Any, infer: bool) -> None:
    model = torchvision.models.resnet18()
    mine = types_of(0, model, (dims,), infer)
    assert mine == types_of(1, model, (dims,), infer)
    if not infer:
        assert mine[-1] == f"TensorType[({dims[0]}, 1000)]"


def test_types_agree_with_shapes() -> None:
    model = Small()
    x, y = torch.rand(2, 3, 32, 40), torch.rand(2, 1, 1, 1)
    types = types_of(0, model, (tuple(x.shape), tuple(y.shape)), infer=False)
    flat, biased, _ = model(x, y)
    assert types[-1] == f"(TensorType[{tuple(flat.shape)}], TensorType[{tuple(biased.shape)}], Dyn)"


def test_strides_of_both_dimensions() -> None:
    pool = nn.MaxPool2d(2, stride=(1, 2))
    assert our_checker.maxpool2d_check(ours.TensorType((1, 8, 8)), pool) == ours.TensorType(
        pool(torch.rand(1, 8, 8)).shape
    )


def test_adaptive_pooling_may_keep_a_dimension() -> None:
    pool = nn.AdaptiveAvgPool2d((3, None))
    found = our_checker.adaptiveavgpool2d_check(ours.TensorType((1, 8, 9)), pool)
    assert found == ours.TensorType(pool(torch.rand(1, 8, 9)).shape)


def test_what_has_no_rule() -> None:
    for trace, _, checker, _ in BOTH:
        with pytest.raises(RuntimeError, match="No inference rule"):
            checker.GraphTypeChecker({}, trace(lambda x: torch.sin(x))).type_check()
        with pytest.raises(NotImplementedError):
            checker.GraphTypeChecker({}, trace(lambda x: x.sin())).type_check()
        with pytest.raises(RuntimeError, match="already registered"):
            checker.register_inference_rule(torch.add)(lambda n: None)
        with pytest.raises(RuntimeError, match="already registered"):
            checker.register_refinement_rule(torch.add)(lambda n: None)


def test_broadcast_dimensions_need_two_passes() -> None:
    results: list[Any] = []
    for index in range(2):
        trace, types, checker, refinements = BOTH[index]
        traced = trace(Adds())
        for node in traced.graph.nodes:
            if node.op == "placeholder":
                node.type = tensor_type(types, (DYN, DYN, 3))
        checker.GraphTypeChecker({}, traced).type_check()
        for _ in range(2):
            refinements.infer_symbolic_types_single_pass(traced)
        results.append([str(node.type) for node in traced.graph.nodes])
    assert results[0] == results[1]
    again = symbolic_trace(Adds())
    for node in again.graph.nodes:
        if node.op == "placeholder":
            node.type = tensor_type(ours, (DYN, DYN, 3))
    our_checker.GraphTypeChecker({}, again).type_check()
    our_refinements.infer_symbolic_types(again)
    assert [str(node.type) for node in again.graph.nodes] == results[0]
    assert our_refinements.check_for_type_equality(again.graph, again.graph)


def test_unification() -> None:
    answers: list[Any] = []
    for module in (our_unification, their_unification):
        x, y, z = (module.Var(name) for name in "xyz")
        terms = [((1, x), (1, 2)), ((x, y, z), (y, 3, x)), ((x, (y, 2)), (5, (x, z))), ([x, 1], [y, y]), ((x,), (x,))]
        found = [module.unify(left, right) for left, right in terms]
        reified = [module.reify([x, (y, z)], each) for each in found]
        answers.append((str(found), str(reified), module.unify((1, x), (1, 2, 3))))
    assert answers[0] == answers[1]
    assert our_unification.unify(1, 2) is False
    assert our_unification.Var() != our_unification.Var()


def test_contradictions() -> None:
    with pytest.raises(TypeError, match="contradict"):
        our_refinements.unify_eq([Equality(1, our_unification.Var("x")), Equality(our_unification.Var("x"), 2)])
    assert str(Equality(1, 2)) == "1 = 2"
