"""What an expression became: its nodes, and what they yield."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from fx_lsp.agent.messages import GraphNode
from fx_lsp.descriptions import Description, Descriptions
from fx_lsp.documents import Documents, Place

MOST = 4
"""Nodes of one target that are shown."""

MOST_USERS = 4
"""Users of a node that are named."""


def described_nodes(
    descriptions: Descriptions, documents: Documents, path: str, offset: int, *, shapes: bool
) -> list[str]:
    """In Markdown, for each target, the nodes that the innermost traced expression around ``offset`` became.

    ``shapes``: whether to tell what they yield.
    """
    around = list(_around(descriptions, documents, path, offset))
    if any(not description.is_assumed for description, _, _ in around):
        around = [found for found in around if not found[0].is_assumed]
    smallest = min((now.end - now.start for _, now, _ in around), default=None)
    return [
        _described(description, nodes if shapes else _without_values(nodes), documents)
        for description, now, nodes in around
        if now.end - now.start == smallest
    ]


def _around(
    descriptions: Descriptions, documents: Documents, path: str, offset: int
) -> Iterator[tuple[Description, Place, tuple[GraphNode, ...]]]:
    for description in descriptions:
        for place, nodes in description.recorded.get(path, {}).items():
            now = documents.now(place)
            if now and now.start <= offset <= now.end:
                yield description, now, nodes


def _described(description: Description, nodes: tuple[GraphNode, ...], documents: Documents) -> str:
    """The nodes of one target, what its inputs were, and whether that is of an older text."""
    shown = [_node(node) for node in nodes[:MOST]]
    if len(nodes) > MOST:
        shown.append(f"- and {len(nodes) - MOST} more")
    became = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
    parts = [f"{became} in the graph of `{description.title}`:", "\n".join(shown)]
    if description.details.input and any(node.value for node in nodes):
        parts.append(f"For `{description.details.input}`{_symbols(description)}.")
    if documents.changed_since(nodes[0].span.file, description.snapshot.moment) if nodes[0].span else False:
        parts.append("*As of the last version that was traced.*")
    return "\n\n".join(parts)


def _without_values(nodes: tuple[GraphNode, ...]) -> tuple[GraphNode, ...]:
    return tuple(dataclasses.replace(node, value="") for node in nodes)


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


def _symbols(description: Description) -> str:
    sizes = ", ".join(f"{name} = {size}" for name, size in description.details.symbols.items())
    return f", where {sizes}" if sizes else ""
