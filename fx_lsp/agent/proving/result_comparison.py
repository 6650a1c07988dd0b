"""Compares what two calls did: gradients within a tolerance, all else bit by bit, except that NaN equals NaN.

Some of torch's functions, such as `torch.linalg.lstsq`, round differently from call to call, depending on where in
memory their arguments are. If two calls differ only that much, the second is repeated to see whether it is such a case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from fx_lsp.agent.running.observation import Observation
from fx_lsp.agent.running.plain_values import Digest, Tree, as_in_graph

GRADIENT_TOLERANCE = 1e-4
"""How much gradients may differ, relative to the largest element: they are sums whose order an edit may change."""

LARGEST_ROUNDING = 1e-4
"""How much calls may differ that round differently, relative to the largest element of each tensor."""

Compare = Callable[[Observation, Observation], "str | None"]
"""Says what differs between two calls, if anything does."""


@dataclass(frozen=True)
class Varying:
    """Stands for what a call leaves that differs from run to run, such as a time."""


def without_varying(seen: Observation, again: Observation) -> Observation:
    """``seen`` with `Varying` for what ``again``, another run of the same program, leaves otherwise."""
    left = {
        name: value if _difference(name, value, again.left.get(name)) is None else Varying()
        for name, value in seen.left.items()
    }
    return replace(seen, left=left)


def difference(old: Observation, new: Observation) -> str | None:
    """What differs between the calls, as the subject of a sentence; None if the calls did the same."""
    return (
        _difference("the output", old.output, new.output)
        or _difference("the content of the inputs after the call", old.inputs, new.inputs)
        or _difference("the content of the module's buffers after the call", _tree(old.buffers), _tree(new.buffers))
        or _gradients(old.gradients, new.gradients)
        or _left_behind(old, new)
    )


def _left_behind(old: Observation, new: Observation) -> str | None:
    if old.random_state != new.random_state:
        return "how many random numbers are drawn"
    if changed := sorted(old.left.keys() ^ new.left.keys()):
        return f"whether the call changes `{changed[0]}`"
    kept = sorted(name for name, value in old.left.items() if not isinstance(value, Varying))
    pairs = ((f"what the call leaves in `{name}`", old.left[name], new.left[name]) for name in kept)
    return next((found for pair in pairs if (found := _difference(*pair))), None)


def difference_in_graph(program: Observation, graph: Observation) -> str | None:
    """Like `difference`, but a graph returns a ``dict`` for any mapping, and need not leave to later calls the same.

    It may also have gradients where the program has none, since torch.fx leaves out what ``torch.no_grad()`` does: see
    the notice ``grad-mode``.
    """
    old, new = (replace(seen, output=as_in_graph(seen.output), random_state=0, left={}) for seen in (program, graph))
    if not old.gradients:
        new = replace(new, gradients=old.gradients)
    return difference(old, new)


def unlike_gradients(old: Observation, new: Observation) -> list[str]:
    """Says for what only one of the calls has a gradient, of zeros: an optimizer leaves alone what gets none."""
    before, after = old.gradients, new.gradients
    if before is None or after is None:
        return []
    added = [name for name in after if after[name] is not None and before.get(name) is None]
    lost = [name for name in before if before[name] is not None and after.get(name) is None]
    return [
        *(f"`{name}` gets a gradient of zeros instead of none" for name in added),
        *(f"`{name}` gets no gradient instead of one of zeros" for name in lost),
    ]


def unlike_views(old: Observation, new: Observation) -> list[str]:
    """Says whether the output became a copy of an input, or a view of one: what writes to it would notice."""
    if len(old.views) != len(new.views):
        return []
    pairs = {*zip(old.views, new.views, strict=True)}
    lost = ["it returns a copy of what was a view of an input"] if (True, False) in pairs else []
    return [*lost, *(["it returns a view of an input instead of a copy"] if (False, True) in pairs else [])]


def differs_by_rounding(old: Observation, new: Observation, repeated: Iterable[Observation], compare: Compare) -> bool:
    """Whether ``old`` and ``new`` are close, and ``new`` differs from one of the calls that ``repeated`` it.

    ``compare`` says whether anything else differs, such as the gradients.
    """
    distances = _distances(old, new)
    rest = replace(new, output=old.output, inputs=old.inputs, buffers=old.buffers)
    if not distances or max(distances) > LARGEST_ROUNDING or compare(old, rest):
        return False
    return any(max(_distances(new, other), default=0.0) > 0 for other in repeated)


def _distances(one: Observation, other: Observation) -> list[float]:
    """How far apart the values of two calls are, one after another; empty if their structure differs."""
    sides = [list(_leaves((seen.output, seen.inputs, _tree(seen.buffers)))) for seen in (one, other)]
    if len(sides[0]) != len(sides[1]):
        return []
    return list(map(_distance, *sides))


def _leaves(value: Any) -> Iterator[Any]:
    """The values in ``value``, and what describes the `Tree`s between them."""
    if isinstance(value, Tree):
        yield value.kind, value.keys, value.names, len(value.values)
        value = (*value.values, *value.attributes)
    if isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _distance(one: Any, other: Any) -> float:
    """The largest difference of two tensors, relative to the largest element; infinite for other different values."""
    if _difference("", one, other) is None:
        return 0.0
    if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)) or _layouts("", one, other):
        return math.inf
    if not one.is_floating_point() or not torch.equal(one.isfinite(), other.isfinite()):
        return math.inf
    one, other = one.nan_to_num(posinf=0, neginf=0), other.nan_to_num(posinf=0, neginf=0)
    return float((one - other).abs().max() / one.abs().max())


def _difference(what: str, old: Any, new: Any) -> str | None:
    kinds = (torch.Tensor, Digest)
    if isinstance(old, kinds) and isinstance(new, kinds) and (differs := _layouts(what, old, new)):
        return differs
    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
        return None if _same_bits(old, new) else what
    if isinstance(old, Tree) and isinstance(new, Tree):
        return _trees(what, old, new)
    if type(old) is not type(new):
        return f"the structure of {what}"
    is_same = bool(old == new) or (isinstance(old, float) and math.isnan(old) and math.isnan(new))
    return None if is_same else what


def _layouts(what: str, old: torch.Tensor | Digest, new: torch.Tensor | Digest) -> str | None:
    """What differs in the shape or dtype of two tensors."""
    if old.shape != new.shape:
        return f"the shape of {what}, {tuple(old.shape)} and {tuple(new.shape)},"
    if old.dtype != new.dtype:
        return f"the dtype of {what}, {old.dtype} and {new.dtype},"
    return None


def _trees(what: str, old: Tree, new: Tree) -> str | None:
    if (old.kind, old.keys, old.names, len(old.values)) != (new.kind, new.keys, new.names, len(new.values)):
        return f"the structure of {what}"
    pairs = zip((*old.values, *old.attributes), (*new.values, *new.attributes), strict=True)
    return next((found for pair in pairs if (found := _difference(what, *pair))), None)


def _same_bits(old: torch.Tensor, new: torch.Tensor) -> bool:
    """Whether all elements are the same, including the signs of zeros; any two NaNs count as the same."""
    if old.is_complex():
        old, new = torch.view_as_real(old.resolve_conj()), torch.view_as_real(new.resolve_conj())
    if not old.is_floating_point():
        return torch.equal(old, new)
    same = (old == new) & (old.signbit() == new.signbit())
    return bool((same | (old.isnan() & new.isnan())).all())


def _gradients(
    old: Mapping[str, torch.Tensor | None] | None, new: Mapping[str, torch.Tensor | None] | None
) -> str | None:
    """The first gradient that differs, if any; a gradient that exists on only one side is compared with zeros."""
    if old is None or new is None:
        return None
    for name in dict.fromkeys([*old, *new]):
        one, other = old.get(name), new.get(name)
        one = torch.zeros_like(other) if one is None and other is not None else one
        other = torch.zeros_like(one) if other is None and one is not None else other
        if one is not None and other is not None and not _close(one, other):
            return f"the gradient of `{name}`"
    return None


def _close(old: torch.Tensor, new: torch.Tensor) -> bool:
    largest = float(old.nan_to_num(posinf=0, neginf=0).abs().max()) if old.numel() else 0.0
    return torch.allclose(old, new, rtol=0.0, atol=GRADIENT_TOLERANCE * largest, equal_nan=True)


def _tree(values: Mapping[str, torch.Tensor | Digest]) -> Tree:
    return Tree("dict", tuple(values), tuple(values.values()))
