"""Hover on an expression: the nodes that it was recorded as, and their values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from fx_lsp.agent.messages import GraphNode
from fx_lsp.analysis.graph_descriptions import GraphDescription, GraphDescriptions
from fx_lsp.documents.documents import Documents, Place

MOST = 4
"""The maximum number of nodes of one target to show."""

MOST_USERS = 4
"""The maximum number of users of a node to name."""


def described_nodes(
    descriptions: GraphDescriptions, documents: Documents, path: str, offset: int, *, shapes: bool
) -> list[str]:
    """The nodes that the innermost traced expression around ``offset`` was recorded as: Markdown for each target.

    ``shapes``: whether to show the nodes' values. Targets with invented arguments are shown only if there are no other
    targets.
    """
    around = list(_around(descriptions, documents, path, offset))
    if any(not description.is_assumed for description, _, _ in around):
        around = [found for found in around if not found[0].is_assumed]
    smallest = min((now.end - now.start for _, now, _ in around), default=None)
    return [
        _described(description, nodes if shapes else [dataclasses.replace(node, value="") for node in nodes], documents)
        for description, now, nodes in around
        if now.end - now.start == smallest
    ]


def _around(
    descriptions: GraphDescriptions, documents: Documents, path: str, offset: int
) -> Iterator[tuple[GraphDescription, Place, tuple[GraphNode, ...]]]:
    for description in descriptions:
        for place, nodes in description.recorded.get(path, {}).items():
            now = documents.now(place)
            if now and now.start <= offset <= now.end:
                yield description, now, nodes


def _described(description: GraphDescription, nodes: Sequence[GraphNode], documents: Documents) -> str:
    """The nodes of one target, the inputs for which their values are valid, and a note if the text has changed."""
    shown = [_node(node) for node in nodes[:MOST]]
    if len(nodes) > MOST:
        shown.append(f"- and {len(nodes) - MOST} more")
    became = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
    parts = [f"{became} in the graph of `{description.title}`:", "\n".join(shown)]
    if description.details.input and any(node.value for node in nodes):
        sizes = ", ".join(f"{name} = {size}" for name, size in description.details.symbols.items())
        parts.append(f"For `{description.details.input}`{f', where {sizes}' if sizes else ''}.")
    if documents.changed_since(nodes[0].span.file, description.snapshot.moment) if nodes[0].span else False:
        parts.append("*These nodes are from the last version that was traced.*")
    return "\n\n".join(parts)


def _node(node: GraphNode) -> str:
    what = f"`{node.target}`" + (f" ({node.module})" if node.module else "")
    scope = f" in `{node.scope}`" if node.scope else ""
    value = f" → `{node.value}`" if node.value else ""
    return f"- `{node.name}` = {what}{scope}{value}{_users(node)}"


def _users(node: GraphNode) -> str:
    if not node.users:
        return ", not used"
    named = ", ".join(f"`{user}`" for user in node.users[:MOST_USERS])
    more = f" and {len(node.users) - MOST_USERS} more" if len(node.users) > MOST_USERS else ""
    return f", used by {named}{more}"
