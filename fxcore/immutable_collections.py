"""Lists and dicts that can't be edited, in which nodes keep their arguments.

Every node records its users, so an argument must not change unnoticed. These containers are real ``list`` and ``dict``
objects for code that reads them, and raise ``TypeError`` for code that writes to them.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from fxcore.torch_compat import register_dict_like, register_list_like

__all__ = ["immutable_dict", "immutable_list"]

_T = TypeVar("_T")
_K = TypeVar("_K")
_V = TypeVar("_V")


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation: it belongs to a Node, which tracks the nodes "
        "in it. Make a changed copy and assign it, e.g. `node.args = (new_first, *node.args[1:])`."
    )


class immutable_list(list[_T]):
    """A ``list`` whose methods raise ``TypeError`` if they would change it; hashable if its items are."""

    __delitem__ = _refuse
    __iadd__ = _refuse
    __imul__ = _refuse
    __setitem__ = _refuse
    append = _refuse
    clear = _refuse
    extend = _refuse
    insert = _refuse
    pop = _refuse
    remove = _refuse
    reverse = _refuse
    sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


class immutable_dict(dict[_K, _V]):
    """A ``dict`` whose methods raise ``TypeError`` if they would change it; hashable if its values are."""

    __delitem__ = _refuse
    __ior__ = _refuse
    __setitem__ = _refuse
    clear = _refuse
    pop = _refuse
    popitem = _refuse
    setdefault = _refuse
    update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self.items()),)


register_list_like(immutable_list, immutable_list, "fxcore.immutable_collections.immutable_list")
register_dict_like(immutable_dict, immutable_dict, "fxcore.immutable_collections.immutable_dict")
