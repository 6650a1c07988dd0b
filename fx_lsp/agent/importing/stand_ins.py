"""Stand-ins for what an import did not find: a package that is not installed, a name that the installed version lacks.

A stand-in supports everything that a file does while it is imported, so that the file's classes are defined. What is
built and traced may contain stand-ins that make no difference: a function that is called for its effect, a class
decorator, a missing module (its call is one node), a base class that might as well be ``nn.Module``, a context manager
that does not change what the code within it does. If the program uses any other stand-in, the result says nothing about
the program, so the use is recorded (`missing_uses.py`).
"""

from __future__ import annotations

import functools
import linecache
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, FunctionType
from typing import Any

import torch

from fx_lsp.agent.frame_code import is_about_to_call
from fx_lsp.agent.importing.refused_calls import refusal
from fx_lsp.agent.importing.unknown_name import UnknownName
from fx_lsp.agent.importing.unpacked_targets import targets_of
from fx_lsp.agent.inventing.argument_kinds import is_settings_class
from fx_lsp.agent.missing.hyperparameters import IS_LIGHTNING, Hyperparameters
from fx_lsp.agent.missing.missing_modules import (
    MissingFunction,
    MissingModule,
    RefusingFunction,
    RefusingModule,
)
from fx_lsp.agent.missing.missing_uses import is_importing, note_call, note_decorated, note_use, note_wrapping
from fx_lsp.agent.missing.registries import (
    BUILDS,
    IS_REGISTRY,
    REGISTERS,
    Registration,
    Registry,
    construction,
    registration_of,
    registry_named,
)
from fxcore.explore import call_refusing
from fxcore.proxy import Proxy

_CLASS_NAME = re.compile(r"(?:^|\.)[A-Z]\w*[a-z]\w*$")
"""The end of a dotted name that, by convention, is the name of a class."""


_REQUEST = re.compile(
    r"^(requests|httpx|urllib3|aiohttp|wget|gdown)\.(.*\.)?(get|post|head|request|urlopen|download\w*|cached_download)$"
)
"""Functions that ask the network for something, which would be refused if their package were installed."""

star_imported: dict[str, None] = {}
"""The missing modules of which everything was imported, in order. Nobody knows which names that would have defined."""


_CLASS_STATEMENT = re.compile(r"class\s+(\w+)")


