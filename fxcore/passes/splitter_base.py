"""Splits a graph module into parts for an accelerator and parts for the CPU, as few as the data flow allows.

Source: the interface and results are those of ``torch.fx.passes.splitter_base``.
"""

import argparse
import copy
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch

from fxcore.graph_module import GraphModule
from fxcore.node import Node
from fxcore.passes import split_preview
from fxcore.passes.acc_nodes import FxNetAccNodesFinder, NodeEvent, NodeEventTracker
from fxcore.passes.operator_support import OperatorSupportBase
from fxcore.passes.shape_prop import ShapeProp
from fxcore.passes.split_utils import move_non_tensor_nodes_on_boundary, split_by_tags
from fxcore.passes.tools_common import CALLABLE_NODE_OPS, FxNetAccFusionsFinder, NodeList, NodeSet, Tensors

__all__ = [
    "FxNetAccNodesFinder",
    "FxNetSplitterInternalError",
    "NodeEvent",
    "NodeEventTracker",
    "SplitResult",
    "Subgraph",
    "generate_inputs_for_submodules",
]

DEFAULT_MIN_ACC_MODULE_SIZE = 1

_log = logging.getLogger(__name__)


class _SplitterSettingBase:
    """Options for a splitter. Flags on the program's command line take precedence over the arguments.

    Args:
        min_acc_module_size: an accelerator part with fewer nodes than this goes to the CPU (``--min-acc-module-size``).
        skip_fusion: don't keep nodes together that exchange values other than tensors (``--skip-fusion``).
        allow_non_tensor: parts may exchange values other than tensors (``--allow-non-tensor``).
        max_acc_splits: the maximum number of parts; exceeding it is an error. -1 means no limit.
        move_non_tensor_nodes_on_boundary: move nodes whose value isn't a tensor to the part that uses the value
            (``--move-non-tensor-nodes-on-boundary``).
    """

    def __init__(
        self,
        min_acc_module_size: int = DEFAULT_MIN_ACC_MODULE_SIZE,
        skip_fusion: bool = False,
        allow_non_tensor: bool = False,
        max_acc_splits: int = -1,
        move_non_tensor_nodes_on_boundary: bool = False,
    ) -> None:
        flags = _command_line_flags()
        self.min_acc_module_size: int = flags.min_acc_module_size or min_acc_module_size
        self.skip_fusion: bool = flags.skip_fusion or skip_fusion
        self.allow_non_tensor: bool = flags.allow_non_tensor or allow_non_tensor
        self.max_acc_splits = max_acc_splits
        self.move_non_tensor_nodes_on_boundary: bool = (
            flags.move_non_tensor_nodes_on_boundary or move_non_tensor_nodes_on_boundary
        )


def _command_line_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in ("skip-fusion", "allow-non-tensor", "move-non-tensor-nodes-on-boundary"):
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", action="store_true")
    parser.add_argument("--min-acc-module-size", "--min_acc_module_size", type=int)
    return parser.parse_known_args()[0]


class FxNetSplitterInternalError(Exception):
    """The splitter can't continue: dependencies are circular, nothing can be split, or nodes already have tags."""


@dataclass
class Subgraph:
    """Nodes that are to become one submodule, on the accelerator or not."""

    is_acc: bool
    nodes: NodeList
    device_ordinal: int | None = None


class SplitResult(NamedTuple):
    """A split module, the inputs of each submodule, and the prefix for the names of the CPU submodules.

    The names of the submodules for the accelerator begin with ``_run_on_acc_``.
    """

    split_module: GraphModule
    submodule_inputs: dict[str, Any]
    non_acc_submodule_prefix: str


