"""The configurations of yacs, fvcore and detectron2, as in ``attribute_dictionaries.py``."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.missing.hyperparameters import AttributeDict

_OWN = frozenset({"_deprecated", "_is_frozen", "_takes_new"})


class CfgNode(AttributeDict):
    """A dictionary with attributes that can be frozen, and that accepts only changes of what it has."""

    _is_frozen = False
    _takes_new = False
    _deprecated: frozenset[str] = frozenset()
    """Keys, with those that lead to them (``MODEL.WIDTH``), that a merge ignores if this lacks them."""

    def __init__(self, init_dict: Any = None, key_list: Any = None, new_allowed: bool = False) -> None:
        self._takes_new = new_allowed
        for key, value in (init_dict or {}).items():
            is_plain = isinstance(value, dict) and not isinstance(value, CfgNode)
            dict.__setitem__(self, key, CfgNode(value, new_allowed=new_allowed) if is_plain else value)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an item. Raises AttributeError if this is frozen."""
        if name in _OWN:
            object.__setattr__(self, name, value)
        elif self._is_frozen:
            raise AttributeError(f"The configuration is frozen, so {name} can't be set to {value!r}")
        else:
            self[name] = value

    def __deepcopy__(self, memo: dict[int, Any]) -> CfgNode:
        made = type(self).__new__(type(self))
        made._takes_new = self._takes_new
        dict.update(made, {key: copy.deepcopy(value, memo) for key, value in self.items()})
        made._is_frozen = self._is_frozen
        made._deprecated = self._deprecated
        return made

    def clone(self) -> CfgNode:
        """A copy of it and of what is in it."""
        return copy.deepcopy(self)

    def freeze(self) -> None:
        """Accept no change from now on."""
        self._set("_is_frozen", True)

    def defrost(self) -> None:
        """Accept changes again."""
        self._set("_is_frozen", False)

    def set_new_allowed(self, is_new_allowed: bool) -> None:
        """Whether merging may add items."""
        self._set("_takes_new", is_new_allowed)

    def _set(self, name: str, value: bool) -> None:
        object.__setattr__(self, name, value)
        for item in self.values():
            if isinstance(item, CfgNode):
                item._set(name, value)

    def is_frozen(self) -> bool:
        """Whether it accepts no change."""
        return self._is_frozen

    def is_new_allowed(self) -> bool:
        """Whether merging may add items."""
        return self._takes_new

    def merge_from_file(self, cfg_filename: Any, allow_unsafe: bool = False) -> None:
        """Take the values of a YAML file, and before those the values of the file that it names as its base.

        After that, the values are not known if the interpreter lacks the package that reads such files.
        """
        try:
            import yaml  # type: ignore[import-untyped]
        except ImportError:
            self._forget()
            return
        path = Path(cfg_filename)
        with path.open(encoding="utf-8") as file:
            values: dict[str, Any] = yaml.safe_load(file) or {}
        base = values.pop("_BASE_", None)
        for one in base if isinstance(base, list) else [base] if base else []:
            self.merge_from_file(path.parent / one)
        self.merge_from_other_cfg(values)

    def _forget(self) -> None:
        for key, value in self.items():
            if isinstance(value, CfgNode):
                value._forget()
            else:
                dict.__setitem__(self, key, StandIn(f"yacs.config.CfgNode.{key}"))

    def merge_from_other_cfg(self, cfg_other: Mapping[str, Any]) -> None:
        """Take the values of ``cfg_other``. Raises KeyError for an item that this lacks and may not get."""
        self._merge(cfg_other, self._deprecated)

    def _merge(self, cfg_other: Mapping[str, Any], deprecated: Iterable[str]) -> None:
        for key, value in cfg_other.items():
            if key not in self and not self._takes_new:
                if key in deprecated:
                    continue
                raise KeyError(f"Non-existent config key: {key}")
            own = self.get(key)
            if isinstance(own, CfgNode) and isinstance(value, Mapping):
                own._merge(value, {name.removeprefix(f"{key}.") for name in deprecated if name.startswith(f"{key}.")})
            elif isinstance(value, Mapping):
                self[key] = CfgNode(value, new_allowed=self._takes_new)
            else:
                self[key] = _like(own, _decoded(value), key) if key in self else _decoded(value)

    def merge_from_list(self, cfg_list: Any) -> None:
        """Take the values of a list such as ``["MODEL.WIDTH", "8"]``. Raises KeyError for an item that this lacks."""
        for full, value in zip(cfg_list[::2], cfg_list[1::2], strict=True):
            if full in self._deprecated:
                continue
            *path, key = full.split(".")
            node = self
            for part in path:
                node = node[part]
            node[key] = _like(node[key], _decoded(value), key)

    def register_deprecated_key(self, key: str) -> None:
        """Have merges ignore a key, such as ``MODEL.WIDTH``, that this no longer has."""
        self._deprecated |= {key}

    def register_renamed_key(self, old_name: str, new_name: str, message: Any = None) -> None:
        """Explain, where ``old_name`` is merged, that it has another name now."""

    @classmethod
    def load_yaml_with_base(cls, *args: Any, **kwargs: Any) -> Any:
        """The values of a file, which are not known."""
        return StandIn("fvcore.common.config.CfgNode.load_yaml_with_base()")

    def dump(self, **kwargs: Any) -> Any:
        """A text, which is not known."""
        return StandIn("yacs.config.CfgNode.dump()")

    def __str__(self) -> str:
        return repr(dict(self))


def _decoded(value: Any) -> Any:
    """What a string says that is a Python literal; anything else as it is."""
    try:
        return ast.literal_eval(value) if isinstance(value, str) else value
    except (ValueError, SyntaxError):
        return value


def _like(own: Any, value: Any, key: Any) -> Any:
    """``value`` in place of ``own``. A value of another type is not known, since it may be refused."""
    if own is None or value is None or type(value) is type(own) or isinstance(own, StandIn):
        return value
    if isinstance(own, tuple | list) and isinstance(value, tuple | list):
        return type(own)(value)
    return StandIn(f"yacs.config.CfgNode.{key}")
