"""What hydra builds of configurations such as ``{"_target_": "models.Net", "width": 8}``."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.known_packages.omegaconf_configurations import ListConfig, holding, merged, node

_OPTIONS = ("_target_", "_args_", "_partial_", "_recursive_", "_convert_")


def get_object(path: Any) -> Any:
    """The class, function or module with the dotted name ``path``; NotImplemented if there is none."""
    parts = path.split(".") if isinstance(path, str) else [""]
    for count in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
        except (ModuleNotFoundError, ValueError):
            continue
        try:
            return functools.reduce(getattr, parts[count:], found)
        except AttributeError:
            break
    return NotImplemented


def get_class(path: Any) -> Any:
    """The class with the dotted name ``path``; NotImplemented if there is none."""
    found = get_object(path)
    return found if isinstance(found, type) else NotImplemented


def instantiate(config: Any = None, *args: Any, **kwargs: Any) -> Any:
    """What ``config`` says to call, called with its values, ``args`` and ``kwargs``; NotImplemented if not known."""
    return None if config is None else _instantiated(config, args, kwargs, is_recursive=True, convert="none")


def _instantiated(
    config: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, is_recursive: bool, convert: str
) -> Any:
    """What `instantiate` returns; ``is_recursive`` and ``convert`` hold unless ``config`` says otherwise."""
    said = merged([config, kwargs]) if isinstance(config, Mapping) else {}
    target = said.get("_target_", NotImplemented)
    function = get_object(target) if isinstance(target, str) else target
    if not callable(function):
        return NotImplemented
    value = functools.partial(
        _value, is_recursive=said.get("_recursive_", is_recursive), convert=said.get("_convert_", convert)
    )
    args = args or tuple(map(value, said.get("_args_", ())))
    kwargs = {key: value(said[key]) for key in said if key not in _OPTIONS}
    return functools.partial(function, *args, **kwargs) if said.get("_partial_") else function(*args, **kwargs)


def _value(value: Any, *, is_recursive: bool, convert: str) -> Any:
    """What is passed for a value of a configuration.

    That is what it describes if ``is_recursive``. ``convert``: "none" unless as plain dictionaries and lists.
    """
    same = functools.partial(_value, is_recursive=is_recursive, convert=convert)
    is_plain = convert != "none"
    match value:
        case Mapping() if is_recursive and "_target_" in value:
            made = _instantiated(value, (), {}, is_recursive=is_recursive, convert=convert)
            return StandIn("hydra.utils.instantiate()") if made is NotImplemented else made
        case Mapping():
            items = {key: same(item) for key, item in value.items()}
            return items if is_plain else holding(items)
        case list() | tuple() | ListConfig():
            return [*map(same, value)] if is_plain else holding([*map(same, value)])
    return node(value, "value") if isinstance(value, str) else value
