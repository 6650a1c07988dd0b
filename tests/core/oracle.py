"""The installed torch.fx as the oracle: what "the same" means between one of its results and one of ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from tests.core.code_text import code_of

OURS = re.compile(r"\bfxcore\b")
OUR_GLOBAL = re.compile(r"\bfxcore__symbolic_trace_")
"""Generated code reaches torch's functions by their dotted names, and all others by globals."""


def attempt(work: Callable[[], Any]) -> Any:
    """What ``work`` returns, or the exception that it raised."""
    try:
        return work()
    except Exception as error:
        return error


def normal(text: object) -> str:
    """``text`` as torch.fx would say it: ours differs in the package's name alone."""
    return OURS.sub("torch.fx", OUR_GLOBAL.sub("torch.fx._symbolic_trace.", str(text)))


def target_name(target: object) -> str:
    """A node's target by name; our own runtime functions stand for torch.fx's of the same name."""
    if isinstance(target, str):
        return target
    module = getattr(target, "__module__", "")
    return f"{normal(module)}.{getattr(target, '__qualname__', target)}"


def rows(graph: Any) -> list[tuple[str, ...]]:
    """One row of text for each node of a graph of either kind."""
    return [
        (node.name, node.op, target_name(node.target), str(node.args), str(node.kwargs), str(node.type))
        for node in graph.nodes
    ]


def assert_same_graph(ours: Any, theirs: Any) -> None:
    """Two graph modules have the same nodes and the same code."""
    assert rows(ours.graph) == rows(theirs.graph)
    assert normal(code_of(ours)) == normal(code_of(theirs))


def assert_same_failure(ours: object, theirs: object) -> None:
    """Both failed, and ours can be caught as what torch.fx raised; or both went through."""
    assert isinstance(ours, Exception) == isinstance(theirs, Exception), f"ours: {ours!r}; torch.fx: {theirs!r}"
    if isinstance(theirs, Exception):
        ours_names = {cls.__name__ for cls in type(ours).__mro__}
        assert type(theirs).__name__ in ours_names, f"ours: {ours!r}; torch.fx: {theirs!r}"


def assert_same_values(ours: object, theirs: object) -> None:
    """Two outputs are equal bit for bit (or both are failures of one type)."""
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert type(ours) is type(theirs), f"ours: {ours!r}; torch.fx: {theirs!r}"
        return
    our_leaves, our_spec = pytree.tree_flatten(ours)
    their_leaves, their_spec = pytree.tree_flatten(theirs)
    assert our_spec == their_spec
    for one, other in zip(our_leaves, their_leaves, strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
        else:
            assert one == other
