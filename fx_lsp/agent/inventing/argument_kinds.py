"""Guesses what kind of value a constructor's parameter takes, from its annotation, name and default alone."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import enum
import inspect
import itertools
import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Literal

import torch

from fx_lsp.agent.inventing.example_spaces import example_spaces
from fx_lsp.agent.missing.process_group import is_group

KindName = Literal[
    "number",
    "text",
    "list",
    "tuple",
    "settings",
    "dictionary",
    "vocabulary",
    "named",
    "class",
    "function",
    "module",
    "tensor",
    "parameter",
    "array",
    "object",
    "group",
    "value",
]

OF_SETTINGS: frozenset[KindName] = frozenset({"settings", "dictionary", "vocabulary", "named"})
"""The kinds of objects that have settings of any name."""


@dataclass(frozen=True)
class ArgumentKind:
    """The kind of value to invent for an argument."""

    name: KindName
    """``settings``: an object with attributes and items of any name. ``dictionary``: such settings that pass for a
    dictionary. ``vocabulary``: such settings that have a length. ``named``: such settings whose class has the name
    ``value``. ``parameter``: a parameter of a module. ``array``: an array of NumPy. ``class``: a callable that returns
    modules. ``function``: a callable that returns an invented value, whose path is that of the function with ``()``
    behind it. ``object``: an instance of the class ``value``. ``group``: the process group, or the mesh of devices, of
    one process, whose class is ``value``. ``value``: ``value`` itself."""
    value: Any = None
    """Depends on ``name``: the number, the string, the length of a list or tuple, the shape of a tensor, parameter or
    array, the class of an object, the value, or the names that settings have from the start (None: no names). Of a
    module: True if it stands for settings."""
    items: tuple[Any, ...] = ()
    """The annotations of the items of a list or a tuple, repeated as often as needed, or that of all settings. Of a
    value: others that may be tried instead."""
    certain: bool = True
    """Whether to keep a string even if the program compares it with a different one. Of a tensor: whether the program
    does with it what only tensors allow."""


class DeviceName(str):
    """The name of a device, of which programs may also read the type, as of a ``torch.device``."""

    __slots__ = ()

    @property
    def type(self) -> str:
        """The name itself, as it has no index."""
        return str(self)


_FLAGS = re.compile(
    r"^(is|use|has|with|do|add|enable|return|no|need|learn|apply|fuse)_|bias$|causal|inplace|pretrain|bidirectional|"
    r"affine|trainable|debug|verbose|^share|training$|deterministic"
)

_TEXTS = (
    (re.compile(r"act(ivation)?(_type|_name|_fn)?$|nonlinearity"), "relu"),
    (re.compile(r"(mode|type|name)$|(^|_)(file|filepath|dir|folder|(?<!drop_)path)$"), ""),
)

_COUNT = re.compile(r"(n|num|number)_")
"""The beginning of the names of numbers, whatever is counted: ``num_atom_type``."""

_SETTINGS = re.compile(r"(^|_)(cfg|config|conf|args|opts?|hparams|options|settings)$")

_SIDE = r"size|resolution|height|image|img|^h$|^w$|spatial|shape"
"""The names of heights and widths."""

_NUMBERS: tuple[tuple[re.Pattern[str], float], ...] = tuple(
    (re.compile(pattern), value)
    for pattern, value in (
        (r"dilation", 1),
        (r"growth_?rate", 16),
        (r"(^|_)(sample|sampling|frame)_?rate", 16_000),
        (r"drop|prob|^p$|(^|_)rate$|jitter|noise", 0.0),
        (r"(^|_)eps$|epsilon$", 1e-5),
        (r"momentum|alpha|beta|gamma|temperature|^tau$|sigma|^lr$|(^|_)weight$|slope|init_value|threshold|margin", 0.1),
        (r"^(n_?|num_)dims?$|spatial_dims?$", 2),
        (r"(head_dim|dim_head|head_size|head_channels)", 16),
        (r"_(dim|channels?|chans?|chs?|features?|planes|width)$", 64),
        (r"head|groups?_num", 4),
        (r"(^|_)groups?$", 1),
        (r"ratio|mult|expan|factor|scale|upsample|downsample", 2),
        (r"reduction|squeeze|rank|expert|shrink", 4),
        (r"class|label", 10),
        (r"vocab|num_embeddings|codebook|bins|entries", 64),
        (r"kernel|^ks?$|ksize|filter_size", 3),
        (r"stride|repeat", 1),
        (r"pad", 1),
        (r"patch|window|chunk|tile|bucket|pool(ing)?_size", 4),
        (r"(^|_)(idx|index|id|offset|start|stage|order)$|^i$", 0),
        (r"length|len$|(^|_)seq|position|timestep|steps|frames|horizon|tokens|num_patches|context|queries|points", 16),
        (r"(dim|channels?|chans?|chs?|features?|planes|width|units|size_in|size_out)$", 64),
        (_SIDE, 32),
        (r"(^|_)(n|num)_?(\w+_)?(layer|block|stage|level)$", 2),
        (r"depth|layers|blocks|stages|levels|scales|convs|num_branches|iters?$|n_l$", 2),
        (r"top_?k|num_", 2),
    )
)

INVENTED_MODULE = "fx_lsp.agent.inventing.invented_values.NamedInventedModule"
"""The dotted name of the class of modules that stand for one that a configuration names."""

WIDTH = 64
"""The number for a parameter whose name suggests none: most of these are widths, and equal widths fit together."""

_PAIRS = re.compile(r"size|shape|stride|kernel|pad|resolution|dilation|window|patch|range|betas|pool")

_PLURAL = ("sizes", "rates", "strides", "kernels", "dilations", "paddings", "shapes", "windows", "patches")

_SEQUENCES = frozenset({list, tuple, set, frozenset}) | {
    collections.abc.Sequence,
    collections.abc.Iterable,
    collections.abc.Collection,
}

_EMPTY = inspect.Parameter.empty


def first_guess(name: str, annotation: Any, namespace: Mapping[str, Any]) -> ArgumentKind:
    """The likely kind of the parameter ``name``; the file's ``namespace`` resolves an annotation that is a string."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, dict(namespace))
        except Exception:  # it is meant only for readers or a type checker
            annotation = _EMPTY
    return _by_annotation(name, annotation, namespace) or _by_name(name)


