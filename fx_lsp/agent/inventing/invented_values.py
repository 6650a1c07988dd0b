"""Invented values that report when they are used as something that they are not."""

from __future__ import annotations

import contextlib
import copy
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import torch
from torch.nn import init
from torch.overrides import TorchFunctionMode

from fx_lsp.agent.frame_code import is_about_to_call
from fx_lsp.agent.inventing.argument_kinds import WIDTH, ArgumentKind, items_of, number_for
from fxcore.proxy import Proxy

T = TypeVar("T")

Make = Callable[[str, str], Any]
"""Makes the value at a path, whose last name is the second argument."""


_OF_MODULES = frozenset(
    {"parameters", "named_parameters", "buffers", "modules", "named_modules", "children", "named_children"}
    | {"state_dict", "load_state_dict", "forward", "eval", "requires_grad_", "register_forward_hook"}
)
"""Methods whose use shows that a value should be a module."""


OF_ARRAYS = frozenset({"ndim", "shape", "dtype", "device", "numpy", "detach", "item", "tolist", "iterrows"})
"""Attributes by which programs tell arrays from numbers and lists."""


_OF_PROBES = frozenset({"path", "certain", "compared", "tested", "make", "last_iterated"})
"""The attributes that probes themselves have."""


ENTRIES = ("first", "second")
"""The keys of a mapping whose items are asked for before any of them was read by its key."""


class Misused(BaseException):
    """An invented value was used as something that it is not. An ``except Exception`` in the program can't catch it."""

    def __init__(self, path: str, kind: ArgumentKind) -> None:
        super().__init__(path, kind)
        self.path = path
        self.kind = kind
        """The kind of value that this use requires."""

    def __str__(self) -> str:
        return f"`{self.path}` is used as something that fx-lsp has not guessed"


class TooLarge(BaseException):
    """With invented arguments, a class has far more submodules than its author can have meant."""


def _is_numpy_asking() -> bool:
    """Whether numpy looks up the attribute: it asks any value for the method before it makes an array of the value."""
    return str(sys._getframe(2).f_globals.get("__name__")).partition(".")[0] == "numpy"


class Probe:
    """The base class of invented values: raises `Misused` if a value is used as something else.

    A probe is not callable, since `callable` would then return True. The error that Python raises for a call names the
    probe's class, and each probe has a class of its own, named after its path (see `probe`).
    """

    path: str
    """Where the value comes from, e.g. ``config.depths[0]``."""
    certain: bool

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in OF_ARRAYS or _is_numpy_asking():
            raise AttributeError(name, name=name, obj=self)
        if name in _OF_MODULES:
            raise Misused(self.path, ArgumentKind("module"))
        raise Misused(
            self.path, ArgumentKind("text", "", certain=False) if hasattr(str, name) else ArgumentKind("settings")
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _OF_PROBES:
            raise Misused(self.path, ArgumentKind("module" if isinstance(value, torch.nn.Module) else "settings"))
        super().__setattr__(name, value)

    def __getitem__(self, key: Any) -> Any:
        # There is no __iter__: with it, `isinstance(x, Iterable)` would be true. Without it, iteration calls this.
        self._indexed_by(key)
        raise Misused(self.path, ArgumentKind("settings") if isinstance(key, str) else _list(self.path))

    def _indexed_by(self, key: Any) -> None:
        """Raise `Misused` if only a tensor accepts the key: one that is traced, or that has a slice for each dimension.

        An object of the program's own may accept a traced key, too. What is called once a traced key has selected it is
        a module of a list, which fails as any list does.
        """
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(one, Proxy) for one in keys):
            if is_about_to_call(sys._getframe(2)):
                self._is_list_of_modules()
            raise Misused(self.path, ArgumentKind("tensor", (WIDTH, WIDTH), certain=False))
        if isinstance(key, tuple) and any(isinstance(one, slice | type(...)) for one in key):
            raise Misused(self.path, ArgumentKind("tensor", (WIDTH,) * max(sum(one is not None for one in key), 2)))

    def _is_list_of_modules(self) -> None:
        """Raise `Misused`, since this is no list of modules."""
        raise Misused(self.path, _list(self.path))

    def __setitem__(self, key: Any, value: Any) -> None:
        self[key]

    def __len__(self) -> int:
        raise Misused(self.path, _list(self.path))

    def __contains__(self, item: object) -> bool:
        raise Misused(self.path, ArgumentKind("settings") if isinstance(item, str) else _list(self.path))


