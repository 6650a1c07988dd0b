"""Items get the types that torch.fx gives them."""

from __future__ import annotations

import operator
import typing
from functools import partial
from typing import Any

import pytest
import torch
import torch.fx.passes.annotate_getitem_nodes as theirs

import fxcore
import fxcore.passes.annotate_getitem_nodes as ours
from tests.core.oracle import attempt

LIBRARIES: list[tuple[Any, Any]] = [(fxcore, ours), (torch.fx, theirs)]


class Point(typing.NamedTuple):
    x: int
    y: torch.Tensor


TYPES: list[Any] = [
    None,
    torch.Tensor,
    Point,
    typing.Tuple[int, str],  # noqa: UP006
    typing.Tuple[float, ...],  # noqa: UP006
    typing.List[torch.Tensor],  # noqa: UP006
    tuple[int, torch.Tensor],
    tuple[str, ...],
    tuple[int],
    list[int],
    typing.Optional[int],  # noqa: UP045
    dict[str, int],
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_items_get_the_types_that_torch_fx_gives(kind: Any) -> None:
    results = []
    for fx, module in LIBRARIES:
        graph = fx.Graph()
        whole = graph.placeholder("whole", type_expr=kind)
        items = [graph.call_function(operator.getitem, (whole, index)) for index in range(2)]
        for item in items[1:]:
            item.type = "another"
        graph.output(graph.call_function(operator.add, tuple(items)))
        error = attempt(partial(module.annotate_getitem_nodes, graph))
        results.append((type(error), [node.type for node in graph.nodes]))
    assert results[0] == results[1]
