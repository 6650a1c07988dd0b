"""The configurations of ml_collections, as in ``attribute_dictionaries.py``, although they are no dictionaries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from fx_lsp.agent.importing.stand_ins import StandIn


class ConfigDict:
    """ml_collections', which keeps the type of each value."""

    def __new__(cls, initial_dictionary: Any = None, type_safe: bool = True, **options: Any) -> Any:
        """Return a stand-in if there are rare options."""
        return StandIn("ml_collections.ConfigDict()") if options else super().__new__(cls)

    def __init__(self, initial_dictionary: Any = None, type_safe: bool = True) -> None:
        self.__dict__.update(_fields={}, _locked=False, _type_safe=type_safe)
        for key, value in (initial_dictionary or {}).items():
            self._fields[key] = self._of(value)

    _fields: dict[Any, Any]
    _locked: bool
    _type_safe: bool

    @classmethod
    def _of(cls, value: Any) -> Any:
        return cls(value) if isinstance(value, dict) else value

    def __getattr__(self, name: str) -> Any:
        """The item, or a method that is missing. Raises AttributeError if there is none."""
        if name in _OTHER_METHODS:
            if name.startswith("update"):
                self._forget()
            return StandIn(f"ml_collections.ConfigDict.{name}")
        if name.startswith("__") or name not in self._fields:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._fields[name]

    def __getitem__(self, key: Any) -> Any:
        return self._fields[key]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an item. Raises AttributeError if that is a new one although this is locked."""
        try:
            self[name] = value
        except KeyError as error:
            raise AttributeError(str(error)) from error

    def __setitem__(self, key: Any, value: Any) -> None:
        if key not in self._fields and self._locked:
            raise KeyError(f"{key!r} can't be added, since the configuration is locked")
        known, new = self._fields.get(key), self._of(value)
        fits = not self._type_safe or known is None or new is None or type(new) is type(known)
        self._fields[key] = new if fits else StandIn(f"ml_collections.ConfigDict.{key}")

    def __delitem__(self, key: Any) -> None:
        del self._fields[key]

    def __delattr__(self, name: str) -> None:
        """Remove an item. Raises AttributeError if there is none."""
        try:
            del self._fields[name]
        except KeyError as error:
            raise AttributeError(name) from error

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._fields)

    def __contains__(self, key: object) -> bool:
        return key in self._fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConfigDict) and self._fields == other._fields

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._fields)

    def keys(self) -> list[Any]:
        """The keys in alphabetical order."""
        return sorted(self._fields, key=str)

    def values(self) -> list[Any]:
        """The values in the order of the keys."""
        return [self._fields[key] for key in self.keys()]

    def items(self) -> list[tuple[Any, Any]]:
        """The items in the order of the keys."""
        return [(key, self._fields[key]) for key in self.keys()]

    def get(self, key: Any, default: Any = None) -> Any:
        """The item, or the default."""
        return self._fields.get(key, default)

    def update(self, *others: Any, **kwargs: Any) -> None:
        """Set several items; a dictionary is added to the one that is there."""
        for key, value in {**dict(*others), **kwargs}.items():
            if isinstance(known := self._fields.get(key), ConfigDict):
                known.update(value)
            else:
                self[key] = value

    def to_dict(self) -> dict[Any, Any]:
        """The same with plain dictionaries."""
        return {key: value.to_dict() if isinstance(value, ConfigDict) else value for key, value in self.items()}

    def copy_and_resolve_references(self) -> Any:
        """A copy of it and of the configurations in it."""
        return type(self)(self.to_dict(), self._type_safe)

    def _forget(self) -> None:
        """From now on, its values are not known."""
        for key, value in self.items():
            if isinstance(value, ConfigDict):
                value._forget()
            else:
                self._fields[key] = StandIn(f"ml_collections.ConfigDict.{key}")

    def lock(self) -> ConfigDict:
        """From now on, do not accept other keys."""
        return self._set_locked(locked=True)

    def unlock(self) -> ConfigDict:
        """Accept other keys again."""
        return self._set_locked(locked=False)

    def _set_locked(self, *, locked: bool) -> ConfigDict:
        self.__dict__["_locked"] = locked
        for value in self._fields.values():
            if isinstance(value, ConfigDict):
                value._set_locked(locked=locked)
        return self

    @property
    def is_locked(self) -> bool:
        """Whether other keys are refused."""
        return self._locked

    @contextlib.contextmanager
    def unlocked(self) -> Iterator[None]:
        """Within the block, accept other keys."""
        was_locked = self._locked
        self.unlock()
        yield
        self._set_locked(locked=was_locked)


_OTHER_METHODS = frozenset(
    {"convert_dict", "eq_as_configdict", "get_oneway_ref", "get_ref", "get_type", "ignore_type", "is_type_safe"}
    | {"iteritems", "iterkeys", "itervalues", "to_json", "to_json_best_effort", "to_yaml", "update_from_flattened_dict"}
)
"""What the real ``ConfigDict`` has besides."""
