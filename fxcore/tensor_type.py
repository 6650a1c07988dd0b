"""Types of tensors in gradual typing: a shape whose dimensions may be unknown.

The type ``Dyn`` means that nothing is known: it is consistent with every type.

Source: Siek and Taha, "Gradual typing for functional languages", Scheme Workshop 2006; the interface is that of
``torch.fx.tensor_type``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fxcore.experimental.unification import Var

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """The type of the tensors of one shape: ``TensorType((1, 2, Dyn))``, or ``TensorType[1, 2, Dyn]``.

    A dimension is an int, ``Dyn``, or a variable or expression that stands for an int. The parameters of a ``forward``
    can be annotated with a ``TensorType``.
    """

    def __init__(self, dim: Sequence[Any]) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    @property
    def dims(self) -> Sequence[Any]:
        """The dimensions, as they were given."""
        return self.__args__

    def __repr__(self) -> str:
        return f"TensorType[{self.dims}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and list(self.dims) == list(other.dims)

    def __hash__(self) -> int:
        return hash(tuple(self.dims))

    @staticmethod
    def __class_getitem__(dims: Any) -> TensorType:
        return TensorType(dims if isinstance(dims, tuple) else (dims,))


class _DynType:
    """The type of `Dyn`."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


def is_consistent(t1: object, t2: object) -> bool:
    """Whether the types agree wherever both are known: ``(1, Dyn) ~ (1, 2)``. This relation isn't transitive."""
    if t1 in (t2, Dyn) or t2 == Dyn or isinstance(t1, Var) or isinstance(t2, Var):
        return True
    return _dimensionwise(is_consistent, t1, t2)


def is_more_precise(t1: object, t2: object) -> bool:
    """Whether ``t1`` is at least as precise as ``t2``: ``(1, 2) <= (1, Dyn)``. This relation is a partial order."""
    if t1 == t2 or isinstance(t2, _DynType):
        return True
    return _dimensionwise(is_more_precise, t1, t2)


def _dimensionwise(relation: Callable[[object, object], bool], t1: object, t2: object) -> bool:
    if not isinstance(t1, TensorType) or not isinstance(t2, TensorType) or len(t1.dims) != len(t2.dims):
        return False
    return all(relation(left, right) for left, right in zip(t1.dims, t2.dims, strict=True))
