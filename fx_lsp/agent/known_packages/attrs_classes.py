"""Classes that attrs completes: it writes a constructor that sets the fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_EMPTY = inspect.Parameter.empty


@dataclass(eq=False)
class Factory:
    """attrs's: a default that a function makes for each instance, of the instance if ``takes_self``."""

    factory: Callable[..., Any]
    takes_self: bool = False


@dataclass(eq=False)
class Field:
    """What a class says of one of its fields."""

    value: Any = _EMPTY
    """The default, which may be a `Factory`."""
    converter: Callable[[Any], Any] = lambda value: value
    is_argument: bool = True
    is_keyword: bool = False

    def default(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A decorator for a method that returns the default."""
        self.value = Factory(function, takes_self=True)
        return function

    def validator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A decorator for a method that checks values; we take all values for right."""
        return function

    def parameter(self, name: str) -> inspect.Parameter:
        """The constructor's parameter for the field ``name``."""
        kind = inspect.Parameter.KEYWORD_ONLY if self.is_keyword else inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Parameter(name.lstrip("_"), kind, default=self.value)

    def value_in(self, instance: Any, given: Mapping[str, Any], name: str) -> Any:
        """The value of the field ``name``, of the arguments ``given`` or by default."""
        value = given.get(name.lstrip("_"), self.value)
        if isinstance(value, Factory):
            value = value.factory(*([instance] if value.takes_self else []))
        return self.converter(value)


def field(default: Any = _EMPTY, *, factory: Any = None, init: bool = True, kw_only: bool = False, **more: Any) -> Any:
    """A field; NotImplemented if it is converted in a way that is not known."""
    converter = more.get("converter") or (lambda value: value)
    if not callable(converter) or "alias" in more:
        return NotImplemented
    return Field(default if factory is None else Factory(factory), converter, init, kw_only)


def attrs(cls: Any = None, *, auto_attribs: bool = False, **options: Any) -> Any:
    """attrs's older decorator: unless ``auto_attribs``, only what is set to a field is one."""
    return _decorator(cls, functools.partial(_completed, annotated=auto_attribs, keeps_own=False, **options))


def define(cls: Any = None, **options: Any) -> Any:
    """attrs's newer decorator: what is annotated is a field, and a constructor that the class has is kept."""
    return _decorator(cls, functools.partial(_completed, annotated=None, keeps_own=True, **options))


def _decorator(cls: Any, complete: Callable[[type], type]) -> Any:
    if cls is None:
        return complete
    return complete(cls) if isinstance(cls, type) else NotImplemented


_fields: dict[type, dict[str, Field]] = {}
"""The fields of the classes that were completed, by name, with those of their base classes."""


def _completed(
    cls: Any,
    *,
    annotated: bool | None,
    keeps_own: bool,
    init: bool = True,
    eq: bool = True,
    kw_only: bool = False,
    **unused: Any,
) -> Any:
    """``cls`` with a constructor.

    ``annotated``: whether each annotated name is a field; None if that depends on whether all fields are annotated.
    Other ``unused`` options matter for printing, for hashing and for freezing instances.
    """
    fields: dict[str, Field] = {}
    for base in reversed(cls.__mro__):
        fields |= _fields.get(base, {})
    for name, own in _own_fields(cls, annotated).items():
        own.is_keyword |= kw_only
        fields.pop(name, None)
        fields[name] = own
        if name in vars(cls):
            delattr(cls, name)
    _fields[cls] = fields
    if init and not (keeps_own and "__init__" in vars(cls)):
        cls.__init__ = _constructor(fields)
    if eq and not (keeps_own and "__eq__" in vars(cls)):
        cls.__hash__ = None
    return cls


def _own_fields(cls: type, annotated: bool | None) -> dict[str, Field]:
    own = vars(cls)
    said = {name: value for name, value in own.items() if isinstance(value, Field)}
    annotations = [name for name, kind in inspect.get_annotations(cls).items() if "ClassVar" not in str(kind)]
    if annotated is None:
        annotated = said.keys() <= set(annotations)
    if not annotated:
        return said
    values = {name: own.get(name, _EMPTY) for name in annotations}
    return {name: value if isinstance(value, Field) else Field(value) for name, value in values.items()}


def _constructor(fields: Mapping[str, Field]) -> Callable[..., None]:
    """A constructor that sets ``fields``, and calls the methods that attrs calls before and after that."""
    taken = sorted((one.parameter(name) for name, one in fields.items() if one.is_argument), key=lambda one: one.kind)
    signature = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *taken])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs).arguments
        getattr(self, "__attrs_pre_init__", lambda: None)()
        for name, one in fields.items():
            if one.is_argument or one.value is not _EMPTY:
                setattr(self, name, one.value_in(self, given, name))
        getattr(self, "__attrs_post_init__", lambda: None)()

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__
