"""Finds what variables must stand for so that two terms become equal.

A term is a variable, a tuple or list of terms, or any other value, which equals only what it compares equal to.

Source: Robinson, "A machine-oriented logic based on the resolution principle", JACM 12 (1965), without the occurs
check; the names are those of ``torch.fx.experimental.unification``.
"""

from collections.abc import Hashable
from typing import Any, Literal

Substitution = dict[Any, Any]


class Var:
    """A variable, known by its token: two with the same token are the same. Without one it gets a new one."""

    _id = 1

    def __init__(self, *token: Hashable) -> None:
        self.token: Hashable
        if token:
            self.token = token[0] if len(token) == 1 else token
        else:
            self.token = f"_{Var._id}"
            Var._id += 1

    def __repr__(self) -> str:
        return f"~{self.token}"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.token == other.token

    def __hash__(self) -> int:
        return hash((type(self), self.token))


def var(*token: Hashable) -> Var:
    """A variable: ``Var(*token)``."""
    return Var(*token)


def isvar(value: object) -> bool:
    """Whether the value is a variable."""
    return isinstance(value, Var)


def _value(term: Any, found: Substitution) -> Any:
    while isvar(term) and term in found:
        term = found[term]
    return term


def reify(term: Any, found: Substitution) -> Any:
    """The term with all variables replaced that ``found`` has a value for."""
    term = _value(term, found)
    if isinstance(term, dict):
        return {key: reify(value, found) for key, value in term.items()}
    if isinstance(term, tuple | list):
        return type(term)(reify(each, found) for each in term)
    return term


def unify(u: Any, v: Any, found: Substitution | None = None) -> Substitution | Literal[False]:
    """The most general substitution that makes ``u`` and ``v`` equal, or False where none does.

    Args:
        u: a term.
        v: another.
        found: values that some variables have already; it isn't changed.

    Returns:
        Variables to terms, which may contain variables that have values, too.
    """
    found = dict(found or {})
    pairs = [(u, v)]
    while pairs:
        left, right = (_value(term, found) for term in pairs.pop())
        if left == right:
            continue
        if isvar(left):
            found[left] = right
        elif isvar(right):
            found[right] = left
        elif isinstance(left, tuple | list) and isinstance(right, tuple | list) and len(left) == len(right):
            pairs += reversed(list(zip(left, right, strict=True)))
        else:
            return False
    return found