_PLACEHOLDERS = {tuple: list, list: list, dict: dict, str: str, int: int}
"""The types of defaults that may only hold a place, with the types of what is invented instead."""


def is_placeholder(default: Any) -> bool:
    """Whether a default may only hold the place of an argument: ``ch=()``, ``names={}``, ``groups=-1``.

    It may be there only because a parameter before it has a default, too.
    """
    kind = type(default)
    return kind in _PLACEHOLDERS and (default == -1 if kind is int else not default)


def is_required(parameter: inspect.Parameter) -> bool:
    """Whether a parameter needs an argument: it has no default, or OmegaConf's mark of fields that lack a value."""
    return parameter.default is parameter.empty or (type(parameter.default) is str and parameter.default == "???")


def annotation_of(parameter: inspect.Parameter) -> Any:
    """The annotation of a parameter. If there is none, the type of a default that holds the place of an argument."""
    if parameter.annotation is parameter.empty and is_placeholder(parameter.default):
        return _PLACEHOLDERS[type(parameter.default)]
    return parameter.annotation


def items_of(name: str) -> int:
    """How many items a list of this name is likely to have."""
    lower = name.lower()
    is_of_stages = lower.endswith(_PLURAL)  # `kernel_sizes` has as many items as `channels`, unlike `kernel_size`
    return 2 if _PAIRS.search(lower) and not is_of_stages else 4


def number_for(name: str) -> float:
    """A number that is likely to suit a parameter of this name."""
    lower = name.lower()
    return next((value for pattern, value in _NUMBERS if pattern.search(lower)), WIDTH)


def suggests_number(name: str) -> bool:
    """Whether a parameter's name says something about its number, unlike ``B`` or ``X``."""
    return len(name) > 2 and any(pattern.search(name.lower()) for pattern, _ in _NUMBERS)


def is_side(name: str) -> bool:
    """Whether a parameter of this name is probably the height or the width of an image."""
    lower = name.lower()
    return next((pattern.pattern for pattern, _ in _NUMBERS if pattern.search(lower)), "") == _SIDE


def _by_name(name: str) -> ArgumentKind:
    lower = name.lower()
    if _FLAGS.search(lower):
        return ArgumentKind("value", value=False)
    if lower == "device":
        return ArgumentKind("value", DeviceName("cpu"))
    if lower in ("target", "_target_"):  # of a configuration: the dotted name of the class to instantiate
        return ArgumentKind("value", value=INVENTED_MODULE)
    if lower in ("module", "submodule"):
        return ArgumentKind("module")
    if lower.endswith("dtype"):
        return ArgumentKind("value", torch.float32)
    if lower == "generator":
        return ArgumentKind("value", value=None)
    for pattern, text in () if _COUNT.match(lower) else _TEXTS:
        if pattern.search(lower):
            return ArgumentKind("text", text, certain=False)
    return ArgumentKind("settings") if is_settings(name) else ArgumentKind("number", number_for(name))


