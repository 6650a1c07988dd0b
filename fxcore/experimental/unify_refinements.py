"""Infers which unknown dimensions of a graph's tensors are the same.

Source: the interface and results are those of ``torch.fx.experimental.unify_refinements``.
"""

from typing import Any

from fxcore.experimental.graph_gradual_typechecker import Refine
from fxcore.experimental.refinement_types import Equality
from fxcore.experimental.unification import Var, unify
from fxcore.graph import Graph
from fxcore.graph_module import GraphModule
from fxcore.tensor_type import TensorType

__all__ = ["infer_symbolic_types", "infer_symbolic_types_single_pass"]
__all__ += ["check_for_type_equality", "convert_eq", "unify_eq"]
__all__ += ["substitute_all_types", "substitute_solution_one_type"]


def infer_symbolic_types_single_pass(traced: GraphModule) -> None:
    """Give the nodes types in which dimensions that must be equal have the same variable or value.

    Raises:
        TypeError: the dimensions contradict each other.
    """
    refine = Refine(traced)
    refine.refine()
    substitute_all_types(traced.graph, unify_eq(refine.constraints))


def infer_symbolic_types(traced: GraphModule) -> None:
    """Infer twice, because some equalities after broadcasting show only in the types that the first pass found."""
    infer_symbolic_types_single_pass(traced)
    infer_symbolic_types_single_pass(traced)


def convert_eq(list_of_eq: list[Equality]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The left-hand and the right-hand sides of the equalities."""
    return tuple(each.lhs for each in list_of_eq), tuple(each.rhs for each in list_of_eq)


def unify_eq(list_of_eq: list[Equality]) -> dict[Any, Any]:
    """The values of variables that satisfy the equalities. Raises TypeError if these contradict each other."""
    found = unify(*convert_eq(list_of_eq))
    if found is False:
        raise TypeError(f"these equations contradict each other: {list_of_eq}")
    return found


def substitute_solution_one_type(mapping: dict[Any, Any], t: Any) -> Any:
    """The type with each variable replaced by its value in ``mapping``, which isn't substituted further."""
    if isinstance(t, Var):
        return mapping.get(t, t)
    if isinstance(t, TensorType):
        return TensorType(tuple(mapping.get(dim, dim) for dim in t.dims))
    if isinstance(t, list | tuple):
        return type(t)([substitute_solution_one_type(mapping, each) for each in t])
    return t


def substitute_all_types(graph: Graph, mapping: dict[Any, Any]) -> None:
    """Replace the variables in all nodes' types with their values.

    If the value of a variable in ``mapping`` is itself a variable with a value, ``mapping`` is changed: the variable is
    mapped to the final value.
    """
    for variable in mapping:
        while mapping[variable] in mapping:
            mapping[variable] = mapping[mapping[variable]]
    for node in graph.nodes:
        node.type = substitute_solution_one_type(mapping, node.type)


def check_for_type_equality(g1: Graph, g2: Graph) -> bool:
    """Whether corresponding nodes of the graphs have equal types."""
    return all(n.type == m.type for n, m in zip(g1.nodes, g2.nodes, strict=False))
