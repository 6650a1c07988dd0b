"""The spaces of gym and gymnasium, from which policies read how many observations and actions there are."""

from __future__ import annotations

import contextlib
import math
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fx_lsp.agent.importing.stand_ins import StandIn

_OPEN = frozenset(
    {"sample", "contains", "seed", "np_random", "to_jsonable", "from_jsonable", "is_np_flattenable", "is_bounded"}
    | {"bounded_below", "bounded_above"}
)
"""What spaces have besides, which is not known here."""


class Space:
    """A set of values, such as all observations that there can be."""

    def __init__(self, shape: Any = None, dtype: Any = None, seed: Any = None) -> None:
        self._shape = None if shape is None else tuple(int(size) for size in shape)
        self.dtype = dtype if dtype is None or isinstance(dtype, StandIn) else _dtype(dtype)

    def __getattr__(self, name: str) -> Any:
        if name not in _OPEN:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return StandIn(f"gymnasium.spaces.{type(self).__name__}.{name}")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        own, others = vars(self), vars(other)
        return own.keys() == others.keys() and all(_are_equal(value, others[name]) for name, value in own.items())

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, value: Any) -> bool:
        return bool(self.contains(value))

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of each value; None for spaces that are made of others."""
        return self._shape


class Box(Space):
    """Arrays of numbers between bounds."""

    def __init__(self, low: Any, high: Any, shape: Any = None, dtype: Any = "float32", seed: Any = None) -> None:
        if shape is None:
            shape = next((bound.shape for bound in (low, high) if getattr(bound, "shape", ())), (1,))
        super().__init__(shape, dtype, seed)
        self.low, self.high = _array(low, self._shape, dtype), _array(high, self._shape, dtype)

    def sample(self, mask: Any = None) -> Any:
        """One of the arrays; programs find out with it how large their layers have to be."""
        if isinstance(self.low, StandIn) or isinstance(self.high, StandIn):
            return StandIn("gymnasium.spaces.Box.sample()")
        return sys.modules["numpy"].zeros_like(self.low).clip(self.low, self.high)


class Discrete(Space):
    """The integers from ``start`` on, ``n`` of them."""

    def __init__(self, n: Any, seed: Any = None, start: Any = 0, dtype: Any = "int64") -> None:
        super().__init__((), dtype, seed)
        self.n, self.start = int(n), int(start)


class MultiDiscrete(Space):
    """Several integers, each of which is below its own bound."""

    def __init__(self, nvec: Any, dtype: Any = "int64", seed: Any = None, start: Any = None) -> None:
        self.nvec = _array(nvec, None, dtype)
        super().__init__(None if isinstance(self.nvec, StandIn) else self.nvec.shape, dtype, seed)

    def __len__(self) -> int:
        return len(self.nvec)

    def __getitem__(self, index: Any) -> Any:
        bounds = self.nvec[index]
        return MultiDiscrete(bounds, self.dtype) if getattr(bounds, "shape", ()) else Discrete(bounds)


class MultiBinary(Space):
    """Arrays of zeros and ones."""

    def __init__(self, n: Any, seed: Any = None) -> None:
        self.n = tuple(int(size) for size in n) if isinstance(n, Iterable) else int(n)
        super().__init__(self.n if isinstance(self.n, tuple) else (self.n,), "int8", seed)


class Dict(Space, Mapping[Any, Any]):
    """Dictionaries whose values are of other spaces; the keys are sorted unless their order was said."""

    def __init__(self, spaces: Any = None, seed: Any = None, **spaces_kwargs: Any) -> None:
        given = dict(spaces or {})
        if (
            isinstance(spaces, Mapping)
            and not isinstance(spaces, OrderedDict)
            and all(type(key) is str for key in given)
        ):
            given = {key: given[key] for key in sorted(given)}
        self.spaces = {**given, **spaces_kwargs}
        super().__init__(None, None, seed)

    def keys(self) -> Any:
        """The keys of the spaces, as for any dictionary."""
        return self.spaces.keys()

    def __getitem__(self, key: Any) -> Any:
        return self.spaces[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.spaces)

    def __len__(self) -> int:
        return len(self.spaces)


class Tuple(Space, Sequence[Any]):
    """Tuples of values of other spaces."""

    def __init__(self, spaces: Any, seed: Any = None) -> None:
        self.spaces = tuple(spaces)
        super().__init__(None, None, seed)

    def __getitem__(self, index: Any) -> Any:
        return self.spaces[index]

    def __len__(self) -> int:
        return len(self.spaces)


def flatdim(space: Any) -> Any:
    """How many numbers a value of ``space`` has once it is flat; NotImplemented for other kinds of spaces."""
    match space:
        case Box() | MultiBinary():
            return math.prod(space.shape or ())
        case Discrete():
            return space.n
        case Dict() | Tuple():
            parts = [flatdim(part) for part in (space.values() if isinstance(space, Dict) else space)]
            return NotImplemented if NotImplemented in parts else sum(parts)
    return NotImplemented


def _dtype(dtype: Any) -> Any:
    numpy: Any = sys.modules.get("numpy")  # torch imports it if it is there
    return StandIn("gymnasium.spaces.Space.dtype") if numpy is None else numpy.dtype(dtype)


def _array(value: Any, shape: Any, dtype: Any) -> Any:
    """An array of a shape with the value in each place, or of the items of the value; if that fails, a stand-in.

    What gym and gymnasium make of an infinite integer, for example, depends on their versions.
    """
    with contextlib.suppress(KeyError, OverflowError, TypeError, ValueError):
        numpy: Any = sys.modules["numpy"]
        array = numpy.asarray(value if hasattr(value, "shape") else _plain(value), dtype)
        return array if shape is None else numpy.broadcast_to(array, shape).copy()
    return StandIn("gymnasium.spaces.Box.low")


def _are_equal(one: Any, other: Any) -> bool:
    """Whether two attributes of spaces are equal: two arrays are if all their numbers are."""
    if getattr(one, "shape", None) != getattr(other, "shape", None):
        return False
    result = one == other
    return bool(result.all() if hasattr(result, "all") else result)


def _plain(value: Any) -> Any:
    """A number or nested lists of numbers, without those that fx-lsp invented."""
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else float(value)
