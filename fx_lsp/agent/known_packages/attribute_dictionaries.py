"""Dictionaries with attributes, of packages that may be missing: what the program puts into them is known.

Each class does what its namesake does, with the same errors for what a dictionary lacks. Where the real one can do
more, the result is a stand-in.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.missing.hyperparameters import AttributeDict
from fx_lsp.agent.missing.missing_uses import note_use


class EasyDict(dict[Any, Any]):
    """easydict's: what is set as an attribute is an item, and the other way around."""

    def __init__(self, d: Any = None, **kwargs: Any) -> None:
        self.update({**dict(() if d is None else d), **kwargs})
        for name in vars(type(self)) if type(self) is not EasyDict else ():
            if not (name.startswith("__") and name.endswith("__")):
                setattr(self, name, getattr(self, name))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._keep(key, self._with_attributes(value))

    __setattr__ = __setitem__

    def _keep(self, key: Any, value: Any) -> None:
        dict.__setitem__(self, key, value)
        object.__setattr__(self, key, value)

    @classmethod
    def _with_attributes(cls, value: Any) -> Any:
        """A dictionary, and each in a list or a tuple, as one with attributes; anything else as it is."""
        kind = type(value)
        if kind is dict:
            return EasyDict(value)
        return kind(cls(item) if isinstance(item, dict) else item for item in value) if kind in (list, tuple) else value

    def update(self, e: Any = None, **f: Any) -> None:  # type: ignore[override]
        """Set several items."""
        for name, value in {**dict(e or ()), **f}.items():
            self[name] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The item, which is set to the default if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, k: Any, *args: Any) -> Any:
        """Remove an item and its attribute, and return it."""
        if hasattr(self, k):
            delattr(self, k)
        return super().pop(k, *args)


class Munch(AttributeDict):
    """munch's; what is in it stays as it is, unless `munchify` made it."""

    def __getattr__(self, name: str) -> Any:
        if name in ("toJSON", "toYAML"):
            return StandIn(f"munch.Munch.{name}")
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in dir(type(self)):  # a method, which from now on is hidden
            object.__setattr__(self, name, value)
        else:
            self[name] = value

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """What ``vars`` returns."""
        return self.toDict()

    def toDict(self) -> dict[Any, Any]:
        """The same with plain dictionaries."""
        plain: dict[Any, Any] = converted(self, dict)
        return plain

    @classmethod
    def fromDict(cls, d: Any) -> Any:
        """The same with dictionaries of this class."""
        return converted(d, cls)

    def copy(self) -> Any:
        """A copy of it and of the dictionaries in it."""
        return self.fromDict(self)


class DefaultMunch(Munch):
    """munch's, with a default for what it lacks."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args[1:], **kwargs)
        object.__setattr__(self, "_default", args[0] if args else None)

    _default: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):  # Python or `copy` checks for a protocol
            raise AttributeError(name)
        return super().__getattr__(name)

    def __missing__(self, key: Any) -> Any:
        return self._default

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(self._default, copy.deepcopy(dict(self), memo))

    def get(self, k: Any, d: Any = None) -> Any:
        """The item, or ``d``."""
        return super().get(k, d)

    @classmethod
    def fromDict(cls, d: Any, default: Any = None) -> Any:
        """The same with dictionaries of this class."""
        return converted(d, lambda content: cls(default, content))

    def copy(self) -> Any:
        """A copy of it and of the dictionaries in it."""
        return self.fromDict(self, self._default)


def munchify(x: Any, factory: Any = Munch) -> Any:
    """The same with ``Munch`` instead of plain dictionaries, also in lists and tuples."""
    return converted(x, factory)


def converted(value: Any, make: Any) -> Any:
    """``value`` with what ``make`` returns for each dictionary in it."""
    if isinstance(value, Mapping):
        return make({key: converted(item, make) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return getattr(value, "_make", type(value))([converted(item, make) for item in value])
    return value


class BoxKeyError(KeyError, AttributeError):
    """What a ``Box`` raises for what it lacks."""


class BoxList(list[Any]):
    """A list in a ``Box``: the dictionaries in it are of the same kind."""

    def append(self, value: Any) -> None:
        """Add a value at the end."""
        super().append(Box._of(value))

    def extend(self, values: Any) -> None:
        """Add values at the end."""
        super().extend(map(Box._of, values))


class Box(AttributeDict):
    """python-box's, without any of its options."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a stand-in if there are options, such as ``default_box=True``."""
        return StandIn("box.Box()") if any("box" in name for name in kwargs) else super().__new__(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.update(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """The item. Raises `BoxKeyError` if there is none, but a key that is no identifier may have it as an alias."""
        if name in ("to_json", "to_yaml", "to_toml", "to_msgpack", "merge_add"):
            for key in self if name == "merge_add" else ():
                dict.__setitem__(self, key, StandIn(f"box.Box.{key}"))
            return StandIn(f"box.Box.{name}")
        if name in self:
            return self[name]
        if not all(isinstance(key, str) and key.isidentifier() for key in self):
            note_use(f"box.Box.{name}")
            return StandIn(f"box.Box.{name}")
        raise BoxKeyError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an item. Raises `BoxKeyError` if a method has its name."""
        if hasattr(type(self), name):
            raise BoxKeyError(f'Key name "{name}" is protected')
        self[name] = value

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, self._of(value))

    def __missing__(self, key: Any) -> Any:
        raise BoxKeyError(key)

    @classmethod
    def _of(cls, value: Any) -> Any:
        if isinstance(value, dict) and not isinstance(value, Box):
            return cls(value)
        if isinstance(value, list) and not isinstance(value, BoxList):
            return BoxList([cls._of(item) for item in value])
        return value

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set several items; whether a dictionary is added to the one that is there depends on the version."""
        for key, value in dict(*args, **kwargs).items():
            is_added = isinstance(value, dict) and isinstance(self.get(key), dict)
            self[key] = StandIn(f"box.Box.{key}") if is_added else value

    def merge_update(self, *args: Any, **kwargs: Any) -> None:
        """Set several items; a dictionary is added to the one that is there."""
        for key, value in dict(*args, **kwargs).items():
            if isinstance(value, dict) and isinstance(self.get(key), dict):
                self[key].merge_update(value)
            else:
                self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The item, which is set to the default if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Any, *default: Any) -> Any:
        """Remove an item, if it is there, and return it, or the default. Raises `BoxKeyError` if there is neither."""
        return super().pop(key, *default) if key in self or default else self.__missing__(key)

    def __delattr__(self, name: str) -> None:
        self.pop(name)

    def copy(self) -> Any:
        """A copy of it alone."""
        return type(self)(self)

    def __or__(self, other: Any) -> Any:
        made = self.copy()
        made.update(other)
        return made

    def __add__(self, other: Any) -> Any:
        made = self.copy()
        made.merge_update(other)
        return made

    def to_dict(self) -> dict[Any, Any]:
        """The same with plain dictionaries and lists."""
        plain: dict[Any, Any] = _plain(self)
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
