"""Changes to tensors and arrays, and to other shapes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import torch

from fx_lsp.agent.inventing.argument_kinds import WIDTH, ArgumentKind
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan
from fx_lsp.agent.inventing.changes.change import Change
from fx_lsp.agent.inventing.error_values import frames_of, path_of, used_by
from fx_lsp.agent.inventing.invented_values import OF_ARRAYS

_REGISTERING = {torch.nn.Module.__setattr__.__code__: "value", torch.nn.Module.register_parameter.__code__: "param"}
"""What functions of torch that register a parameter call it."""

_NO_PARAMETER = re.compile(r"cannot assign '.*' (as parameter|object to parameter)")
"""torch's message about a value that should be a parameter."""

_NO_ARRAY = re.compile(r"expected np\.ndarray")
"""torch's message about a value that should be an array of NumPy."""


def arrays(error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]) -> Iterator[Change]:
    """An array of NumPy or a parameter, if torch asks for one; a tensor instead of what was passed to `Parameter`."""
    if _NO_ARRAY.search(str(error)):
        shapes = [(path, kind.value if kind.name == "tensor" else (WIDTH, WIDTH)) for path, kind in suspects]
        yield from (Change(path, ArgumentKind("array", shape)) for path, shape in shapes)
    is_no_parameter = _NO_PARAMETER.search(str(error))
    for frame in frames_of(error.__traceback__):
        if frame.f_code is torch.nn.Parameter.__new__.__code__:
            path = path_of(frame.f_locals.get("data"), plan.made)
            if path in plan.kinds:
                yield Change(path, ArgumentKind("tensor", (WIDTH,)))
        if is_no_parameter and (name := _REGISTERING.get(frame.f_code)):
            path = path_of(frame.f_locals.get(name), plan.made)
            if path in plan.kinds:
                shape = plan.kinds[path].value if plan.kinds[path].name == "tensor" else (WIDTH, WIDTH)
                yield Change(path, ArgumentKind("parameter", shape))


OF_TENSORS = OF_ARRAYS | {"clone", "expand", "float", "long", "permute", "reshape", "to", "unsqueeze", "view"}
"""Attributes that show that a value should be a tensor."""


def tensors(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """A tensor instead of the value that lacks an attribute of tensors: an invented one, or a parameter's default."""
    if not isinstance(error, AttributeError) or error.obj is None or error.name not in OF_TENSORS:
        return
    path, tensor = path_of(error.obj, plan.made), ArgumentKind("tensor", (WIDTH,))
    if path in plan.kinds:
        yield Change(path, tensor)
    else:
        named = [source.rpartition(".")[2] for source, value in used_by(error) if value is error.obj]
        yield from (Change(one, tensor, (one,)) for one in plan.taken(named, by_name=True))


_OF_COMPARED = frozenset({"all", "any", "float", "int", "long", "nonzero", "sum", "to", "unsqueeze"})
"""Attributes of the results of comparisons, if tensors were compared."""


def compared_tensors(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """Tensors instead of the numbers that were compared, if the result should be one: ``(adj > 0).nonzero()``."""
    if isinstance(error, AttributeError) and isinstance(error.obj, bool) and error.name in _OF_COMPARED:
        compared = [path for path in sorted(plan.tested) if path in plan.kinds and plan.kinds[path].name == "number"]
        yield from (Change(path, ArgumentKind("tensor", (WIDTH, WIDTH))) for path in compared)


def ranks(path: str, kind: ArgumentKind) -> Iterator[Change]:
    """Tensors of other ranks, with the same size in every dimension."""
    if kind.name in ("tensor", "parameter", "array"):
        shapes = ((WIDTH, WIDTH), (), (WIDTH,), (1, WIDTH, WIDTH))
        yield from (Change(path, replace(kind, value=shape)) for shape in shapes if shape != kind.value)
