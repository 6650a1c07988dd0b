"""Parts of missing packages that are so simple and so common that what they do is known."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import UnionType
from typing import Any

import torch

from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.known_packages import (
    addict_dictionaries,
    attribute_dictionaries,
    attrs_classes,
    config_nodes,
    detectron_configurable,
    einops_operations,
    gymnasium_spaces,
    half_precision,
    hydra_instantiation,
    ml_configurations,
    omegaconf_configurations,
    openmmlab_modules,
    renamed_arguments,
    repeated_values,
    text_tokenizers,
    transformers_configurations,
    transparent_decorators,
    type_checks,
)
from fxcore.proxy import Proxy

_KNOWN: dict[tuple[str, str], Any] = {
    ("addict", "Dict"): addict_dictionaries.Dict,
    ("attr", "Factory"): attrs_classes.Factory,
    ("attr", "attrib"): attrs_classes.field,
    ("attr", "attrs"): attrs_classes.attrs,
    ("attr", "define"): attrs_classes.define,
    ("attr", "field"): attrs_classes.field,
    ("attr", "ib"): attrs_classes.field,
    ("attr", "optional"): attrs_classes.optional,
    ("attr", "s"): attrs_classes.attrs,
    ("attrs", "Factory"): attrs_classes.Factory,
    ("attrs", "define"): attrs_classes.define,
    ("attrs", "field"): attrs_classes.field,
    ("attrs", "optional"): attrs_classes.optional,
    ("box", "Box"): attribute_dictionaries.Box,
    ("detectron2", "CfgNode"): config_nodes.CfgNode,
    ("detectron2", "configurable"): detectron_configurable.configurable,
    ("easydict", "EasyDict"): attribute_dictionaries.EasyDict,
    ("einops", "EinopsError"): einops_operations.EinopsError,
    ("einops", "rearrange"): einops_operations.rearrange,
    ("einops", "reduce"): einops_operations.reduce,
    ("einops", "repeat"): einops_operations.repeat,
    ("fvcore", "CfgNode"): config_nodes.CfgNode,
    ("gym", "Box"): gymnasium_spaces.Box,
    ("gym", "Dict"): gymnasium_spaces.Dict,
    ("gym", "Discrete"): gymnasium_spaces.Discrete,
    ("gym", "MultiBinary"): gymnasium_spaces.MultiBinary,
    ("gym", "MultiDiscrete"): gymnasium_spaces.MultiDiscrete,
    ("gym", "Space"): gymnasium_spaces.Space,
    ("gym", "Tuple"): gymnasium_spaces.Tuple,
    ("gym", "flatdim"): gymnasium_spaces.flatdim,
    ("gymnasium", "Box"): gymnasium_spaces.Box,
    ("gymnasium", "Dict"): gymnasium_spaces.Dict,
    ("gymnasium", "Discrete"): gymnasium_spaces.Discrete,
    ("gymnasium", "MultiBinary"): gymnasium_spaces.MultiBinary,
    ("gymnasium", "MultiDiscrete"): gymnasium_spaces.MultiDiscrete,
    ("gymnasium", "Space"): gymnasium_spaces.Space,
    ("gymnasium", "Tuple"): gymnasium_spaces.Tuple,
    ("gymnasium", "flatdim"): gymnasium_spaces.flatdim,
    ("hydra", "call"): hydra_instantiation.instantiate,
    ("hydra", "get_class"): hydra_instantiation.get_class,
    ("hydra", "get_method"): hydra_instantiation.get_object,
    ("hydra", "get_object"): hydra_instantiation.get_object,
    ("hydra", "get_static_method"): hydra_instantiation.get_object,
    ("hydra", "instantiate"): hydra_instantiation.instantiate,
    ("ml_collections", "ConfigDict"): ml_configurations.ConfigDict,
    ("mmcv", "BaseModule"): openmmlab_modules.BaseModule,
    ("mmcv", "ConfigDict"): addict_dictionaries.ConfigDict,
    ("mmcv", "ModuleDict"): openmmlab_modules.ModuleDict,
    ("mmcv", "ModuleList"): openmmlab_modules.ModuleList,
    ("mmcv", "Sequential"): openmmlab_modules.Sequential,
    ("mmcv", "auto_fp16"): half_precision.auto_fp16,
    ("mmcv", "deprecated_api_warning"): renamed_arguments.deprecated_api_warning,
    ("mmcv", "force_fp32"): half_precision.force_fp32,
    ("mmcv", "is_list_of"): type_checks.is_list_of,
    ("mmcv", "is_seq_of"): type_checks.is_seq_of,
    ("mmcv", "is_str"): type_checks.is_str,
    ("mmcv", "is_tuple_of"): type_checks.is_tuple_of,
    ("mmcv", "to_1tuple"): repeated_values.to_1tuple,
    ("mmcv", "to_2tuple"): repeated_values.to_2tuple,
    ("mmcv", "to_3tuple"): repeated_values.to_3tuple,
    ("mmcv", "to_4tuple"): repeated_values.to_4tuple,
    ("mmcv", "to_ntuple"): repeated_values.to_ntuple,
    ("mmengine", "BaseModule"): openmmlab_modules.BaseModule,
    ("mmengine", "ConfigDict"): addict_dictionaries.ConvertingConfigDict,
    ("mmengine", "ModuleDict"): openmmlab_modules.ModuleDict,
    ("mmengine", "ModuleList"): openmmlab_modules.ModuleList,
    ("mmengine", "Sequential"): openmmlab_modules.Sequential,
    ("mmengine", "deprecated_api_warning"): renamed_arguments.deprecated_api_warning,
    ("mmengine", "is_list_of"): type_checks.is_list_of,
    ("mmengine", "is_seq_of"): type_checks.is_seq_of,
    ("mmengine", "is_str"): type_checks.is_str,
    ("mmengine", "is_tuple_of"): type_checks.is_tuple_of,
    ("mmengine", "to_1tuple"): repeated_values.to_1tuple,
    ("mmengine", "to_2tuple"): repeated_values.to_2tuple,
    ("mmengine", "to_3tuple"): repeated_values.to_3tuple,
    ("mmengine", "to_4tuple"): repeated_values.to_4tuple,
    ("mmengine", "to_ntuple"): repeated_values.to_ntuple,
    ("munch", "DefaultMunch"): attribute_dictionaries.DefaultMunch,
    ("munch", "Munch"): attribute_dictionaries.Munch,
    ("munch", "munchify"): attribute_dictionaries.munchify,
    ("omegaconf", "DictConfig"): omegaconf_configurations.DictConfig,
    ("omegaconf", "ListConfig"): omegaconf_configurations.ListConfig,
    ("omegaconf", "II"): omegaconf_configurations.II,
    ("omegaconf", "MISSING"): omegaconf_configurations.MISSING,
    ("omegaconf", "OmegaConf"): omegaconf_configurations.OmegaConf,
    ("omegaconf", "SI"): omegaconf_configurations.SI,
    ("timm", "to_1tuple"): repeated_values.timm_1tuple,
    ("timm", "to_2tuple"): repeated_values.timm_2tuple,
    ("timm", "to_3tuple"): repeated_values.timm_3tuple,
    ("timm", "to_4tuple"): repeated_values.timm_4tuple,
    ("timm", "to_ntuple"): repeated_values.timm_ntuple,
    ("transformers", "PreTrainedConfig"): transformers_configurations.PretrainedConfig,
    ("transformers", "PretrainedConfig"): transformers_configurations.PretrainedConfig,
    ("typeguard", "check_argument_types"): type_checks.check_argument_types,
    ("yacs", "CfgNode"): config_nodes.CfgNode,
}
"""By the top-level package and the name of the class or function; some packages have it in several modules."""

_TRANSPARENT: dict[tuple[str, str], Callable[..., Any]] = {
    ("overrides", "overrides"): transparent_decorators.overrides,
    ("transformers", "add_code_sample_docstrings"): transparent_decorators.documenting,
    ("transformers", "add_end_docstrings"): transparent_decorators.documenting,
    ("transformers", "add_start_docstrings"): transparent_decorators.documenting,
    ("transformers", "add_start_docstrings_to_model_forward"): transparent_decorators.documenting,
    ("transformers", "replace_return_docstrings"): transparent_decorators.documenting,
}
"""Decorators by package and name, which do the same whatever they are given, stand-ins too."""

SUBMODULES = frozenset(
    {"attr.converters", "attrs.converters", "gym.spaces", "gym.spaces.utils", "gymnasium.spaces"}
    | {"gymnasium.spaces.utils", "hydra.utils"}
    | {"ml_collections.config_dict", "mmcv.utils", "mmengine.config", "mmengine.utils"}
)
"""Modules with such parts that their packages import themselves."""


def known_in(module: str, name: str) -> Any | None:
    """What stands for ``name`` of a missing module, if it is known what that does; otherwise None."""
    key = module.partition(".")[0], name
    if decorator := _TRANSPARENT.get(key):
        return KnownDecorator(f"{module}.{name}", decorator)
    if key[0] == "transformers" and name.endswith(("Tokenizer", "TokenizerFast")):
        return text_tokenizers.TokenizerClass(f"{module}.{name}")
    found = _KNOWN.get(key)
    if found is None and key[0] == "transformers" and name.endswith("Config"):
        found = transformers_configurations.packages_configuration(name)
    if not callable(found) or (isinstance(found, type) and issubclass(found, BaseException)):
        return found
    kind = KnownClass if isinstance(found, type) else KnownFunction
    return kind(f"{module}.{name}", found)


class KnownClass(StandIn):
    """Stands for such a class: as a base and in ``isinstance``, and as a function that makes an instance."""

    def __init__(self, name: str, cls: type) -> None:
        super().__init__(name)
        self.__dict__["_class"] = cls

    def __getattr__(self, name: str) -> Any:
        own = None if name.startswith("_") else getattr(self._class, name, None)
        return super().__getattr__(name) if own is None else own

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """An instance; a stand-in if it is made of one, unless it is a module, whose parts stand-ins may be."""
        if any(isinstance(value, StandIn) for value in args) and not issubclass(self._class, torch.nn.Module):
            return StandIn(f"{self._name}()")
        return self._class(*args, **kwargs)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """The class to inherit from."""
        return (self._class,)

    def __eq__(self, other: object) -> bool:
        """Whether ``other`` is this class, as in ``type(space) == Box``."""
        return self._class is (other._class if isinstance(other, KnownClass) else other)

    def __hash__(self) -> int:
        return hash(self._class)

    def __or__(self, *others: object) -> Any:
        """The union with another class, as ``isinstance(space, Box | Discrete)`` has it."""
        classes = [other._class if isinstance(other, KnownClass) else other for other in others]
        are_classes = all(isinstance(cls, type | UnionType | None) for cls in classes)
        return functools.reduce(operator.or_, classes, self._class) if are_classes else super().__or__(*others)

    __ror__ = __or__

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._class)

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self._class)


class KnownFunction(StandIn):
    """Stands for such a function. What it does with traced values and with stand-ins is left open, as for any other."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(name)
        self.__dict__["_function"] = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function returns; a stand-in if that is not known for these arguments."""
        is_known = not any(map(_is_open, (*args, *kwargs.values())))
        result = self._function(*args, **kwargs) if is_known else NotImplemented
        return super().__call__(*args, **kwargs) if result is NotImplemented else result


class KnownDecorator(KnownFunction):
    """Stands for a decorator that changes nothing, whatever it is given."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What it decorates, or a decorator that returns that."""
        return self._function(*args, **kwargs)


def _is_open(value: object) -> bool:
    """Whether ``value`` is a stand-in or traced, or a list or tuple with such a value."""
    return any(map(_is_open, value)) if isinstance(value, list | tuple) else isinstance(value, StandIn | Proxy)
