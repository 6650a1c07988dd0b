"""Classes that attrs completes: it writes a constructor that sets the fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fx_lsp.agent.importing.stand_ins import StandIn, StandInBase, noting_instances

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
    is_compared: bool = True

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


def field(
    default: Any = _EMPTY, *others: Any, factory: Any = None, init: bool = True, kw_only: bool = False, **more: Any
) -> Any:
    """A field; NotImplemented if it is converted in a way that is not known.

    ``others`` may be a validator, and whether the field is shown.
    """
    converter = more.get("converter") or (lambda value: value)
    if not callable(converter) or "alias" in more or len(others) > 2:
        return NotImplemented
    compared = [more[name] for name in ("cmp", "eq") if more.get(name) is not None]
    return Field(default if factory is None else Factory(factory), converter, init, kw_only, all(compared))


def optional(converter: Any) -> Any:
    """A converter that leaves None as it is; also stands for attrs's validator of that name, as all do."""
    return (lambda value: None if value is None else converter(value)) if callable(converter) else NotImplemented


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


_fields: dict[type, dict[str, Field] | None] = {}
"""The fields of the classes that were completed, by name, with those of their base classes; None if not known."""


def _completed(
    cls: Any,
    *,
    annotated: bool | None,
    keeps_own: bool,
    init: bool = True,
    kw_only: bool = False,
    **options: Any,
) -> Any:
    """``cls`` with a constructor; if its fields are not known, each instance is a use of what is missing.

    ``annotated``: whether each annotated name is a field; None if that depends on whether all fields are annotated.
    Of the other ``options``, those for printing and for freezing instances do not matter.
    """
    if not _is_known(cls, options):
        _fields[cls] = None
        return noting_instances(cls, "attr.s")
    keeps_own = keeps_own or bool(options.get("auto_detect"))
    fields: dict[str, Field] = {}
    for base in reversed(cls.__mro__):
        _add(fields, _fields.get(base) or {})
    own = _own_fields(cls, annotated)
    for name, one in own.items():
        one.is_keyword |= kw_only
        if name in vars(cls):
            delattr(cls, name)
    _add(fields, own)
    _fields[cls] = fields
    is_written = init and not (keeps_own and "__init__" in vars(cls))
    setattr(cls, "__init__" if is_written else "__attrs_init__", _constructor(fields))
    _make_comparable(cls, [name for name, one in fields.items() if one.is_compared], keeps_own, options)
    return cls


def _is_known(cls: type, options: Mapping[str, Any]) -> bool:
    """Whether all fields of ``cls`` are known, and how each is set."""
    are_bases_known = all(_fields.get(base, {}) is not None for base in cls.__mro__)
    unknown = [repr(value) for value in vars(cls).values() if isinstance(value, StandIn)]
    changes_fields = any(options.get(name) is not None for name in ("these", "field_transformer"))
    is_known = not changes_fields and not any(name.startswith("attr") for name in unknown)
    return is_known and are_bases_known and not issubclass(cls, StandInBase)


def _add(fields: dict[str, Field], more: Mapping[str, Field]) -> None:
    """Add fields at the end, even those that were there before."""
    for name, one in more.items():
        fields.pop(name, None)
        fields[name] = one


def _make_comparable(cls: Any, names: Sequence[str], keeps_own: bool, options: Mapping[str, Any]) -> None:
    """Have instances compared by their fields ``names``, and hashed by them if the options say so."""

    def values(instance: Any) -> tuple[Any, ...]:
        return tuple(getattr(instance, name) for name in names)

    def is_equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if type(self) is type(other) else NotImplemented

    own = vars(cls).keys() if keeps_own else ()
    given = [options[name] for name in ("cmp", "eq") if options.get(name) is not None]
    is_compared = bool(given[0]) if given else "__eq__" not in own
    is_hashed = next((options[name] for name in ("unsafe_hash", "hash") if options.get(name) is not None), None)
    had_hash = "__hash__" in own and vars(cls)["__hash__"] is not None
    if is_compared:
        cls.__eq__ = is_equal
    if is_hashed or (is_hashed is None and is_compared and options.get("frozen") and not had_hash):
        cls.__hash__ = lambda self: hash(values(self))
    elif is_hashed is None and is_compared and not had_hash:
        cls.__hash__ = None


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