class _Constant(Probe):
    """An invented number or text. It is its own copy, and Python's own value once it is stored: see `plain`."""

    def __copy__(self) -> Probe:
        return self

    def __deepcopy__(self, memo: object) -> Probe:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        value = plain(self)
        return type(value), (value,)


class _Number(_Constant):
    """An invented number."""

    tested: set[str]
    """Receives the path of a number on which the program bases a decision: ``if cfg.clip > 0:``."""

    def __bool__(self) -> bool:
        return self._tested_by("__bool__")

    def __lt__(self, other: Any) -> bool:
        return self._tested_by("__lt__", other)

    def __le__(self, other: Any) -> bool:
        return self._tested_by("__le__", other)

    def __gt__(self, other: Any) -> bool:
        return self._tested_by("__gt__", other)

    def __ge__(self, other: Any) -> bool:
        return self._tested_by("__ge__", other)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            raise Misused(self.path, ArgumentKind("text", other))
        return self._tested_by("__eq__", other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _tested_by(self, method: str, *others: object) -> bool:
        self.tested.add(self.path)
        return getattr(super(), method)(*others)  # type: ignore[no-any-return]


class InventedInt(_Number, int):
    """An invented int. What is added to a list or a tuple, as by ``[3] + widths``, is one itself."""

    compared: dict[int | str | type, None]
    """Collects the numbers and classes that the int is compared with, since the program may require one of them."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, type) or (type(other) is int and int(self) != other):
            self.compared[other] = None
        return super().__eq__(other)

    __hash__ = int.__hash__

    def __add__(self, other: Any) -> Any:
        return self._joined_to(other, int.__add__)

    def __radd__(self, other: Any) -> Any:
        return self._joined_to(other, int.__radd__)

    def _joined_to(self, other: Any, add: Callable[[int, Any], Any]) -> Any:
        if isinstance(other, list | tuple):
            items = _list(self.path).value
            raise Misused(self.path, ArgumentKind("tuple" if isinstance(other, tuple) else "list", items))
        return add(self, other)


class InventedFloat(_Number, float):
    """An invented float."""

    __hash__ = float.__hash__


class InventedText(_Constant, str):
    """An invented str. Unless it is ``certain``, comparing it with another string raises `Misused` for that string."""

    compared: dict[int | str | type, None]
    """Collects the different strings that a ``certain`` string is compared with, like those of `InventedInt`, and those
    that the program looks for in the string."""
    __len__ = str.__len__

    def __getitem__(self, key: Any) -> Any:
        self._indexed_by(key)
        return str.__getitem__(self, key)

    def __contains__(self, item: object) -> bool:
        if found := str.__contains__(self, item):  # type: ignore[operator]
            return found
        self.compared[str(item)] = None
        return False

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and not self.certain and str(self) != str(other):
            raise Misused(self.path, ArgumentKind("text", str(other)))
        if type(other) is int and not self.certain:
            raise Misused(self.path, ArgumentKind("number", other))
        if isinstance(other, str) and str(self) != str(other):
            self.compared[str(other)] = None
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def lower(self) -> str:
        """Like ``str.lower``. The text itself if that is the same, so that what it is compared with is noticed."""
        return self._unless_changed(str.lower(self))

    def upper(self) -> str:
        """Like ``str.upper``; see `lower`."""
        return self._unless_changed(str.upper(self))

    def strip(self, chars: str | None = None, /) -> str:
        """Like ``str.strip``; see `lower`."""
        return self._unless_changed(str.strip(self, chars))

    def _unless_changed(self, text: str) -> str:
        return self if str.__eq__(self, text) else text

    def startswith(self, prefix: Any, *args: Any) -> bool:
        """Like ``str.startswith``, but an empty string that is not ``certain`` raises `Misused` for ``prefix``."""
        if isinstance(prefix, str) and str(prefix) and not self.certain and not str(self):
            raise Misused(self.path, ArgumentKind("text", str(prefix), certain=False))
        return str.startswith(self, prefix, *args)


class InventedList(Probe, list[Any]):
    """An invented list."""

    make: Make
    last_iterated: list[str]
    """Receives the path of a list that is iterated: an error about a wrong number of items does not name the list."""
    __len__ = list.__len__
    __contains__ = list.__contains__
    __hash__ = None

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, slice):
            self[key]
        list.__setitem__(self, key, value)

    def __getitem__(self, key: Any) -> Any:
        if not any(isinstance(item, torch.nn.Module) for item in list.__iter__(self)):
            self._indexed_by(key)
        if isinstance(key, Probe) and key.path.startswith(f"{self.path}["):  # it loops over the keys of a mapping
            raise Misused(self.path, ArgumentKind("settings", ENTRIES))
        if isinstance(key, str):
            raise Misused(self.path, ArgumentKind("settings"))
        if isinstance(key, int) and not -len(self) <= key < len(self):
            raise Misused(self.path, ArgumentKind("list", key + 1 if key >= 0 else -key))
        return list.__getitem__(self, key)

    def _is_list_of_modules(self) -> None:
        """Raise `Misused`, since the items are no modules yet."""
        raise Misused(f"{self.path}[0]", ArgumentKind("module"))

    def __iter__(self) -> Iterator[Any]:
        self.last_iterated[:] = [self.path]
        return list.__iter__(self)

    def __copy__(self) -> InventedList:
        return self._with(list.__iter__(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> InventedList:
        return self._with(copy.deepcopy(item, memo) for item in list.__iter__(self))

    def _with(self, items: Iterable[Any]) -> InventedList:
        made = type(self)(items)
        vars(made).update(vars(self))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return list, ([*list.__iter__(self)],)


def invented_tensor(shape: tuple[int, ...], *, certain: bool) -> torch.Tensor:
    """A tensor for an argument. Unless ``certain``, it is marked for `may_be_no_tensor`."""
    made: Any = torch.ones(shape)
    made.fx_lsp_is_guess = not certain
    return made  # type: ignore[no-any-return]


def may_be_no_tensor(value: object) -> bool:
    """Whether ``value`` was invented as a tensor for no other reason than that the program looked up a traced key."""
    return isinstance(value, torch.Tensor) and getattr(value, "fx_lsp_is_guess", False)


LARGE = 1 << 16
"""The number of elements from which a tensor's random values take noticeable time."""

_FILLS = frozenset(
    {torch.Tensor.normal_, torch.Tensor.uniform_, torch.Tensor.erfinv_, torch.Tensor.exponential_}
    | {init.normal_, init.uniform_, init.trunc_normal_, init.orthogonal_}
    | {init.kaiming_normal_, init.kaiming_uniform_, init.xavier_normal_, init.xavier_uniform_}
)
"""What fills weights with random values."""


class PlainNumbers(TorchFunctionMode):
    """A mode in which tensors can be made from invented numbers, whose ``__len__`` makes torch treat them as lists."""

    def __init__(self, *, fills: bool) -> None:
        """With ``fills``, large tensors get random values where the program wants them; otherwise they keep theirs.

        Arguments are searched for by building a class many times, and nearly all of that time would go into weights
        that nobody reads.
        """
        super().__init__()
        self._fills = fills

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if function in (torch.tensor, torch.as_tensor, torch.full):
            args = [plain(value) for value in args]
        if function in _FILLS and not self._fills:
            filled = args[0] if args else (kwargs or {})["tensor"]
            if filled.numel() >= LARGE:
                return filled
        return function(*args, **(kwargs or {}))


def plain(value: Any) -> Any:
    """Convert an invented number or text, or a list of these, to Python's own types."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    kinds = ((InventedInt, int), (InventedFloat, float), (InventedText, str))
    return next((own(value) for invented, own in kinds if isinstance(value, invented)), value)


class InventedSettings:
    """An object with attributes and items of any name, which are created when they are first read."""

    def __init__(self, path: str, make: Make, last_unpacked: list[str]) -> None:
        """``last_unpacked`` receives the path when the names are asked for."""
        self.__dict__["_path"] = path
        self.__dict__["_make"] = make
        self.__dict__["_last_unpacked"] = last_unpacked

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _OF_MODULES:
            raise Misused(self._path, ArgumentKind("module"))
        return self.__dict__.setdefault(name, self._make(f"{self._path}.{name}", name))

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__.get("_popped", set()).discard(name)
        self.__dict__[name] = value

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, str(key))

    __setitem__ = __setattr__

    def __iter__(self) -> Iterator[str]:
        # Without this method, iteration would read the items 0, 1, 2 and so on, endlessly.
        if not self.keys():
            raise TypeError(f"{type(self).__name__!r} object is not iterable")
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return key in self.__dict__

    def get(self, key: str, default: Any = None) -> Any:
        """The setting if it exists, otherwise the default; if the default is None, a setting is invented."""
        return self.__dict__.get(key, default) if default is not None else self[key]

    def pop(self, key: str, default: Any = None) -> Any:
        """The setting, as `get` returns it. It can be read again, but is no longer among the names."""
        self.__dict__.setdefault("_popped", set()).add(str(key))
        return self.get(key, default)

    def keys(self) -> list[str]:
        """The names that were read or set so far; this method makes ``**settings`` work."""
        self._last_unpacked[:] = [self._path]
        popped = self.__dict__.get("_popped", ())
        return [name for name in self.__dict__ if not name.startswith("_") and name not in popped]

    def items(self) -> list[tuple[str, Any]]:
        """The names as of `keys`, with the settings; if there are none, those of `ENTRIES` are created."""
        return [(name, self[name]) for name in self.keys() or ENTRIES]

    def values(self) -> list[Any]:
        """The settings of `items`."""
        return [value for _, value in self.items()]

    def copy(self, memo: object = None) -> InventedSettings:
        """Another such object, with the same settings."""
        made = type(self)(self._path, self._make, self._last_unpacked)
        made.__dict__.update(self.__dict__, _popped=set(self.__dict__.get("_popped", ())))
        return made

    __copy__ = __deepcopy__ = copy


class InventedVocabulary(InventedSettings):
    """Such settings that have a length, such as a vocabulary or a tokenizer."""

    def __len__(self) -> int:
        return WIDTH

    def __bool__(self) -> bool:
        return True


class InventedDictionary(InventedSettings, dict[str, Any]):  # type: ignore[misc]
    """Such settings, for a program that insists on a dictionary; all that it holds are the attributes."""

    def __len__(self) -> int:
        return len(self.items())

    def __bool__(self) -> bool:
        return True

    def update(self, *others: Any, **named: Any) -> None:
        """Set settings."""
        for name, value in dict(*others, **named).items():
            setattr(self, name, value)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The setting if it exists, otherwise the default, which becomes the setting unless it is None."""
        if default is not None:
            setattr(self, key, vars(self).get(key, default))
        return self[key]


class LastLayer(torch.nn.Linear):
    """The last layer of an invented network, which may also be the last of several: ``classifier[-1].in_features``."""

    def __getitem__(self, index: object) -> LastLayer:
        return self


class InventedModule(torch.nn.Module):
    """A placeholder for an unknown module. It accepts any arguments, and its call is recorded as one node."""

    expansion = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        # Not by assignment: this module has every attribute, and torch refuses to register a name that exists.
        self._parameters["weight"] = torch.nn.Parameter(torch.zeros(WIDTH, WIDTH))
        self._parameters["bias"] = None

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_"):
                raise
        make = self.__dict__.get("_make")
        if make is None and name in _LAST_LAYERS:
            return self._modules.setdefault(name, LastLayer(WIDTH, WIDTH))
        if make is None and is_about_to_call(
            sys._getframe(1)
        ):  # `self.encoder.encode(x)` is recorded as `self.encoder(x)`
            return self
        if make is None:
            return int(number_for(name))
        value = make(name)
        kept: dict[str, Any] = self._modules if isinstance(value, torch.nn.Module) else self.__dict__
        return kept.setdefault(name, value)

    def __delattr__(self, name: str) -> None:
        """Delete an attribute; one that was never set is as good as deleted, since this module has every attribute."""
        with contextlib.suppress(AttributeError):
            super().__delattr__(name)

    def forward(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the input. This is not run in a trace, where the module is a leaf."""
        return x


class NamedInventedModule(InventedModule):
    """The placeholder for a module whose class the program looks up by a name in a configuration (``target:``).

    Such a program builds its parts itself. What was traced without them is only what lies around them.
    """


class InventedHolder(InventedModule):
    """The placeholder for settings of which the program calls parts, as if they were a module: ``self.cfg.act(x)``.

    The program traces with them only if the real parts are registered, or if they are functions.
    """

    _path = ""


_ACTIVATIONS = (torch.nn.ReLU, torch.nn.LeakyReLU, torch.nn.GELU, torch.nn.ELU, torch.nn.Softmax)

_BY_NAME: tuple[tuple[re.Pattern[str], tuple[type[torch.nn.Module], ...]], ...] = (
    (re.compile("norm"), (torch.nn.LayerNorm, torch.nn.BatchNorm2d, torch.nn.GroupNorm)),
    (re.compile("(?<![a-z])act|activation|nonlin"), _ACTIVATIONS),  # but not `extractor` or `factor`
    (re.compile("conv"), (torch.nn.Conv2d, torch.nn.ConvTranspose2d)),
    (re.compile("linear"), (torch.nn.Linear,)),
)
"""By a pattern in a parameter's name: the module classes that it may take, the likeliest first."""

_LAST_LAYERS = frozenset({"classifier", "fc", "last_linear"})
"""The names of the last layers of networks, whose widths programs read: ``encoder.fc.weight.shape[1]``."""


def likely_module_class(name: str) -> type[torch.nn.Module]:
    """The module class that a parameter of this name is likely to take."""
    return next(iter(module_classes(name)), InventedModule)


def module_classes(name: str) -> tuple[type[torch.nn.Module], ...]:
    """The module classes that a parameter of this name may take, the likeliest first, if it suggests any."""
    return next((classes for pattern, classes in _BY_NAME if pattern.search(name.lower())), ())


def probing_module_class(name: str, path: str) -> type[torch.nn.Module]:
    """A subclass of the likely module class that raises `Misused` when the class itself is called like a module.

    Errors that refuse an instance name its class, which is named after the path unless a name is expected of it.
    """
    base = likely_module_class(name)

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if any(isinstance(value, Proxy) for value in (*args, *kwargs.values())):
            raise Misused(path, ArgumentKind("module"))
        base.__init__(self, *args, **kwargs)

    return type(f"{path}()" if base is InventedModule else base.__name__, (base,), {"__init__": init})


def invented_function(name: str, path: str, make: Make) -> Callable[..., Any]:
    """A function, such as a method of an object of settings, that returns a value of its name: ``dataset.num()``.

    What it returns for a traced value might depend on that, so it raises `Misused`.
    """

    def function(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(value, Proxy) for value in (*args, *kwargs.values())):
            raise Misused(path, ArgumentKind("module"))
        return make(f"{path}()", name)

    return function


def invented_module(name: str, path: str, make: Make) -> torch.nn.Module:
    """A module that a parameter of this name is likely to take. ``make`` makes the attributes that it has not got."""
    if likely_module_class(name) is torch.nn.ReLU:
        activation = torch.nn.ReLU()
        activation.__dict__[_MARK] = True
        return activation
    module = InventedModule()
    module.__dict__["_make"] = _Attributes(path, make)
    return module


def invented_holder(path: str, make: Make) -> InventedHolder:
    """An `InventedHolder` for the settings at ``path``; ``make`` is as for `invented_module`."""
    holder = InventedHolder()
    holder.__dict__.update(_path=path, _make=_Attributes(path, make))
    return holder


_MARK = "_fx_lsp_invented"
"""The attribute that tells an invented activation from those of the program."""


def is_invented(module: object) -> bool:
    """Whether a module was made by `invented_module`, not by the program."""
    return isinstance(module, InventedModule) or (isinstance(module, torch.nn.ReLU) and _MARK in vars(module))


class _Attributes:
    """Makes the attributes of the invented module at a path. Copies of the module share it."""

    def __init__(self, path: str, make: Make) -> None:
        self._path = path
        self._make = make

    def __call__(self, name: str) -> Any:
        return self._make(f"{self._path}.{name}", name)

    def __deepcopy__(self, memo: object) -> _Attributes:
        return self


def probe(kind: type[T], value: Any, path: str, *, certain: bool = True) -> T:
    """An invented value of the class ``kind`` that knows its path."""
    made: Any = type(path, (kind,), {})(value)
    made.path = path
    made.certain = certain
    return made  # type: ignore[no-any-return]


def _list(path: str) -> ArgumentKind:
    return ArgumentKind("list", items_of(_last_name(path)))


def _last_name(path: str) -> str:
    """The last name in a path: ``depths`` for ``config.depths[0]``."""
    return path.rpartition(".")[2].partition("[")[0]
