"""The configurations of OmegaConf, as in ``attribute_dictionaries.py``, although they are no dictionaries.

What is in them is known if the program wrote it there, and is no expression that OmegaConf evaluates.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from pathlib import Path
from typing import Any

from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.missing.missing_uses import note_use

_PLAIN = (type(None), bool, int, float, bytes, Path, enum.Enum)
"""What OmegaConf keeps as it is. A string may be an expression."""


MISSING: Any = "???"
"""The default of a field that has to get a value."""


def II(interpolation: str) -> Any:
    """An expression that stands for the value of another key."""
    return f"${{{interpolation}}}"


def SI(interpolation: str) -> Any:
    """A text that may contain such expressions."""
    return interpolation


def _unknown(name: str) -> StandIn:
    """A stand-in for what a program reads, which counts as used: it may just as well raise an error."""
    note_use(name)
    return StandIn(name)


class DictConfig(MutableMapping[Any, Any]):
    """OmegaConf's. What happens if it lacks something depends on the version and on its flags."""

    def __new__(cls, content: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return a stand-in if there is anything but a mapping."""
        is_known = isinstance(content, Mapping) and not args and not kwargs
        return super().__new__(cls) if is_known else StandIn("omegaconf.DictConfig()")

    def __init__(self, content: Mapping[Any, Any]) -> None:
        self.__dict__["_content"] = {key: node(content[key], key) for key in content}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.startswith("merge_with"):
            self.forget()
            return StandIn(f"omegaconf.DictConfig.{name}")
        return self[name]

    def __getitem__(self, key: Any) -> Any:
        content = self.__dict__["_content"]
        return content[key] if key in content else _unknown(f"omegaconf.DictConfig.{key}")

    def __setitem__(self, key: Any, value: Any) -> None:
        self.__dict__["_content"][key] = node(value, key)

    __setattr__ = __setitem__

    def __delitem__(self, key: Any) -> None:
        del self.__dict__["_content"][key]

    __delattr__ = __delitem__

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__dict__["_content"])

    def __len__(self) -> int:
        return len(self.__dict__["_content"])

    def __contains__(self, key: object) -> bool:
        found = self.__dict__["_content"].get(key, ...)
        if isinstance(found, StandIn):  # it may be missing, as a mandatory value
            note_use(found._name)
        return found is not ...

    def __repr__(self) -> str:
        return repr(self.__dict__["_content"])

    def get(self, key: Any, default_value: Any = None) -> Any:
        """The item, or the default."""
        return self.__dict__["_content"].get(key, default_value)

    def pop(self, key: Any, default: Any = ...) -> Any:
        """Remove an item and return it, or the default; whatever is raised if there is neither is not known."""
        found = self.__dict__["_content"].pop(key, default)
        return _unknown(f"omegaconf.DictConfig.{key}") if found is ... else found

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The item; if there is none, it is set to the default, which is returned."""
        if key in self:
            return self[key]
        self[key] = default
        return default

    def copy(self) -> Any:
        """A copy of it and of what is in it."""
        return DictConfig(self)

    def __deepcopy__(self, memo: object) -> Any:
        return self.copy()

    def forget(self) -> None:
        """From now on, its values are not known."""
        for key, value in self.items():
            if isinstance(value, DictConfig):
                value.forget()
            else:
                self.__dict__["_content"][key] = StandIn(f"omegaconf.DictConfig.{key}")


class ListConfig(MutableSequence[Any]):
    """OmegaConf's."""

    def __new__(cls, content: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return a stand-in if there is anything but a list."""
        is_known = isinstance(content, list | tuple | ListConfig) and not args and not kwargs
        return super().__new__(cls) if is_known else StandIn("omegaconf.ListConfig()")

    def __init__(self, content: Iterable[Any]) -> None:
        self._content = [node(item, index) for index, item in enumerate(content)]

    def __getitem__(self, index: Any) -> Any:
        return self._content[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        is_one = not isinstance(index, slice)
        self._content[index] = node(value, index) if is_one else [node(item, index) for item in value]

    def __delitem__(self, index: Any) -> None:
        del self._content[index]

    def __len__(self) -> int:
        return len(self._content)

    def insert(self, index: int, value: Any) -> None:
        """Insert a value before an index."""
        self._content.insert(index, node(value, index))

    def copy(self) -> Any:
        """A copy of it and of what is in it."""
        return ListConfig(self)

    def __deepcopy__(self, memo: object) -> Any:
        return self.copy()

    def sort(self, **how: Any) -> None:
        """Sort the values."""
        self._content.sort(**how)

    def __add__(self, other: Iterable[Any]) -> ListConfig:
        return ListConfig([*self, *other])

    def __radd__(self, other: Iterable[Any]) -> ListConfig:
        return ListConfig([*other, *self])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | tuple | ListConfig) and self._content == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._content)


def holding(items: dict[Any, Any] | list[Any]) -> Any:
    """A configuration of ``items`` as they are, even if OmegaConf allows such values only to packages that use it."""
    made: Any = DictConfig({}) if isinstance(items, dict) else ListConfig([])
    made.__dict__["_content"] = items
    return made


def node(value: Any, key: Any) -> Any:
    """What reading a value yields that was put into a configuration."""
    if isinstance(value, Mapping):
        return DictConfig(value)
    if isinstance(value, list | tuple | ListConfig):
        return ListConfig(value)
    is_text = isinstance(value, str) and "${" not in value and value != MISSING
    return value if is_text or isinstance(value, _PLAIN) else StandIn(f"omegaconf.DictConfig.{key}")


class OmegaConf:
    """OmegaConf's functions. Those that are not here are missing."""

    @staticmethod
    def create(obj: Any = None, *args: Any, **kwargs: Any) -> Any:
        """The configuration with the content ``obj``."""
        kind = ListConfig if isinstance(obj, list | tuple | ListConfig) else DictConfig
        return kind({} if obj is None else obj, *args, **kwargs)

    @staticmethod
    def to_container(cfg: Any, *, resolve: bool = False, throw_on_missing: bool = False, **others: Any) -> Any:
        """The same with plain dictionaries and lists."""
        return StandIn("omegaconf.OmegaConf.to_container()") if others else _contents(cfg)

    @staticmethod
    def merge(*configs: Any) -> Any:
        """A configuration with the values of all ``configs``, of which the last has precedence."""
        if not configs or not all(isinstance(one, Mapping) for one in configs):
            return StandIn("omegaconf.OmegaConf.merge()")
        return DictConfig(merged(configs))

    @staticmethod
    def update(cfg: Any, *args: Any, **kwargs: Any) -> None:
        """Change one value, but which one is not known."""
        if isinstance(cfg, DictConfig):
            cfg.forget()

    @staticmethod
    def is_config(obj: Any) -> bool:
        """Whether ``obj`` is a configuration."""
        return isinstance(obj, DictConfig | ListConfig)

    @staticmethod
    def is_dict(obj: Any) -> bool:
        """Whether ``obj`` is a configuration with keys."""
        return isinstance(obj, DictConfig)

    @staticmethod
    def is_list(obj: Any) -> bool:
        """Whether ``obj`` is a configuration that is a list."""
        return isinstance(obj, ListConfig)


def _contents(config: Any) -> Any:
    if isinstance(config, DictConfig):
        return {key: _contents(value) for key, value in config.items()}
    return [_contents(item) for item in config] if isinstance(config, ListConfig) else config


def merged(configs: Iterable[Mapping[Any, Any]]) -> dict[Any, Any]:
    """The values of all ``configs``, of which the last has precedence."""
    together = dict[Any, Any]()
    for config in configs:
        for key, value in config.items():
            known = together.get(key)
            is_added = isinstance(value, Mapping) and isinstance(known, Mapping)
            together[key] = merged([known, value]) if is_added and known is not None else value
    return together
