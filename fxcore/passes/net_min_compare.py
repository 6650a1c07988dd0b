"""Runs a stretch of a graph in two ways and compares the results.

Source: the results are those of ``torch.fx.passes.net_min_base``.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

from fxcore.graph_module import GraphModule
from fxcore.node import Node, map_arg
from fxcore.passes.shape_prop import ShapeProp
from fxcore.passes.split_utils import split_by_tags
from fxcore.passes.tools_common import (
    CALLABLE_NODE_OPS,
    FxNetAccFusionsFinder,
    Names,
    NodeList,
    NodeSet,
    TensorOrTensors,
    Tensors,
)

_log = logging.getLogger(__name__)

_BEFORE, _CHOSEN, _AFTER = "main_0", "minimize", "main_1"


class FxNetMinimizerBadModuleError(Exception):
    """A submodule can't be split out, because it has no nodes."""


class FxNetMinimizerRunFuncError(Exception):
    """Running a stretch failed in one of the two ways."""


class FxNetMinimizerResultMismatchError(Exception):
    """The two results of a stretch differ."""


_FAILURES = (FxNetMinimizerRunFuncError, FxNetMinimizerResultMismatchError)


TraverseMethod = Literal["sequential", "binary", "accumulate", "skip", "defined", "block"]


@dataclass
class _MinimizerSettingBase:
    """Options for the search.

    Attributes:
        accumulate_error: each way continues with its own earlier results; otherwise both use the first way's.
        traverse_method: "sequential" tries node by node, "binary" tries halves of a failing stretch, "accumulate" a
            growing stretch from the start, "skip" the stretches between given nodes, "defined" all nodes at once;
            "block" searches for the ends of the shortest failing stretch.
        find_all: continue after the first culprit.
        return_intermediate: `run_nodes` compares the values of all nodes, not only the outputs of the stretch.
        all_outputs: compare all outputs of a stretch, not only the last node's value.
    """

    accumulate_error: bool = False
    traverse_method: TraverseMethod = "sequential"
    find_all: bool = False
    return_intermediate: bool = False
    all_outputs: bool = False

    def __str__(self) -> str:
        return "FX Minimizer Settings:\n" + "".join(f"\t{name}: {value}\n" for name, value in vars(self).items())


