"""The dictionaries of addict, mmcv and mmengine, as in ``attribute_dictionaries.py``."""

from __future__ import annotations

import copy
from typing import Any

from fx_lsp.agent.missing.hyperparameters import AttributeDict


class Dict(AttributeDict):
    """addict's: what it lacks is an empty one, which becomes an item once something is put into it."""

    _place: Any = None
    """The dictionary that lacks this one, and under which key."""
    _frozen = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        for arg in filter(None, args):
            pair = isinstance(arg, tuple) and not isinstance(arg[0], tuple)
            for key, value in arg.items() if isinstance(arg, dict) else [arg] if pair else arg:
                self[key] = self._converted(value)
        for key, value in kwargs.items():
            self[key] = self._converted(value)

    @classmethod
    def _converted(cls, item: Any) -> Any:
        if isinstance(item, dict):
            return cls(item)
        return type(item)(cls._converted(one) for one in item) if isinstance(item, list | tuple) else item

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an item. Raises AttributeError if a method has its name."""
        if hasattr(type(self), name):
            raise AttributeError(f"'Dict' object attribute '{name}' is read-only")
        self[name] = value

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._frozen and key not in self:
            raise KeyError(key)
        super().__setitem__(key, value)
        if self._place is not None:
            above, own = self._place
            object.__setattr__(self, "_place", None)
            above[own] = self

    def __missing__(self, key: Any) -> Any:
        if self._frozen:
            raise KeyError(key)
        made = type(self)()
        object.__setattr__(made, "_place", (self, key))
        return made

    def __delattr__(self, name: str) -> None:
        del self[name]

    def __add__(self, other: Any) -> Any:
        return NotImplemented if self else other

    def __or__(self, other: Any) -> Any:
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = type(self)()
        made.update({copy.deepcopy(key, memo): copy.deepcopy(value, memo) for key, value in self.items()})
        return made

    def copy(self) -> Any:
        """A copy of it alone."""
        made = type(self)()
        for key, value in self.items():
            dict.__setitem__(made, key, value)
        return made

    __copy__ = copy

    def deepcopy(self) -> Any:
        """A copy of it and of what is in it."""
        return copy.deepcopy(self)

    def to_dict(self) -> dict[Any, Any]:
        """The same with plain dictionaries, but for those in lists in lists."""
        return {key: self._plain(value, one_by_one=True) for key, value in self.items()}

    @classmethod
    def _plain(cls, value: Any, *, one_by_one: bool = False) -> Any:
        if one_by_one and isinstance(value, list | tuple):
            return type(value)(map(cls._plain, value))
        return value.to_dict() if isinstance(value, cls) else value

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set several items; a dictionary is added to the one that is there."""
        for key, value in dict(*args, **kwargs).items():
            if key in self and isinstance(self[key], dict) and isinstance(value, dict):
                self[key].update(value)
            else:
                self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The item, which is set to the default if there is none."""
        if key not in self:
            self[key] = default
            return default
        return self[key]

    def freeze(self, shouldFreeze: bool = True) -> None:
        """From now on, do not accept other keys."""
        object.__setattr__(self, "_frozen", shouldFreeze)
        for value in self.values():
            if isinstance(value, Dict):
                value.freeze(shouldFreeze)

    def unfreeze(self) -> None:
        """Accept other keys again."""
        self.freeze(shouldFreeze=False)


class ConfigDict(Dict):
    """mmcv's: a ``Dict`` that raises an error for what it lacks."""

    def __missing__(self, key: Any) -> Any:
        raise KeyError(key)

    def __getattr__(self, name: str) -> Any:
        return AttributeDict.__getattr__(self, name)


class ConvertingConfigDict(ConfigDict):
    """mmengine's: the same, and the dictionaries that are set later become one, too."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, self._converted(value))

    @classmethod
    def _converted(cls, item: Any) -> Any:
        return item if isinstance(item, ConfigDict) else super()._converted(item)

    def pop(self, key: Any, default: Any = None) -> Any:
        """Remove an item, if it is there, and return it."""
        return super().pop(key, default)


ConvertingConfigDict.__name__ = "ConfigDict"
