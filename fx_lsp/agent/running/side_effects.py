"""What a call of a function does that only the rest of its program would notice.

If a whole program is run, all of this has an effect on its output. If a function is run alone, it has none: whether it
returns a view or a copy of an input, or of what is kept, and what it keeps in its module or its file for later.
"""

from __future__ import annotations

import ctypes
import inspect
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch

from fx_lsp.agent.running.kept_state import CODE, are_same, everything_in
from fx_lsp.agent.running.observation import Input, call, memory_of, modules_of, weights_of
from fx_lsp.agent.running.plain_values import ARRAY, NotComparable, tensors_of, to_plain

Effects = tuple[str, ...]
"""The same for two functions if nothing that calls them can tell them apart by their side effects."""


class UnknownEffects(Exception):
    """What a function does to the rest of the program is not known; the text says what it does, as a verb phrase."""


def effects_of(function: Callable[..., Any], *inputs: Input, requires_grad: bool = False) -> Iterator[Effects]:
    """The side effects of a call with each of ``inputs``. Raises `UnknownEffects`, and what the function raises.

    With ``requires_grad``, the given tensors require gradients: then it counts through which results these flow. What
    the call sets anew in attributes of modules counts as part of its output. What it writes to weights and buffers does
    not count: see `weights_after`.
    """
    kept = kept_by(function, function)
    for given in inputs:
        output, arguments = call(function, given, {} if requires_grad else None)
        now = kept_by(function, function)
        yield _effects(function, kept, now, output, arguments)
        kept = now


def _effects(function: Callable[..., Any], kept: Kept, now: Kept, output: Any, arguments: Any) -> Effects:
    """The side effects of a call: ``kept`` is what was kept before, and ``now`` what is kept after it."""
    new = [place for place, values in now.items() if place not in kept or kept[place][0] is not values[0]]
    anew = {place: now[place][0] for place in new if place.of_module}
    if any(place not in anew for place in changed_places(kept, now)):
        raise UnknownEffects("changes what its module or its file keeps")
    try:
        to_plain([*anew.values()])
    except NotComparable as kind:
        raise UnknownEffects(f"keeps an object of type `{kind}`") from None
    kept = {place: values for place, values in kept.items() if place not in anew}
    results = [output, *anew.values()]
    known = [*tensors_of(arguments), *weights_of(function), *_arrays(arguments)]
    known += [value for values in kept.values() for value in values if isinstance(value, (torch.Tensor, ARRAY))]
    found = [*tensors_of(results), *_arrays(results)]
    strides = [_strides(value) for value in found]
    shared = [(_shared(value, known), _shared(value, found), *_gradient(value)) for value in found]
    objects = [(f"argument {number}", value) for number, value in enumerate(_mutable(arguments))]
    objects += [(place.name, value) for place, values in kept.items() for value in _mutable(values)]
    same = [[name for name, value in objects if value is one] for one in _mutable(results)]
    return *map(repr, anew), *map(repr, strides), *map(repr, shared), *map(repr, same)


def weights_after(function: Callable[..., Any]) -> Effects:
    """What shows whether calls of a function have changed its module's weights and buffers, as ``.data`` may."""
    return tuple(map(_checksum, weights_of(function)))


def _arrays(values: Iterable[Any]) -> list[Any]:
    return [value for value in everything_in(values) if isinstance(value, ARRAY)]


def _strides(value: Any) -> tuple[int, ...]:
    """The strides of a tensor or an array; none for a sparse tensor."""
    if isinstance(value, torch.Tensor):
        return value.stride() if value.layout is torch.strided else ()
    return tuple(value.strides)


def _gradient(value: Any) -> tuple[bool, ...]:
    """What shows whether gradients flow through a result, and on to what it is made of."""
    if not isinstance(value, torch.Tensor) or not value.requires_grad:
        return (False,)
    return True, value.is_leaf, value._is_view()  # a view that is made without gradients is a leaf


def _shared(value: Any, others: list[Any]) -> list[int]:
    """The numbers of those of the ``others`` that share their memory with ``value``, a tensor or an array."""
    return [number for number, other in enumerate(others) if (at := _memory(value)) and at == _memory(other)]


def _memory(value: Any) -> int:
    """Where the memory of a tensor or an array begins, also if it only shows a part of that; 0 if it has none."""
    while isinstance(value, ARRAY):
        if value.base is None:
            return int(value.__array_interface__["data"][0])
        value = value.base
    return memory_of(value) if isinstance(value, torch.Tensor) else 0


def _mutable(values: Iterable[Any]) -> list[Any]:
    """The lists, dicts, sets and objects in ``values``, also in containers, which their program may change later."""
    found = [value for value in everything_in(values) if not isinstance(value, (*CODE, torch.Tensor, tuple))]
    return [value for value in found if isinstance(value, list | dict | set) or hasattr(value, "__dict__")]


def _checksum(weight: torch.Tensor) -> str:
    """A checksum of the values of a weight or a buffer; nothing if it has none in plain memory."""
    if weight.layout is not torch.strided or weight.device.type != "cpu" or weight.is_quantized:
        return ""
    values = weight.detach().resolve_conj().resolve_neg().contiguous()
    content = (ctypes.c_char * values.nbytes).from_address(values.data_ptr()) if values.nbytes else b""
    return f"{tuple(weight.shape)} {zlib.crc32(content)}"


class Place(NamedTuple):
    """Where something is kept."""

    holder: int
    """The number of a module, a class or the file."""
    name: str
    of_module: bool = False

    def of(self, program: Callable[..., Any]) -> tuple[torch.nn.Module, str]:
        """The module of ``program``, and its attribute."""
        return modules_of(program)[self.holder], self.name


Kept = Mapping[Place, list[Any]]
"""What is kept: at each place, a value and what can change in it."""


def kept_by(program: Callable[..., Any], function: Callable[..., Any]) -> Kept:
    """What the modules of ``program``, their classes, the file of ``function`` and torch keep, besides the weights."""
    modules = modules_of(program)
    classes = dict.fromkeys(cls for module in modules for cls in type(module).__mro__)
    names = getattr(inspect.unwrap(function), "__globals__", {})
    return {
        Place(-1, "torch"): [torch.is_grad_enabled(), torch.get_default_dtype()],
        **{
            Place(number, name, number < len(modules)): everything_in([value])
            for number, holder in enumerate((*map(vars, modules), *map(vars, classes), names))
            for name, value in holder.items()
            if name not in ("_buffers", "_parameters") and not _is_of_python(name)
        },
    }


def changed_places(before: Kept, after: Kept) -> list[Place]:
    """The places where something else is kept than before."""
    return [
        place
        for place in {**before, **after}
        if place not in before or place not in after or not are_same(before[place], after[place])
    ]


def _is_of_python(name: str) -> bool:
    """Whether a name is one that Python gives, such as ``__loader__``, which may lead to everything that is loaded."""
    return name.startswith("__") and name.endswith("__")