def generate_inputs_for_submodules(
    model: torch.nn.Module, inputs: Sequence[Any], target_submodules: Iterable[str], deepcopy: bool = False
) -> dict[str, Any]:
    """Run the model and record the arguments with which it calls submodules.

    Args:
        model: the model. No two of the submodules may be the same object.
        inputs: the model's positional arguments.
        target_submodules: the qualified names of the submodules.
        deepcopy: copy the arguments at the time of the call, in case they are written to later.

    Returns:
        The positional arguments of the last call, by the submodule's name.
    """
    wanted = set(target_submodules)
    results: dict[str, Any] = {}

    def note(name: str) -> Any:
        def hook(module: torch.nn.Module, args: tuple[Any, ...]) -> None:
            results[name] = copy.deepcopy(args) if deepcopy else args

        return hook

    with ExitStack() as hooks, torch.no_grad():
        for name, module in model.named_modules():
            if name in wanted and not isinstance(module, torch.jit.ScriptModule):
                hooks.callback(module.register_forward_pre_hook(note(name)).remove)
        model(*inputs)
    return results


class _SplitterBase:
    """Splits a graph module, when called, into submodules ``_run_on_acc_0``, ``_run_on_cpu_1``, ``_run_on_acc_2``, …

    For previews, a subclass for an accelerator may override how a part is lowered to it (`_lower_model_to_backend`) and
    how the cause of a failure is found (`_find_culprit`).

    Args:
        module: the module to split; its shapes are propagated.
        sample_input: the module's positional arguments, for shape propagation.
        operator_support: decides what the accelerator can run.
        settings: how to split.
        non_acc_submodule_name: the prefix for the names of the other submodules.
        return_tuple: submodules return a tuple even for a single value.
        nodes_finder: returns the nodes for the accelerator, in place of an `FxNetAccNodesFinder`.
    """

    # Bytes per second between the CPU and the accelerator.
    PCIe_BW = 100 * 2**30

    def __init__(
        self,
        module: GraphModule,
        sample_input: Sequence[Any],
        operator_support: OperatorSupportBase,
        settings: _SplitterSettingBase,
        non_acc_submodule_name: str = "_run_on_cpu_",
        return_tuple: bool = False,
        nodes_finder: Callable[[], NodeSet] | None = None,
    ) -> None:
        if not isinstance(module, GraphModule):
            raise AssertionError(f"only a GraphModule can be split, not {type(module)}")
        self.module = module
        self.sample_input = sample_input
        self.operator_support = operator_support
        self.settings = settings
        ShapeProp(module).propagate(*sample_input)
        find = nodes_finder or FxNetAccNodesFinder(module, operator_support, settings.allow_non_tensor)
        self.acc_nodes = find()
        self.fusions = {} if settings.skip_fusion else FxNetAccFusionsFinder(module, self.acc_nodes)()
        self.deps = self.find_deps()
        self.update_deps_for_fusions()
        self.tags: list[str] = []
        self.non_acc_submodule_name = non_acc_submodule_name
        self._return_tuple = return_tuple
        self._node_submodule_map: dict[str, str] = {}

    def get_node_submodule_map(self) -> dict[str, str]:
        """The name of the submodule that each node went to, by the node's name."""
        return self._node_submodule_map

    def find_deps(self) -> dict[Node, NodeSet]:
        """The nodes that each node uses directly, except inputs and attributes."""
        deps: dict[Node, NodeSet] = defaultdict(set)
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS:
                for user in node.users:
                    if user.op != "output":
                        deps[user].add(node)
        return deps

    def update_deps_for_fusions(self) -> None:
        """Make the nodes of a fusion group depend on the same other nodes, and all their users on the whole group."""
        for node, group in self.fusions.items():
            for member in group:
                self.deps[node].update(self.deps[member] - group)
                for user in member.users:
                    if user not in group:
                        self.deps[user].add(node)

    # Previews.

    def _lower_model_to_backend(self, mod: GraphModule, inputs: Tensors) -> torch.nn.Module:
        """Lower a part to the accelerator. Here, the part is returned unchanged."""
        return mod

    def _find_culprit(self, mod: GraphModule, inputs: Tensors) -> str:
        """Return a message that says which node of a part can't be lowered or run."""
        return "The cause is unknown: _find_culprit() is not implemented."

    def node_support_preview(self, dump_graph: bool = False) -> str:
        """Print and return which operations are supported; with ``dump_graph`` draw them to ``node_support.dot``."""
        return split_preview.preview_support(self, dump_graph)

    def split_preview(self, dump_graph: bool = False) -> str:
        """Print and return what the result of the split would be; with ``dump_graph``, draw each graph to a file."""
        return split_preview.preview_split(self, dump_graph)

    # Extending a part towards the inputs.

    def find_reverse_deps(self, tag_id: int | None = None) -> dict[Node, NodeSet]:
        """The users of each node; with ``tag_id`` only those whose tag ends in a smaller number."""
        result: dict[Node, NodeSet] = defaultdict(set)
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS:
                for user in node.users:
                    if user.op in CALLABLE_NODE_OPS and (tag_id is None or _number(_tag(user)) < tag_id):
                        result[node].add(user)
        return result

    def update_reverse_deps_for_fusions(self, deps: dict[Node, NodeSet]) -> None:
        """Treat each fusion group as one node: its nodes get the group's users, and all use the group's inputs."""
        done: NodeSet = set()
        for node, group in self.fusions.items():
            if node in done:
                continue
            done |= group
            users = set().union(*(deps[member] for member in group)) - group
            for member in group:
                deps[member] = users
                for used in member.all_input_nodes:
                    if used not in group:
                        deps[used].update(group)

    def find_parent_nodes_of_subgraph(self, tag: str) -> NodeSet:
        """The nodes of other parts whose values the part with this tag uses."""
        return {
            used
            for node in self.module.graph.nodes
            if node.op in CALLABLE_NODE_OPS and _tag(node) == tag
            for used in node.all_input_nodes
            if used.op in CALLABLE_NODE_OPS and _tag(used) != tag
        }

    def extend_acc_subgraph(self, tag: str) -> None:
        """Move accelerator nodes into this part if it uses them and no earlier part does; repeat for their inputs."""
        users = self.find_reverse_deps(tag_id=_number(tag))
        self.update_reverse_deps_for_fusions(users)
        parents = self.find_parent_nodes_of_subgraph(tag)
        taken: NodeSet = set()
        while node := next((n for n in parents if n in self.acc_nodes and users[n] <= taken), None):
            node.tag = tag  # type: ignore[attr-defined]
            taken.add(node)
            parents.update(self.fusions.get(node, ()))
            parents.update(used for used in node.all_input_nodes if used.op in CALLABLE_NODE_OPS)
            parents -= taken

    # Splitting.

    def starter_nodes(self) -> tuple[NodeSet, NodeSet]:
        """The nodes that use an input, an attribute or no node: those for the CPU, and those for the accelerator."""
        starters: NodeSet = set()
        for node in self.module.graph.nodes:
            if node.op == "call_function" and not node.all_input_nodes:
                starters.add(node)
            elif node.op in ("placeholder", "get_attr"):
                starters.update(node.users)
        return starters - self.acc_nodes, starters & self.acc_nodes

    def put_nodes_into_subgraphs(self) -> list[Subgraph]:
        """Collect nodes in an order in which they can run, switching sides only if no node of the current side can run.

        Raises:
            FxNetSplitterInternalError: dependencies are circular, or there is no node to collect.
        """
        cpu_nodes, acc_nodes = self.starter_nodes()
        waiting = {False: cpu_nodes, True: acc_nodes}
        on_acc = not any(not self.deps[node] for node in cpu_nodes)
        visited: NodeSet = set()
        subgraphs: list[Subgraph] = []
        while cpu_nodes or acc_nodes:
            nodes = self._collect(waiting, on_acc, visited)
            if not nodes:
                raise FxNetSplitterInternalError("A subgraph can't be empty")
            subgraphs.append(Subgraph(is_acc=on_acc, nodes=nodes))
            on_acc = not on_acc
        if not subgraphs:
            raise FxNetSplitterInternalError("No subgraphs could be created")
        return subgraphs

    def _collect(self, waiting: dict[bool, NodeSet], on_acc: bool, visited: NodeSet) -> NodeList:
        """Take all nodes of one side that can run; add their users and fusion groups to ``waiting``."""
        nodes: NodeList = []
        while node := next((n for n in waiting[on_acc] if self.deps[n] <= visited), None):
            waiting[on_acc].remove(node)
            visited.add(node)
            nodes.append(node)
            waiting[node in self.acc_nodes].update(self.fusions.get(node, set()) - visited)
            for user in node.users:
                if user.op in CALLABLE_NODE_OPS:
                    waiting[user in self.acc_nodes].add(user)
        return nodes

    def remove_small_acc_subgraphs(self, subgraphs: list[Subgraph]) -> list[Subgraph]:
        """Move accelerator parts below the minimum size to the CPU, and join them with neighboring CPU parts."""
        result: list[Subgraph] = []
        for subgraph in subgraphs:
            keeps_acc = subgraph.is_acc and len(subgraph.nodes) >= self.settings.min_acc_module_size
            if subgraph.is_acc and not keeps_acc:
                _log.info("an accelerator subgraph of %d nodes is too small", len(subgraph.nodes))
            if result and not keeps_acc and (subgraph.is_acc or not result[-1].is_acc):
                result[-1].nodes.extend(subgraph.nodes)
            else:
                subgraph.is_acc = keeps_acc
                result.append(subgraph)
        return result

    def tag(self, subgraphs: list[Subgraph]) -> None:
        """Tag each node with the name of its part. Raises FxNetSplitterInternalError if a node already has a tag."""
        self.tags = []
        for number, subgraph in enumerate(subgraphs):
            tag = f"{'_run_on_acc_' if subgraph.is_acc else self.non_acc_submodule_name}{number}"
            self.tags.append(tag)
            for node in subgraph.nodes:
                if hasattr(node, "tag"):
                    raise FxNetSplitterInternalError(f"{node} was already tagged")
                node.tag = tag  # type: ignore[attr-defined]
                self._node_submodule_map[node.name] = tag

    def split(self, remove_tag: bool = False) -> GraphModule:
        """Split the module by its tags; with ``remove_tag``, remove the tags afterwards."""
        result = split_by_tags(self.module, self.tags, return_tuple=self._return_tuple)
        if remove_tag:
            for node in self.module.graph.nodes:
                vars(node).pop("tag", None)
        return cast(GraphModule, result)

    def __call__(self) -> GraphModule:
        """Split the module."""
        subgraphs = self.put_nodes_into_subgraphs()
        if self.settings.move_non_tensor_nodes_on_boundary:
            move_non_tensor_nodes_on_boundary(subgraphs)
        subgraphs = self.remove_small_acc_subgraphs(subgraphs)
        on_acc = sum(subgraph.is_acc for subgraph in subgraphs)
        _log.info("%d subgraphs for the accelerator and %d others", on_acc, len(subgraphs) - on_acc)
        self.tag(subgraphs)
        return self.split()

    def generate_split_results(self) -> SplitResult:
        """Split the module and find its parts' inputs. Raises ValueError for more parts than ``max_acc_splits``."""
        split_module = self()
        names = [name for name, _ in split_module.named_children()]
        if 0 < self.settings.max_acc_splits < len(names):
            raise ValueError(f"the split has {len(names)} parts, but max_acc_splits is {self.settings.max_acc_splits}")
        inputs = generate_inputs_for_submodules(split_module, self.sample_input, names)
        return SplitResult(split_module, inputs, self.non_acc_submodule_name)


def _tag(node: Node) -> str:
    return cast(str, node.tag)  # type: ignore[attr-defined]


def _number(tag: str) -> int:
    return int(tag.rpartition("_")[2])