class StretchRunner:
    """Splits stretches of nodes out of a graph, runs them in both ways and compares the results.

    A subclass overrides `run_a` and `run_b`.

    Args:
        module: the module; its shapes are propagated.
        sample_input: the module's positional arguments.
        compare_fn: called with both results and the names of the nodes that they belong to; returns a measure of the
            difference, and whether the results count as equal.
        settings: how to search.
        module_exporter: called with the input, the submodule and a name, for each stretch whose results differ.
        exclusion_fn: called with the list of nodes of a stretch and its bounds; may remove nodes from the list.
    """

    def __init__(
        self,
        module: GraphModule,
        sample_input: Tensors,
        compare_fn: Callable[[TensorOrTensors, TensorOrTensors, Names], tuple[float, bool]],
        settings: _MinimizerSettingBase,
        module_exporter: Callable[[Tensors, GraphModule, str], None] | None = None,
        exclusion_fn: Callable[[NodeList, int, int], None] | None = None,
    ) -> None:
        if not isinstance(module, GraphModule):
            raise AssertionError(f"only a GraphModule can be minimized, not {type(module)}")
        self.module, self.sample_input = module, sample_input
        self.compare_fn, self.settings = compare_fn, settings
        self.module_exporter, self.exclusion_fn = module_exporter, exclusion_fn
        self.results: dict[Any, Any] = {}
        self.reports: list[list[str]] = []
        self.iteration = 0
        self.run_shape_prop()
        callable_nodes = {node for node in module.graph.nodes if node.op in CALLABLE_NODE_OPS}
        self.fusions = FxNetAccFusionsFinder(module, callable_nodes)()
        inputs = [node.name for node in module.graph.nodes if node.op == "placeholder"]
        if len(inputs) != len(sample_input):
            raise AssertionError(
                f"the module has {len(inputs)} inputs, but {len(sample_input)} sample inputs were given"
            )
        self.a_outputs: dict[str, Any] = dict(zip(inputs, sample_input, strict=True))
        self.b_outputs: dict[str, Any] = dict(self.a_outputs)

    def run_shape_prop(self) -> None:
        """Propagate the sample inputs' shapes through the module."""
        ShapeProp(self.module).propagate(*self.sample_input)

    def run_a(self, mod: GraphModule, inputs: Tensors, report_idx: int = -1) -> TensorOrTensors:
        """Run a stretch in the first way. Raises RuntimeError unless a subclass overrides it."""
        raise RuntimeError("run_a() is not implemented.")

    def run_b(self, mod: GraphModule, inputs: Tensors, report_idx: int = -1) -> TensorOrTensors:
        """Run a stretch in the second way. Raises RuntimeError unless a subclass overrides it."""
        raise RuntimeError("run_b() is not implemented.")

    # Running one stretch.

    def _store_outputs(self, a_result: TensorOrTensors, b_result: TensorOrTensors, submodule: GraphModule) -> None:
        """Keep the values of the nodes that a stretch returns, as inputs of later stretches."""
        returned = submodule.graph.output_node().args[0]
        if isinstance(returned, Node):
            self.a_outputs[returned.name], self.b_outputs[returned.name] = a_result, b_result
        else:
            for node, a_value, b_value in zip(returned, a_result, b_result, strict=True):
                self.a_outputs[node.name], self.b_outputs[node.name] = a_value, b_value

    def _get_submod_inputs(self, main_module: GraphModule, submod_path: str) -> tuple[Tensors, Tensors]:
        """The inputs of a stretch for both ways: kept values, or the arguments with which the whole module calls it."""
        submodule: Any = getattr(main_module, submod_path)
        names = [node.name for node in submodule.graph.nodes if node.op == "placeholder"]
        if self.a_outputs.keys() >= set(names):
            a_input: Tensors = [self.a_outputs[name] for name in names]
            b_input: Tensors = [self.b_outputs[name] for name in names]
            return a_input, b_input if self.settings.accumulate_error else a_input
        if self.settings.accumulate_error:
            _log.warning("no values from earlier runs are available for %s", names)
        seen: list[tuple[Any, ...]] = []
        handle = submodule.register_forward_pre_hook(lambda module, inputs: seen.append(inputs))
        try:
            main_module(*self.sample_input)
        finally:
            handle.remove()
        return seen[-1], seen[-1]

    def _tag_nodes(self, selected_nodes: NodeSet) -> None:
        """Give different tags to the selected nodes, the nodes that depend on them, and the rest."""
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                continue
            used = {vars(each).get("tag") for each in node.all_input_nodes if each.op in CALLABLE_NODE_OPS}
            after = _AFTER if used & {_CHOSEN, _AFTER} else _BEFORE
            node.tag = _CHOSEN if node in selected_nodes else after  # type: ignore[attr-defined]

    def _build_submodule(self, nodes: NodeSet) -> tuple[GraphModule, str]:
        """Split the module so that the nodes are one submodule; returns the module and that submodule's name.

        Raises:
            FxNetMinimizerBadModuleError: there are no nodes.
        """
        if not nodes:
            raise FxNetMinimizerBadModuleError("a submodule can't be built from an empty set of nodes")
        self._tag_nodes(nodes)
        return cast(GraphModule, split_by_tags(self.module, [_BEFORE, _CHOSEN, _AFTER])), _CHOSEN

    def _run_and_compare(
        self, split_module: GraphModule, submod_name: str, output_names: Names, report_idx: int = -1
    ) -> None:
        """Run a stretch in both ways and compare the results.

        Args:
            split_module: the module that the stretch is a submodule of.
            submod_name: the submodule's name.
            output_names: the names of the nodes to compare; if empty, the submodule's own output is compared.
            report_idx: the index of the report to write to in ``reports``; -1 for the current iteration's.

        Raises:
            FxNetMinimizerRunFuncError: running the stretch failed in one of the ways.
            FxNetMinimizerResultMismatchError: the results differ.
        """
        submodule: Any = getattr(split_module, submod_name)
        a_input, b_input = self._get_submod_inputs(split_module, submod_name)
        report = self._report(report_idx)
        report.append("Run and compare ...")
        if output_names and not self.settings.all_outputs:
            _return_nodes(submodule, output_names)
        key = map_arg(submodule.graph.output_node().args, lambda node: node.name)
        try:
            a_result = self.run_a(submodule, a_input, report_idx)
            b_result = self.run_b(submodule, b_input, report_idx)
            self._store_outputs(a_result, b_result, submodule)
        except Exception as error:
            report.append(f"Exception raised when running {submod_name}: {error}")
            raise FxNetMinimizerRunFuncError(report[-1]) from error
        difference, equal = self.compare_fn(a_result, b_result, output_names)
        self.results[key] = difference
        report.append(f"Numerical accuracy = {difference}")
        if not equal:
            report.append(f"Result mismatch for {key}")
            self._export(submodule, a_input, b_input, key)
            raise FxNetMinimizerResultMismatchError(report[-1])

    def _report(self, index: int) -> list[str]:
        if not self.reports:
            self.reports.append([])
            self.iteration = 1
        return self.reports[index if index >= 0 else self.iteration - 1]

    def _export(self, submodule: GraphModule, a_input: Tensors, b_input: Tensors, key: Any) -> None:
        if self.module_exporter is not None:
            name = key[-1] if isinstance(key[-1], str) else key[-1][0]
            self.module_exporter(a_input, submodule, f"{name}_cpu")
            self.module_exporter(b_input, submodule, f"{name}_acc")

    def _failure(self, nodes: NodeSet, output_names: Names, report_idx: int = -1) -> Exception | None:
        """Run a stretch in both ways; return the error if this fails or the results differ, otherwise None."""
        split_module, submod_name = self._build_submodule(nodes)
        try:
            self._run_and_compare(split_module, submod_name, output_names, report_idx)
        except _FAILURES as error:
            return error
        return None


def _return_nodes(submodule: GraphModule, names: Names) -> None:
    """Have the submodule return the values of the named nodes."""
    graph = submodule.graph
    graph.erase_node(graph.output_node())
    nodes = [node for node in graph.nodes if node.name in names]
    graph.output(nodes[0] if len(nodes) == 1 else tuple(nodes))
    graph.lint()
    submodule.recompile()
