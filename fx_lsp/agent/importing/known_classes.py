"""Classes of missing packages that are so simple and so common that what their instances do is known."""

from __future__ import annotations

from typing import Any

from fx_lsp.agent.importing import (
    addict_dictionaries,
    attribute_dictionaries,
    ml_configurations,
    omegaconf_configurations,
)
from fx_lsp.agent.importing.stand_ins import StandIn

_KNOWN: dict[tuple[str, str], Any] = {
    ("addict", "Dict"): addict_dictionaries.Dict,
    ("box", "Box"): attribute_dictionaries.Box,
    ("easydict", "EasyDict"): attribute_dictionaries.EasyDict,
    ("ml_collections", "ConfigDict"): ml_configurations.ConfigDict,
    ("mmcv", "ConfigDict"): addict_dictionaries.ConfigDict,
    ("mmengine", "ConfigDict"): addict_dictionaries.ConvertingConfigDict,
    ("munch", "DefaultMunch"): attribute_dictionaries.DefaultMunch,
    ("munch", "Munch"): attribute_dictionaries.Munch,
    ("munch", "munchify"): attribute_dictionaries.munchify,
    ("omegaconf", "DictConfig"): omegaconf_configurations.DictConfig,
    ("omegaconf", "ListConfig"): omegaconf_configurations.ListConfig,
    ("omegaconf", "OmegaConf"): omegaconf_configurations.OmegaConf,
}
"""By the top-level package and the name of the class; some packages have it in several modules."""

SUBMODULES = frozenset({"ml_collections.config_dict", "mmcv.utils", "mmengine.config"})
"""Modules with such classes that their packages import themselves."""


def known_in(module: str, name: str) -> Any | None:
    """What stands for ``name`` of a missing module, if it is known what that does; otherwise None."""
    found = _KNOWN.get((module.partition(".")[0], name))
    return KnownClass(f"{module}.{name}", found) if isinstance(found, type) else found


class KnownClass(StandIn):
    """Stands for such a class: as a base and in ``isinstance``, and as a function that makes an instance."""

    def __init__(self, name: str, cls: type) -> None:
        super().__init__(name)
        self.__dict__["_class"] = cls

    def __getattr__(self, name: str) -> Any:
        own = None if name.startswith("_") else getattr(self._class, name, None)
        return super().__getattr__(name) if own is None else own

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """An instance; a stand-in if it is made of one."""
        if any(isinstance(value, StandIn) for value in args):
            return StandIn(f"{self._name}()")
        return self._class(*args, **kwargs)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """The class to inherit from."""
        return (self._class,)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._class)

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self._class)
