"""Finds the nodes of a graph that an accelerator can run.

Source: the interface and results are those of ``torch.fx.passes.splitter_base``.
"""

from collections import deque
from collections.abc import Iterable

from fxcore.graph_module import GraphModule
from fxcore.node import Node
from fxcore.passes.node_events import NodeEventTracker
from fxcore.passes.operator_support import OperatorSupportBase
from fxcore.passes.tools_common import CALLABLE_NODE_OPS, NodeList, NodeSet, is_node_output_tensor

__all__ = ["FxNetAccNodesFinder"]


class FxNetAccNodesFinder:
    """Called, it gives the nodes of ``module`` that may run on the accelerator.

    These are the ones that ``operator_support`` supports, without those that would have to exchange other values than
    tensors with nodes on the CPU; ``allow_non_tensor`` keeps these too. Which values are tensors is read from
    ``meta["type"]``, as shape propagation leaves it. ``tracker`` has the reason for every node.
    """

    def __init__(self, module: GraphModule, operator_support: OperatorSupportBase, allow_non_tensor: bool) -> None:
        self.module = module
        self.operator_support = operator_support
        self.allow_non_tensor = allow_non_tensor
        self.acc_nodes: NodeSet = set()
        self.tracker = NodeEventTracker.from_environment()

    def reduce_acc_nodes_non_tensor_input_helper(self, cpu_worklist: Iterable[Node]) -> None:
        """Take the users of nodes on the CPU off the accelerator; and theirs, where these make no tensor."""
        queue = deque(cpu_worklist)
        while queue:
            node = queue.popleft()
            for user in node.users:
                if user not in self.acc_nodes:
                    continue
                self.acc_nodes.remove(user)
                self.tracker.add(user, "acc_del|user_of_new_cpu_node", node)
                if not is_node_output_tensor(user):
                    self.tracker.add(user, "new_cpu_node|non_tensor_output")
                    queue.append(user)

    def reduce_acc_nodes_non_tensor_input(self) -> None:
        """Take nodes off the accelerator that use what a node on the CPU makes and that is no tensor."""
        on_cpu: NodeList = []
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS and node not in self.acc_nodes and not is_node_output_tensor(node):
                self.tracker.add(node, "new_cpu_node|callable_non_tensor_input")
                on_cpu.append(node)
        self.reduce_acc_nodes_non_tensor_input_helper(on_cpu)

    def reduce_acc_nodes_non_tensor_output(self) -> None:
        """Take nodes off the accelerator that make no tensor and have a user on the CPU, until there are none."""
        while leaving := [node for node in self.module.graph.nodes if self._feeds_cpu(node)]:
            self.acc_nodes.difference_update(leaving)
            self.reduce_acc_nodes_non_tensor_input_helper(leaving)

    def _feeds_cpu(self, node: Node) -> bool:
        if node not in self.acc_nodes or is_node_output_tensor(node):
            return False
        user = next((user for user in node.users if user not in self.acc_nodes), None)
        if user is not None:
            self.tracker.add(node, "acc_del|non_tensor_output_with_cpu_user", user)
        return user is not None

    def __call__(self) -> NodeSet:
        """Find the nodes."""
        submodules = dict(self.module.named_modules())
        self.acc_nodes = set()
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                self.tracker.add(node, "init_cpu|not_callable")
            elif not self.operator_support.is_node_supported(submodules, node):
                self.tracker.add(node, "init_cpu|operator_support")
            else:
                self.tracker.add(node, "init_acc|callable_and_operator_supported")
                self.acc_nodes.add(node)
        if not self.allow_non_tensor:
            self.reduce_acc_nodes_non_tensor_input()
            self.reduce_acc_nodes_non_tensor_output()
        self.tracker.dump()
        return self.acc_nodes
