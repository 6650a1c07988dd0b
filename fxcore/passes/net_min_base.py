"""Finds the nodes of a graph whose results differ between two ways of running the graph.

Source: the interface and results are those of ``torch.fx.passes.net_min_base``.
"""

from collections.abc import Callable

from fxcore.passes.net_min_compare import (
    FxNetMinimizerBadModuleError,
    FxNetMinimizerResultMismatchError,
    FxNetMinimizerRunFuncError,
    StretchRunner,
    _MinimizerSettingBase,
)
from fxcore.passes.tools_common import CALLABLE_NODE_OPS, Names, NodeList, NodeSet

__all__ = [
    "FxNetMinimizerBadModuleError",
    "FxNetMinimizerResultMismatchError",
    "FxNetMinimizerRunFuncError",
    "_MinimizerBase",
    "_MinimizerSettingBase",
]


class _MinimizerBase(StretchRunner):
    """Narrows down which nodes of a graph have different results in the two ways of running it.

    A subclass overrides `run_a` and `run_b`. The constructor's arguments are those of `StretchRunner`.
    """

    def _begin(self, *lines: str) -> list[str]:
        """Start an iteration; return its report, which begins with ``lines``."""
        self.iteration += 1
        self.reports.append(list(lines))
        return self.reports[-1]

    def _exclude(self, nodes: NodeList, start: int = -1, end: int = -1) -> NodeList:
        """A copy of a list of nodes, except for those that ``exclusion_fn`` removes."""
        nodes = list(nodes)
        if self.exclusion_fn is not None:
            self.exclusion_fn(nodes, start, end)
        return nodes

    def _with_fusions(self, nodes: NodeList) -> NodeSet:
        return set(nodes).union(*(self.fusions.get(node, ()) for node in nodes))

    def _finish(self, report: list[str], line: str) -> None:
        report.append(line)
        self.print_report(report)

    def _binary_search_impl(self, all_nodes: NodeList, start_idx: int, end_idx: int) -> NodeSet:
        """Search ``all_nodes[start_idx:end_idx]`` for nodes with differing results by halving stretches that fail."""
        nodes = self._exclude(all_nodes[start_idx:end_idx], start_idx, end_idx)
        if not nodes:
            self.reports.append(["All nodes are excluded by the user"])
            return set()
        report = self._begin(f"Nodes {start_idx} ({nodes[0].name}) to {end_idx - 1} ({nodes[-1].name})")
        if self._failure(set(nodes), [nodes[-1].name]) is None:
            self._finish(report, "No discrepancy found.")
            return set()
        if len(nodes) == 1:
            self._finish(report, f"Found culprit {nodes[0]}")
            return set(nodes)
        self._finish(report, "Search the halves.")
        middle = start_idx + len(nodes) // 2
        culprits = self._binary_search_impl(all_nodes, start_idx, middle)
        if not culprits or self.settings.find_all:
            culprits = culprits | self._binary_search_impl(all_nodes, middle, end_idx)
        if not culprits:
            self._finish(report, f"{nodes} fails as a whole, but neither half fails.")
        return culprits

    def _sequential_traverse(self, nodes: NodeList) -> NodeSet:
        """Try the nodes one by one, each with its fusion group."""
        culprits: NodeSet = set()
        for node in nodes:
            report = self._begin(f"Visit node: {node.name}")
            if not self._exclude([node]):
                self._finish(report, f"Excluded by user: {node.name}")
                if self.settings.find_all:
                    continue
                return culprits
            group = self.fusions.get(node, {node})
            failure = self._failure(group, [node.name])
            if failure is None:
                self.print_report(report)
                continue
            culprits |= group if isinstance(failure, FxNetMinimizerRunFuncError) else {node}
            self._finish(report, f"Found culprit {node}")
            if not self.settings.find_all:
                return culprits
        return culprits

    def _block_traverse_impl(self, nodes: NodeList, start_idx: int, end_idx: int, find_last_node: bool) -> int | None:
        """Find the last node of the shortest failing stretch, or its first node if ``find_last_node`` is False.

        To find the last node, stretches from the start of ``nodes`` are tried; to find the first, stretches to the end.

        Returns:
            The node's index, or None if no stretch fails.
        """
        while True:
            middle = (start_idx + end_idx) // 2
            block = self._exclude(nodes[: middle + 1] if find_last_node else nodes[middle:])
            report = self._begin(f"Stretch from {block[0].name} to {block[-1].name}")
            failed = self._failure(set(block), [block[-1].name], len(self.reports) - 1) is not None
            self._finish(report, "Culprits found." if failed else "No culprits found.")
            if start_idx == end_idx:
                break
            if failed == find_last_node:
                end_idx = middle
            else:
                start_idx = middle + 1
        if failed:
            return start_idx
        if start_idx == (len(nodes) - 1 if find_last_node else 0):
            return None
        return start_idx + (1 if find_last_node else -1)

    def _block_traverse(self, nodes: NodeList, find_last_node: bool | None) -> NodeSet:
        """Find the shortest failing stretch; only its end if ``find_last_node`` is true, only its start if False."""
        first: int | None = 0
        last: int | None = len(nodes) - 1
        if find_last_node is not False:
            last = self._block_traverse_impl(nodes, 0, len(nodes) - 1, True)
        if last is not None and not find_last_node:
            first = self._block_traverse_impl(nodes, 0, last or len(nodes) - 1, False)
        if first is None or last is None:
            self.print_report(["No culprits found"])
            return set()
        self.reports.append([f"Search finished: the smallest failing block is ({nodes[first]}, {nodes[last]})"])
        self.print_report(self.reports[-1])
        return set(nodes[first : last + 1])

    def _defined_traverse(self, nodes: NodeList) -> NodeSet:
        """Try all nodes at once."""
        nodes = self._exclude(nodes)
        if not nodes:
            self.reports.append(["All nodes are excluded by the user"])
            return set()
        report = [f"Defined graph from {nodes[0].name} to {nodes[-1].name}"]
        failed = self._failure(set(nodes), [nodes[-1].name]) is not None
        self._finish(report, f"Found culprit {nodes}" if failed else "No discrepancy found.")
        return set(nodes) if failed else set()

    def _accumulate_traverse(self, nodes: NodeList) -> NodeSet:
        """Try the first node, the first two, and so on, up to the first failure."""
        if self.settings.find_all:
            self.print_report(["'Find All' mode is not supported in accumulate traversal."])
            return set()
        stretch: NodeSet = set()
        for node in nodes:
            stretch.add(node)
            report = self._begin(f"Add node: {node.name}")
            if self._failure(stretch, [node.name]) is not None:
                self._finish(report, f"Found culprit {node}")
                return {node}
            self.print_report(report)
        return set()

    def _skip_traverse_impl(self, all_nodes: NodeList, start_idx: int, end_idx: int) -> NodeSet:
        """Try the stretch ``all_nodes[start_idx:end_idx]``; return its nodes if it fails."""
        nodes = self._exclude(all_nodes[start_idx:end_idx], start_idx, end_idx)
        chosen = self._with_fusions(nodes) if self.exclusion_fn is None else set(nodes)
        report = self._begin(f"Nodes {start_idx} to {end_idx - 1} ({len(nodes)} of interest)")
        failure = self._failure(chosen, [])
        self._finish(report, "No discrepancy found." if failure is None else f"Found culprit {chosen}: {failure}")
        return set() if failure is None else chosen

    def _skip_traverse(self, all_nodes: NodeList, skip_nodes: list[str]) -> NodeSet:
        """Try each stretch between the nodes to skip."""
        culprits: NodeSet = set()
        start = 0
        for index in range(len(all_nodes) + 1):
            if index == len(all_nodes) or all_nodes[index].name in skip_nodes:
                if index > start:
                    culprits |= self._skip_traverse_impl(all_nodes, start, index)
                start = index + 1
        return culprits

    # Methods for programs to call.

    def _collect_nodes(self, start: str | None, end: str | None) -> NodeList:
        """The ``call_*`` nodes from the one called ``start`` to the one called ``end``, both included."""
        nodes = [node for node in self.module.graph.nodes if node.op in CALLABLE_NODE_OPS]
        names = [node.name for node in nodes]
        first = 0 if start is None else names.index(start) if start in names else len(nodes)
        last = names.index(end) + 1 if end in names else len(nodes)
        return nodes[first:last]

    def print_report(self, report: list[str]) -> None:
        """Print a report: its first line unindented, the others as a list below."""
        print("\n . ".join(report))  # noqa: T201 - printing is its purpose

    def print_reports(self) -> None:
        """Print all reports."""
        for report in self.reports:
            self.print_report(report)

    def run_nodes(self, start: str | None = None, end: str | None = None) -> None:
        """Run the nodes from ``start`` to ``end`` both ways, and print the error if this fails or the results differ.

        Args:
            start: the first node's name; None for the first of the module.
            end: the last node's name; None for the last of the module.
        """
        nodes = self._collect_nodes(start, end)
        names = [node.name for node in nodes] if self.settings.return_intermediate else []
        failure = self._failure(self._with_fusions(nodes), names)
        if failure is not None:
            self.print_report([str(failure)])

    def minimize(
        self,
        start: str | None = None,
        end: str | None = None,
        skip_nodes: Names | None = None,
        find_last_node: bool | None = None,
    ) -> NodeSet:
        """Search for nodes whose results differ, by the method in ``settings.traverse_method``, and return them.

        Args:
            start: the name of the first node to examine; None for the first of the module.
            end: the name of the last node; None for the last of the module.
            skip_nodes: for "skip": the names of the nodes between the stretches.
            find_last_node: for "block": if true, search only the end of the stretch; if False, only its start.

        Raises:
            RuntimeError: the method is unknown, or it is "skip" and ``skip_nodes`` is missing.
        """
        searches: dict[str, Callable[[NodeList], NodeSet]] = {
            "sequential": self._sequential_traverse,
            "binary": lambda nodes: self._binary_search_impl(nodes, 0, len(nodes)),
            "accumulate": self._accumulate_traverse,
            "skip": lambda nodes: self._skip_traverse(nodes, skip_nodes or []),
            "defined": self._defined_traverse,
            "block": lambda nodes: self._block_traverse(nodes, find_last_node),
        }
        method = self.settings.traverse_method
        if method not in searches:
            raise RuntimeError(f"Unknown traverse method {method}")
        if method == "skip" and skip_nodes is None:
            raise RuntimeError("'skip_nodes' can't be None when 'traverse_method' is 'skip'.")
        return searches[method](self._collect_nodes(start, end))
