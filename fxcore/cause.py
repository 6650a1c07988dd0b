"""Why a value is traced: the chain of operations from an input of the program to it."""

from __future__ import annotations

from fxcore.node import Node
from fxcore.source import Frame


def cause_of(node: Node) -> tuple[Frame, ...]:
    """The shortest way from an input (or a parameter) to ``node``, as the places where its operations were done.

    Each frame is named by its node; operations without a place of their own, such as the inputs, have none.
    """
    came_from: dict[Node, Node | None] = {node: None}
    waiting = [node]
    for current in waiting:  # breadth first, so the first source that is met is the nearest
        if current.op in ("placeholder", "get_attr"):
            return _places(current, came_from)
        for source in current.all_input_nodes:
            if source not in came_from:
                came_from[source] = current
                waiting.append(source)
    return _places(node, {node: None})


def _places(source: Node, came_from: dict[Node, Node | None]) -> tuple[Frame, ...]:
    frames: list[Frame] = []
    current: Node | None = source
    while current is not None:
        span = current.span
        if span is not None and (not frames or frames[-1].span != span):
            frames.append(Frame(current.name, span))
        current = came_from[current]
    return tuple(frames)
