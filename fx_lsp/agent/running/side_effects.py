"""What a call of a function does that only the rest of its program would notice.

If a whole program is run, all of this has an effect on its output. If a function is run alone, it has none: whether it
returns a view or a copy of an input, or of what is kept, and what it keeps in its module or its file for later.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch

from fx_lsp.agent.running.kept_state import CODE, are_same, everything_in
from fx_lsp.agent.running.observation import Input, call, memory_of, modules_of, weights_of
from fx_lsp.agent.running.plain_values import ARRAY, NotComparable, tensors_of, to_plain

Effects = tuple[str, ...]
"""The same for two functions if nothing that calls them can tell them apart by their side effects."""


class UnknownEffects(Exception):
    """What a function does to the rest of the program is not known; the text says what it does, as a verb phrase."""


def effects_of(function: Callable[..., Any], given: Input) -> Effects:
    """The side effects of a call. Raises `UnknownEffects`, and what the function raises.

    What the call sets anew in attributes of modules counts as part of its output.
    """
    kept = _kept(function)
    output, arguments = call(function, given)
    now = _kept(function)
    anew = {
        place: now[place][0] for place in now if place.of_module and kept.get(place, [kept])[0] is not now[place][0]
    }
    if kept.keys() - anew.keys() != now.keys() - anew.keys():
        raise UnknownEffects("deletes what its module or its file keeps")
    if not all(are_same(values, now[place]) for place, values in kept.items() if place not in anew):
        raise UnknownEffects("changes what its module or its file keeps")
    try:
        to_plain([*anew.values()])
    except NotComparable as kind:
        raise UnknownEffects(f"keeps an object of type `{kind}`") from None
    if any(isinstance(value, ARRAY) for value in everything_in([output, *anew.values()])):
        raise UnknownEffects("returns an array, which may share its memory")
    kept = {place: values for place, values in kept.items() if place not in anew}
    known = [*tensors_of(arguments), *weights_of(function)]
    known += [value for values in kept.values() for value in values if isinstance(value, torch.Tensor)]
    tensors = tensors_of([output, *anew.values()])
    strides = [tensor.stride() if tensor.layout is torch.strided else () for tensor in tensors]
    shared = [(tensor.requires_grad, _shared(tensor, known), _shared(tensor, tensors)) for tensor in tensors]
    objects = [(f"argument {number}", value) for number, value in enumerate(_mutable(arguments))]
    objects += [(place.name, value) for place, values in kept.items() for value in _mutable(values)]
    same = [[name for name, value in objects if value is one] for one in _mutable([output, *anew.values()])]
    return *map(repr, anew), *map(repr, strides), *map(repr, shared), *map(repr, same)


def _shared(tensor: torch.Tensor, others: list[torch.Tensor]) -> list[int]:
    """The numbers of those of the ``others`` that share their memory with ``tensor``."""
    return [number for number, other in enumerate(others) if (at := memory_of(tensor)) and at == memory_of(other)]


def _mutable(values: Iterable[Any]) -> list[Any]:
    """The lists, dicts, sets and objects in ``values``, also in containers, which their program may change later."""
    found = [value for value in everything_in(values) if not isinstance(value, (*CODE, torch.Tensor, tuple))]
    return [value for value in found if isinstance(value, list | dict | set) or hasattr(value, "__dict__")]


class _Place(NamedTuple):
    """Where something is kept."""

    holder: int
    """The number of a module, a class or the file."""
    name: str
    of_module: bool = False


def _kept(function: Callable[..., Any]) -> dict[_Place, list[Any]]:
    """What the modules behind ``function``, their classes, its file, NumPy and torch keep: no weights, no buffers.

    With each value comes what can change in it.
    """
    random_numbers: Any = sys.modules.get("numpy.random")  # which nothing seeds, so that two processes differ
    modules = modules_of(function)
    classes = dict.fromkeys(cls for module in modules for cls in type(module).__mro__)
    names = getattr(inspect.unwrap(function), "__globals__", {})
    return {
        _Place(-2, "numpy.random"): [hash(str(random_numbers and random_numbers.get_state()))],
        _Place(-1, "torch"): [torch.is_grad_enabled(), torch.get_default_dtype()],
        **{
            _Place(number, name, number < len(modules)): everything_in([value])
            for number, holder in enumerate((*map(vars, modules), *map(vars, classes), names))
            for name, value in holder.items()
            if name not in ("_buffers", "_parameters") and not _is_of_python(name)
        },
    }


def _is_of_python(name: str) -> bool:
    """Whether a name is one that Python gives, such as ``__loader__``, which may lead to everything that is loaded."""
    return name.startswith("__") and name.endswith("__")
