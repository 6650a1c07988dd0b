"""Topological order and cycles: sorting nodes, and checking whether groups of nodes can each become one node."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence

from fxcore.node import Node


def topo_sort(nodes: Sequence[Node]) -> list[Node]:
    """Sort nodes so that each comes after the ones it uses; otherwise their order is kept.

    Source: A. B. Kahn, "Topological sorting of large networks", CACM 5 (1962), with a heap for the order.

    Raises:
        AssertionError: The nodes depend on each other in a cycle.
    """
    position = {node: index for index, node in enumerate(nodes)}
    waiting_for = {node: sum(used in position for used in node.all_input_nodes) for node in nodes}
    ready = [position[node] for node in nodes if not waiting_for[node]]
    result: list[Node] = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        result.append(node)
        for user in node.users:
            if user in position:
                waiting_for[user] -= 1
                if not waiting_for[user]:
                    heapq.heappush(ready, position[user])
    if len(result) != len(nodes):
        raise AssertionError("The nodes depend on each other in a cycle")
    return result


def validate_partition(partition: Collection[Node], order: Mapping[Node, int] | None = None) -> bool:
    """Whether nodes can become one node without causing a cycle: no path may leave the nodes and reenter them.

    Args:
        partition: The nodes.
        order: The position of each node in a topologically sorted graph. If given, only the stretch of the graph that
            the partition spans is searched; otherwise all nodes that depend on the partition are.
    """
    inside = set(partition)
    last = max((order[node] for node in inside), default=0) if order else 0
    stack = [user for node in inside for user in node.users if user not in inside]
    seen = set(stack)
    while stack:
        node = stack.pop()
        if node in inside:
            return False
        if order and order[node] > last:
            continue
        for user in node.users:
            if user not in seen:
                seen.add(user)
                stack.append(user)
    return True


def partitions_are_acyclic(partitions: Iterable[Iterable[Node]], nodes: Iterable[Node]) -> bool:
    """Whether disjoint partitions can each become one node, all at once, without causing a cycle.

    Args:
        partitions: Disjoint groups of nodes.
        nodes: All nodes of the graph. The time taken is linear in the number of nodes and of their uses.
    """
    nodes = list(nodes)
    unit: dict[Node, object] = {node: node for node in nodes}
    for index, partition in enumerate(partitions):
        unit.update((node, index) for node in partition)
    users: dict[object, list[object]] = {part: [] for part in unit.values()}
    waiting_for: dict[object, int] = dict.fromkeys(users, 0)
    for node in nodes:
        for user in node.users:
            if unit[user] != unit[node]:
                users[unit[node]].append(unit[user])
                waiting_for[unit[user]] += 1
    ready = [part for part, count in waiting_for.items() if not count]
    done = 0
    while ready:
        done += 1
        for user_part in users[ready.pop()]:
            waiting_for[user_part] -= 1
            if not waiting_for[user_part]:
                ready.append(user_part)
    return done == len(users)