def _by_annotation(name: str, annotation: Any, namespace: Mapping[str, Any]) -> ArgumentKind | None:
    if annotation is _EMPTY or annotation is Any:
        return None
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        options = [option for option in arguments if option is not type(None)]
        return first_guess(name, options[0], namespace)
    if origin is typing.Annotated:
        return first_guess(name, arguments[0], namespace)
    if origin is Literal:
        return ArgumentKind("value", arguments[0])
    cls = class_behind(origin or annotation)
    if not isinstance(cls, type):  # such as what is missing, which notes that it is compared
        return None
    if cls in _SEQUENCES:
        inner = tuple(argument for argument in arguments if argument is not Ellipsis)
        fixed = cls is tuple and inner and Ellipsis not in arguments
        return ArgumentKind("tuple" if cls is tuple else "list", len(inner) if fixed else items_of(name), inner)
    if cls in (type, collections.abc.Callable, types.FunctionType):
        return ArgumentKind("class")
    if examples := example_spaces(cls):
        return ArgumentKind("value", examples[0], examples[1:])
    if issubclass(cls, Mapping):
        return ArgumentKind("settings", items=arguments[1:2])
    return _by_class(name, cls)


def class_behind(annotation: Any) -> Any:
    """The class that a part of a missing package stands for where that is known; anything else as it is."""
    known = None if isinstance(annotation, type) else getattr(annotation, "__dict__", {}).get("_class")
    return known if isinstance(known, type) else annotation


def _by_class(name: str, cls: type) -> ArgumentKind | None:
    if cls is bool:
        return ArgumentKind("value", value=False)
    if cls in (int, float):
        number = number_for(name)
        return ArgumentKind("number", cls(number) if cls is float or number >= 1 else 0)
    if cls is str:
        text = next((text for pattern, text in _TEXTS if pattern.search(name.lower())), "")
        return ArgumentKind("text", text, certain=False)
    if cls is torch.device:
        return ArgumentKind("value", torch.device("cpu"))
    if cls in (torch.dtype, torch.Generator, object, type(None)):
        return ArgumentKind("value", torch.float32 if cls is torch.dtype else None)
    if issubclass(cls, enum.Enum):
        return ArgumentKind("value", next(iter(cls), None))
    if issubclass(cls, torch.Tensor):
        return ArgumentKind("tensor", (WIDTH,))
    if cls is torch.nn.Module:
        return ArgumentKind("module")
    if is_group(cls):
        return ArgumentKind("group", cls)
    concrete = itertools.filterfalse(inspect.isabstract, _with_subclasses(cls))
    return ArgumentKind("object", next(concrete, cls))


def _with_subclasses(cls: type) -> Iterator[type]:
    """``cls`` and the classes that inherit from it so far, the nearest first."""
    waiting, seen = collections.deque([cls]), {cls}
    while waiting:
        yield (one := waiting.popleft())
        below: list[type] = type.__subclasses__(one)
        new = [other for other in below if other not in seen]
        seen.update(new)
        waiting.extend(new)


def config_class(owner: type | FunctionType, namespace: Mapping[str, Any]) -> type | None:
    """The class of the settings of ``owner``: its own ``config_class``, or the likeliest class of the file.

    Of the file's classes, only those that can be instantiated without arguments are considered.
    """
    own = getattr(owner, "config_class", None)
    if isinstance(own, type):
        return own
    found = [
        value
        for name, value in namespace.items()
        if isinstance(value, type) and is_settings_class(name) and _needs_nothing(value)
    ]
    return max(found, key=lambda cls: _common_prefix(cls.__name__, owner.__name__), default=None)


def is_settings(name: str) -> bool:
    """Whether a parameter of this name is likely to take settings."""
    return _SETTINGS.search(name.lower()) is not None


def is_settings_class(name: str) -> bool:
    """Whether a class of this name holds settings."""
    return name.endswith(("Config", "Args", "Params"))


def _needs_nothing(cls: type) -> bool:
    if dataclasses.is_dataclass(cls):
        fields = dataclasses.fields(cls)
        missing = dataclasses.MISSING
        return all(not f.init or f.default is not missing or f.default_factory is not missing for f in fields)
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def _common_prefix(one: str, other: str) -> int:
    """The length of the prefix that two names have in common."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
