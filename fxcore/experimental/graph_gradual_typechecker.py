"""Checks the shapes of tensors in a graph, as far as they are known, without running the graph.

Source: Migeed, Reed, Ansel and Palsberg, "Generalizing Shape Analysis with Gradual Types", ECOOP 2024; the interface
and results are those of ``torch.fx.experimental.graph_gradual_typechecker``, except that expressions over unknown
dimensions (``Refine.symbolic_relations``), which need sympy, are missing.
"""

import itertools
from typing import Any

import torch

from fxcore.experimental.refinement_types import Equality
from fxcore.experimental.type_rules import (
    _INFERENCE_RULES,
    _REFINEMENT_RULES,
    adaptiveavgpool2d_check,
    adaptiveavgpool2d_inference_rule,
    add_inference_rule,
    all_eq,
    bn2d_inference_rule,
    broadcast_types,
    calculate_out_dimension,
    conv2d_inference_rule,
    conv_refinement_rule,
    element_wise_eq,
    expand_to_tensor_dim,
    first_two_eq,
    flatten_check,
    flatten_inference_rule,
    flatten_refinement_rule,
    get_attr_inference_rule,
    get_greatest_upper_bound,
    linear_check,
    linear_inference_rule,
    linear_refinement_rule,
    maxpool2d_check,
    maxpool2d_inference_rule,
    register_inference_rule,
    register_refinement_rule,
    relu_inference_rule,
    reshape_inference_rule,
    transpose_inference_rule,
)
from fxcore.experimental.unification import Var
from fxcore.graph_module import GraphModule
from fxcore.node import Node, map_arg
from fxcore.tensor_type import Dyn, TensorType

__all__ = ["GraphTypeChecker", "Refine", "get_parameter", "register_inference_rule", "register_refinement_rule"]
__all__ += ["adaptiveavgpool2d_check", "flatten_check", "linear_check", "maxpool2d_check"]
__all__ += ["adaptiveavgpool2d_inference_rule", "add_inference_rule", "bn2d_inference_rule", "conv2d_inference_rule"]
__all__ += ["flatten_inference_rule", "get_attr_inference_rule", "linear_inference_rule", "maxpool2d_inference_rule"]
__all__ += ["relu_inference_rule", "reshape_inference_rule", "transpose_inference_rule"]
__all__ += ["all_eq", "conv_refinement_rule", "element_wise_eq", "first_two_eq"]
__all__ += ["flatten_refinement_rule", "linear_refinement_rule"]
__all__ += ["broadcast_types", "calculate_out_dimension", "expand_to_tensor_dim", "get_greatest_upper_bound"]


class GraphTypeChecker:
    """Gives every node of a graph module the type that follows from the inputs' types.

    Args:
        env: not used; the parameter exists for compatibility with torch.fx.
        traced: the module. Inputs without an annotation are `Dyn`.
    """

    def __init__(self, env: dict[str, Any], traced: GraphModule) -> None:
        self.env = env
        self.traced = traced

    def type_check(self) -> bool:
        """Check all nodes; return True.

        Raises:
            TypeError: an operation doesn't accept the types of its operands.
            RuntimeError: there is no rule for a function or a module.
            NotImplementedError: the graph calls a method.
        """
        for node in self.traced.graph.nodes:
            self.type_check_node(node)
        return True

    def type_check_node(self, n: Node) -> Any:
        """Check one node and return its type. Raises as `type_check` does."""
        n.type = Dyn if n.type is None else n.type
        target: Any = n.target
        match n.op:
            case "placeholder":
                return n.type
            case "get_attr":
                n.type = TensorType(get_parameter(self.traced, target).data.shape)
                return n.type
            case "call_function":
                return self._rule(target)(*((n, self.traced) if target is getattr else (n,)))
            case "call_module":
                module = self.traced.get_submodule(target)
                return self._rule(type(module))(n, module)
            case "output":
                n.type = map_arg(n.args[0], lambda node: node.type)
                return n.type
        raise NotImplementedError(f"Method {n.op} not yet implemented")

    @staticmethod
    def _rule(target: Any) -> Any:
        if target not in _INFERENCE_RULES:
            raise RuntimeError(f"No inference rule registered for {target}!")
        return _INFERENCE_RULES[target]


class Refine:
    """Replaces each unknown dimension with a variable, and collects which dimensions must be the same.

    ``constraints`` lists the equalities that were found.
    """

    def __init__(self, traced: GraphModule) -> None:
        self.constraints: list[Equality] = []
        self.traced = traced
        self.symbol_iter = itertools.count()

    def refine(self) -> bool:
        """Refine all nodes; return True."""
        for node in self.traced.graph.nodes:
            self.refine_node(node)
        return True

    def replace_dyn_with_fresh_var(self, typ: Any) -> Any:
        """The type with a new variable in place of each unknown part."""
        if typ == Dyn:
            return Var(next(self.symbol_iter))
        if isinstance(typ, TensorType):
            return TensorType(tuple(self.replace_dyn_with_fresh_var(dim) for dim in typ.dims))
        if isinstance(typ, list | tuple):
            return type(typ)([self.replace_dyn_with_fresh_var(each) for each in typ])
        return typ

    def refine_node(self, n: Node) -> None:
        """Replace the unknown parts of one node's type with variables, and collect the node's equalities."""
        n.type = self.replace_dyn_with_fresh_var(Dyn if n.type is None else n.type)
        target: Any = n.target
        if n.op == "call_module":
            target = type(self.traced.get_submodule(str(n.target)))
        if n.op in ("call_function", "call_module") and target in _REFINEMENT_RULES:
            self.constraints += _REFINEMENT_RULES[target](n)
        if n.op == "output":
            n.type = map_arg(n.args[0], lambda node: node.type)


def get_parameter(traced: torch.nn.Module, target: str) -> Any:
    """The parameter or other attribute with the qualified name ``target``. Raises AttributeError if there is none."""
    path, _, name = target.rpartition(".")
    return getattr(traced.get_submodule(path), name)
