"""Finds the values of variables that make two terms equal.

A term is a variable, a tuple or list of terms, or any other value, which unifies only with values that compare equal.

Source: Robinson, "A machine-oriented logic based on the resolution principle", JACM 12 (1965), without the occurs
check; the names are those of ``torch.fx.experimental.unification``.
"""

from collections.abc import Hashable
from typing import Any, Literal

Substitution = dict[Any, Any]


class Var:
    """A variable, identified by its token: two variables with the same token are equal. The default is a new token."""

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
    """The term with every variable that has a value in ``found`` replaced by that value."""
    term = _value(term, found)
    if isinstance(term, dict):
        return {key: reify(value, found) for key, value in term.items()}
    if isinstance(term, tuple | list):
        return type(term)(reify(each, found) for each in term)
    return term


def unify(u: Any, v: Any, found: Substitution | None = None) -> Substitution | Literal[False]:
    """The most general substitution that makes ``u`` and ``v`` equal, or False if there is none.

    Args:
        u: a term.
        v: another term.
        found: the values of variables that are already known; it isn't changed.

    Returns:
        A dict from variables to terms, including those in ``found``. The terms may contain variables of the dict.
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