class StandIn:
    """A value of which only the name is known, e.g. ``mmcv.cnn.ConvModule``."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __repr__(self) -> str:
        return str(self._name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):  # Python checks for a protocol, which is not supported
            raise AttributeError(name)
        if _CLASS_NAME.search(name) and not self._is_made():
            return StandIn(f"{self._name}.{name}")
        if REGISTERS.search(name) or (name in ("get", "build") and _registry_of(self)):
            return _RegistryMethod(f"{self._name}.{name}"[:200], _registry_of(self))
        if is_about_to_call(sys._getframe(1)) and not self._has_own_attributes():
            return _Method(f"{self._name}.{name}"[:200])
        return self._another(f".{name}")

    def _has_own_attributes(self) -> bool:
        """Whether the program has set attributes, which a method of the missing class might change."""
        return bool(self.__dict__.keys() - {"_name", "_registry", "_register", "_class"})

    def _is_made(self) -> bool:
        """Whether this stands for something that a call returned."""
        return "()" in self._name or "(…)" in self._name

    def _another(self, part: str = "") -> StandIn:
        note_use(self._name)
        return StandIn(f"{self._name}{part}"[:200])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a stand-in module if this stands for a missing class, and another stand-in for a missing function.

        Used as a decorator, a stand-in returns a class unchanged, unless it may have been meant to write the class's
        constructor, as ``attr.s`` and ``dataclasses.dataclass`` do: each instance is then a use. A function's calls are
        noted. What registers a definition returns it unchanged. Raises ConnectionError if it would ask the network for
        something while a module is built or traced.
        """
        traced = next(_traced((*args, *kwargs.values())), None)
        if REGISTERS.search(self._name) and traced is None and (said := registration_of(args, kwargs)):
            return self._registering(said)
        if BUILDS.search(self._name) and (build := _construction(*args, **kwargs)):
            return build()
        if len(args) == 1 and not kwargs and isinstance(args[0], type):
            return noting_instances(args[0], self._name) if _lacks_constructor(args[0]) else args[0]
        if len(args) == 1 and not kwargs and isinstance(args[0], FunctionType):
            return _noting_calls(args[0], self._name, note_decorated)
        if _REQUEST.match(self._name) and not is_importing():
            raise ConnectionError(f"{self._name} can't be reached: there is no network while tracing")
        if traced is not None:
            return self._recorded(traced, args, kwargs)
        if IS_REGISTRY.search(self._name):
            return self._new_registry(*args, **kwargs)
        given = [value for value in (*args, *kwargs.values()) if not isinstance(value, StandIn)]
        return self._result("(…)" if any(map(callable, given)) else "()")

    def _result(self, call: str) -> Any:
        """What a call returns that has neither a traced value nor a definition as its argument.

        ``call`` says how to show the call: as ``(…)`` if what it returns may call one of its arguments.
        """
        if not _CLASS_NAME.search(self._name) or self._is_made():
            return StandIn(f"{self._name}{call}"[:200])
        if error := refusal(self._name, sys._getframe(2).f_code.co_filename):
            return RefusingModule(self._name, self._another, error)
        return MissingModule(self._name, self._another)

    def _registering(self, said: Registration) -> Any:
        """Register what a call says, and return it, or a decorator that registers what it is called with."""
        own = self.__dict__.get("_registry")
        registry = registry_named(self._name.rpartition(".")[0]) if own is None else own
        if said.thing is None:
            return _Registering(f"{self._name}()"[:200], registry, said)
        said.enter(registry, said.thing)
        return said.thing

    def _new_registry(self, *args: Any, parent: Any = None, **kwargs: Any) -> StandIn:
        """An instance of a missing class of registries, with nothing registered so far."""
        is_usual = len(args) <= 1 and "build_func" not in kwargs
        has_usual_parent = parent is None or (isinstance(parent, StandIn) and _registry_of(parent).builds)
        made = StandIn(f"{self._name}()"[:200])
        made.__dict__["_registry"] = Registry(builds=is_usual and has_usual_parent)
        return made

    def _recorded(self, traced: Proxy, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record the call as one node, as if the function were wrapped, so that the rest of the program is checked.

        If the function is known to refuse traced values, a trace that stops there raises the function's error.
        """
        if error := refusal(self._name, sys._getframe(2).f_code.co_filename):
            return call_refusing(RefusingFunction(self._name, error), args, kwargs)
        note_call(self._name)
        return traced.tracer.create_proxy("call_function", MissingFunction(self._name), args, kwargs)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """The class to inherit from instead.

        It is an ``nn.Module`` unless another base of the inheriting class is one, that class is named ``…Config``, or
        this stands for a class of registries.
        """
        is_module = any(isinstance(base, type) and issubclass(base, torch.nn.Module) for base in bases)
        defined = _CLASS_STATEMENT.match(_line_of(sys._getframe(1)))
        is_settings = defined is not None and is_settings_class(defined[1])
        is_plain = is_module or is_settings or IS_REGISTRY.search(self._name)
        known = (Hyperparameters,) if IS_LIGHTNING.match(self._name) else ()
        own = (*known, StandInBase) if is_plain else (*known, StandInBase, torch.nn.Module)
        return (type(self._name.rpartition(".")[2], own, {"_name": self._name}),)

    def _same(self, *args: object) -> StandIn:
        return self._another()

    def __getitem__(self, key: object) -> Any:
        """Return what the program has registered under ``key``, or another stand-in.

        That is not a use: an item (``ACT2FN["gelu"]``) matters only once it is used.
        """
        if (found := _registry_of(self).find(key)) is not None:
            return found
        return StandIn(f"{self._name}[{key!r}]"[:200])

    def _nothing(self, *args: object) -> None:
        note_use(self._name)

    def __enter__(self) -> StandIn:
        """Return another stand-in. The code within matters only if it is run, as that of a decorated function does."""
        note_wrapping(self._name)
        return StandIn(f"{self._name}.__enter__()"[:200])

    def __exit__(self, *args: object) -> None:
        """Let exceptions pass."""

    __add__ = __sub__ = __mul__ = __matmul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __and__ = __or__ = _same
    __radd__ = __rsub__ = __rmul__ = __rmatmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __ror__ = _same
    __neg__ = __pos__ = __invert__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = _same

    def __eq__(self, other: object) -> bool:
        note_use(self._name)
        return self is other

    def __hash__(self) -> int:
        note_use(self._name)
        return id(self)

    def __setattr__(self, name: str, value: object) -> None:
        """Remember the value, which is then what reading the attribute returns, as for any configuration."""
        self.__dict__[name] = value

    __setitem__ = __delitem__ = _nothing

    def __iter__(self) -> Iterator[Any]:
        """Iterate over nothing, or over as many items as the program takes this apart into.

        Such items matter only once they are used, as do those of `__getitem__`.
        """
        targets = targets_of(sys._getframe(1))
        if targets:
            items = [f"{self._name}[{index}]"[:200] for index in range(len(targets))]
            return iter(
                [UnknownName(one) if names else StandIn(one) for one, names in zip(items, targets, strict=True)]
            )
        note_use(self._name)
        return iter(())

    def __len__(self) -> int:
        note_use(self._name)
        return 0

    def __bool__(self) -> bool:
        note_use(self._name)
        return True

    def __int__(self) -> int:
        note_use(self._name)
        return 1

    __index__ = __int__

    def __float__(self) -> float:
        return float(int(self))

    def __fspath__(self) -> str:
        note_use(self._name)
        return "missing"

    def __fx_create_arg__(self, tracer: object) -> None:
        """Become None in a node's arguments, since the true value is not known."""
        note_use(self._name)

    def __contains__(self, item: object) -> bool:
        return _registry_of(self).find(item) is not None or len(self) > 0

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def __init_subclass__(cls) -> None:
        """Call the class in messages as this one: ``arange() … got (int, value_of_missing_package)``."""
        cls.__name__ = cls.__qualname__ = StandIn.__name__


StandIn.__name__ = StandIn.__qualname__ = "value_of_missing_package"


class _Method(StandIn):
    """A method that is about to be called. As with a function, what it returns matters only once that is used."""

    def _result(self, call: str) -> StandIn:
        return StandIn(f"{self._name}{call}"[:200])


class _RegistryMethod(_Method):
    """A method of a registry: it registers, or gets or builds what was registered."""

    def __init__(self, name: str, registry: Registry) -> None:
        super().__init__(name)
        self.__dict__["_registry"] = registry

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Do what the method does if that is known, and otherwise what any method of something missing does."""
        registry = _registry_of(self)
        match self._name.rpartition(".")[2], args:
            case "get", [name, *_] if (found := registry.find(name)) is not None:
                return found
            case "build", [cfg] if registry.builds and (build := _construction(cfg, self, **kwargs)):
                return build()
        return super().__call__(*args, **kwargs)


class _Registering(_Method):
    """What ``registry.register()`` returns: a decorator that registers a definition and returns it unchanged."""

    def __init__(self, name: str, registry: Registry, said: Registration) -> None:
        super().__init__(name)
        self.__dict__["_register"] = functools.partial(said.enter, registry)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Register a definition; what anything else would do is not known."""
        if len(args) == 1 and not kwargs and isinstance(args[0], type | FunctionType):
            self.__dict__["_register"](args[0])
            return args[0]
        return super().__call__(*args, **kwargs)


def _registry_of(stand_in: StandIn) -> Registry:
    """What the program has registered with a stand-in, if that is a registry."""
    own = stand_in.__dict__.get("_registry")
    return registry_named(stand_in._name) if own is None else own


def _construction(
    cfg: Any = None, registry: Any = None, default_args: Any = None, *more: Any, **others: Any
) -> functools.partial[Any] | None:
    """The call that ``build_from_cfg`` makes when it is called with these arguments; None if that is not known."""
    is_known = isinstance(registry, StandIn) and not more and not others
    return construction(cfg, _registry_of(registry), default_args) if is_known else None


def _traced(values: Iterable[object]) -> Iterator[Proxy]:
    """The traced values among ``values``, or in a list or tuple among them."""
    for value in values:
        items = value if isinstance(value, list | tuple) else (value,)
        yield from (item for item in items if isinstance(item, Proxy))


def _line_of(frame: FrameType) -> str:
    """The text of the line that ``frame`` is running, without its indentation."""
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip()


def _noting_calls(function: Callable[..., Any], name: str, note: Callable[[str], None]) -> Callable[..., Any]:
    """Wrap a function that was passed to the stand-in ``name``: since the effect is unknown, each call is noted."""

    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        note(name)
        return function(*args, **kwargs)

    return noted


def _lacks_constructor(cls: type) -> bool:
    """Whether a class declares fields, but no constructor."""
    own = vars(cls)
    has_fields = "__annotations__" in own or any(isinstance(value, StandIn) for value in own.values())
    return has_fields and "__init__" not in own


def noting_instances(cls: type, name: str) -> type:
    """Give ``cls`` a constructor that notes the use of the stand-in ``name``, which was meant to write one."""
    made: Any = cls
    made.__init__ = _noting_calls(made.__init__, name, note_use)
    return cls


_OF_ANY_MODEL = {"device": torch.device("cpu"), "dtype": torch.float32}
"""What base classes of models know about the model's tensors, unlike ``nn.Module``."""


class StandInBase:
    """The base of a class whose true base is missing. Instances of a module class are initialized as modules."""

    _name = ""

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        """Create an instance; a module is initialized here, since the true base might do that in its own way.

        A record whose fields are compared has no hash, which it needs only because it is a module here.
        """
        self = super().__new__(cls)
        if isinstance(self, torch.nn.Module):
            made: Any = cls
            if made.__hash__ is None:
                made.__hash__ = object.__hash__
            torch.nn.Module.__init__(self)
        return self

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Accept any arguments, as the true base may."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Accept any keyword, as the true base may."""

    def __getattr__(self, name: str) -> Any:
        if isinstance(self, torch.nn.Module):
            try:
                return torch.nn.Module.__getattr__(self, name)
            except AttributeError:
                if name in _OF_ANY_MODEL:
                    return _OF_ANY_MODEL[name]
        reader = sys._getframe(1)
        is_of_torch = reader.f_globals.get("__name__") == torch.nn.Module.__module__  # it asks before it adds something
        if not (name.startswith("__") and name.endswith("__")) and not is_of_torch:
            if is_about_to_call(reader):
                return _Method(f"{self._name}.{name}")
            note_use(f"{self._name}.{name}")
        raise AttributeError(f"{self._name} is missing, and so is its {name}")

    def register_module(self, *args: Any, **kwargs: Any) -> Any:
        """Add a submodule; with other arguments, what a registry's method returns: ``@MODELS.register_module()``."""
        match args:
            case [str(), torch.nn.Module() | None] if isinstance(self, torch.nn.Module) and not kwargs:
                return torch.nn.Module.register_module(self, *args)
        return _Method(f"{self._name}.register_module")(*args, **kwargs)

    def forward(self, *args: object, **kwargs: object) -> Any:
        """Raises RuntimeError, since what the true base does is not known."""
        note_use(self._name)
        raise RuntimeError(f"{self._name} is missing")


@functools.cache
def add_as_modules() -> None:
    """From now on, a stand-in that the program adds to a module as a submodule becomes a missing module."""
    torch.nn.Module.add_module = _adding(torch.nn.Module.add_module)  # type: ignore[method-assign]


def _adding(add: Callable[..., None]) -> Callable[..., None]:
    """``add_module``, made to accept stand-ins too."""

    @functools.wraps(add)
    def adding(self: torch.nn.Module, name: str, module: Any) -> None:
        if isinstance(module, StandIn):
            module = MissingModule(module._name, module._another)
        add(self, name, module)

    return adding


def missing_parts(root: object) -> tuple[list[str], list[str]]:
    """The names of the missing classes in a built module: those of submodules, and those that are base classes."""
    parts = root.modules() if isinstance(root, torch.nn.Module) else ()
    modules: dict[str, None] = {}
    bases: dict[str, None] = {}
    for part in parts:
        if isinstance(part, RefusingModule) and part.refuses:
            continue  # the trace did not call it
        if isinstance(part, MissingModule):
            modules[repr(part)] = None
        elif isinstance(part, StandInBase):
            bases[part._name] = None
    return list(modules), list(bases)


def is_only_a_stand_in(root: object) -> bool:
    """Whether all that could be traced of ``root`` is in its missing base.

    That is so if ``root`` is not a module or has no ``forward`` of its own. If it has no submodules, parameters and
    buffers, its base may be anything, unless the base is called a module (``mmcv.runner.BaseModule``) and ``root`` has
    a constructor of its own, which might have created them.
    """
    if not isinstance(root, StandInBase):
        return False
    if not isinstance(root, torch.nn.Module):
        return True
    has_parts = bool(root._modules or root._parameters or root._buffers)
    own: Any = type(root)
    is_called_module = root._name.lower().endswith(("module", "model"))
    is_module = has_parts or (is_called_module and own.__init__ is not StandInBase.__init__)
    return type(root).forward is StandInBase.forward or not is_module
