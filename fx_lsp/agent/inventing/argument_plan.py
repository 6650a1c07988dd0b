"""The arguments that fx-lsp invents for one class, and the instances that it builds with them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any

import torch

from fx_lsp.agent.inventing.argument_kinds import (
    ArgumentKind,
    annotation_of,
    config_class,
    first_guess,
    is_placeholder,
    is_required,
    number_for,
)
from fx_lsp.agent.inventing.flags import Flags
from fx_lsp.agent.inventing.invented_values import (
    InventedDictionary,
    InventedFloat,
    InventedInt,
    InventedList,
    InventedModule,
    InventedSettings,
    InventedText,
    InventedVocabulary,
    PlainNumbers,
    invented_function,
    invented_holder,
    invented_module,
    invented_tensor,
    likely_module_class,
    probe,
    probing_module_class,
)
from fx_lsp.agent.inventing.written_settings import WrittenSettings
from fx_lsp.agent.missing.device_redirection import Devices
from fx_lsp.agent.missing.missing_weights import without_weights
from fx_lsp.agent.missing.process_group import group_of

Maker = type | FunctionType
"""What is called with invented arguments: a class, or a function that creates a module."""


@dataclass(frozen=True)
class PlanState:
    """What a search for arguments changes of a plan."""

    kinds: Mapping[str, ArgumentKind]
    extra: tuple[str, ...]
    settings: Mapping[str, tuple[str, ...]]


@dataclass
class ArgumentPlan:
    """What is known so far about the arguments of the class, or of the function, ``cls``."""

    cls: Maker
    namespace: Mapping[str, Any]
    """The namespace of the file."""
    on_meta: bool
    kinds: dict[str, ArgumentKind] = field(default_factory=dict)
    """The kind of each value, by its path: ``norm_layer``, ``config.depths``, ``channels[0]``."""
    extra: tuple[str, ...] = ()
    """The paths of parameters that get an argument although they have a default or only a base class requires them."""
    within: tuple[str, Maker] | None = None
    """The path (with a dot at its end) and the class of the argument that was being built last; None for the root."""
    last_iterated: list[str] = field(default_factory=list)
    """The path of the list that was iterated last."""
    settings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By the path of a settings object: the names that it has from the start, or in addition to its class's."""
    last_unpacked: list[str] = field(default_factory=list)
    """The path of the settings whose names were asked for last, as ``**settings`` does."""
    made: dict[int, tuple[str, Any]] = field(default_factory=dict)
    """By ``id``: the path and the object, for each module, class or other object that the last build invented."""
    compared: dict[str, dict[int | str | type, None]] = field(default_factory=dict)
    """By the path of an invented number or string: the others that the program compared it with."""
    tested: set[str] = field(default_factory=set)
    """The paths of the invented numbers on which the program has based decisions."""
    written: WrittenSettings = field(default_factory=WrittenSettings)
    """The values that the workspace gives to settings; they count before guesses."""
    files: Callable[[str], Sequence[str]] = lambda parameter: ()
    """Finds the paths of files in the workspace that a parameter of this name may take."""
    shown: str = ""
    """The call of the last build that did not probe, as text for display."""
    _annotations: dict[str, Any] = field(default_factory=dict)
    _flags: dict[Maker, Flags] = field(default_factory=dict)
    _probing: bool = True

    @property
    def state(self) -> PlanState:
        """A copy of what a search changes, to which the plan can be set back."""
        return PlanState(dict(self.kinds), self.extra, dict(self.settings))

    @state.setter
    def state(self, state: PlanState) -> None:
        self.kinds, self.extra, self.settings = dict(state.kinds), state.extra, dict(state.settings)

    @property
    def optional(self) -> list[str]:
        """For the object being built: the paths of the parameters whose default is None.

        Those of base classes count as well, if the constructor only passes them on.
        """
        return self._with_default(lambda default: default is None)

    @property
    def placeholders(self) -> list[str]:
        """The same for the parameters whose default only holds the place of an argument, as ``ch=()`` may do."""
        return self._with_default(is_placeholder)

    def defaulting_to(self, value: str) -> list[str]:
        """The same for the parameters with this default that get no other argument."""
        return [path for path in self._with_default(lambda default: default == value) if path not in self.extra]

    def _with_default(self, is_wanted: Callable[[Any], bool]) -> list[str]:
        path, cls = self.within or ("", self.cls)
        known = [*_parameters(cls), *_passed_on(cls)]
        return list(dict.fromkeys(f"{path}{one.name}" for one in known if is_wanted(one.default)))

    @property
    def switches(self) -> list[tuple[str, Any]]:
        """For the object being built: the paths of the parameters that can be switched off, and the value for "off"."""
        path, cls = self.within or ("", self.cls)
        on = [one for one in _parameters(cls) if one.default is True or (isinstance(one.default, str) and one.default)]
        return [(f"{path}{one.name}", False if one.default is True else None) for one in on]

    @property
    def inherited(self) -> tuple[str, ...]:
        """The paths of parameters that base classes require and this constructor only passes on (``*args, **kwargs``).

        Paths that are already in ``extra`` are left out.
        """
        path, cls = self.within or ("", self.cls)
        required = (one.name for one in _passed_on(cls) if one.default is one.empty and one.kind in _BY_KEYWORD)
        paths = (f"{path}{name}" for name in dict.fromkeys(required))
        return tuple(one for one in paths if one not in self.extra)

    def build(self, *, probing: bool) -> Any:
        """Build an instance. With ``probing``, its arguments report how they are used."""
        return without_weights(partial(self._build, probing))

    def _build(self, probing: bool) -> Any:
        self._probing = probing
        self.made.clear()
        self.last_unpacked.clear()
        self.within = None
        with Devices(on_meta=self.on_meta), PlainNumbers(fills=not probing):
            args, kwargs = self._arguments_of(self.cls, "")
            if not probing:
                given = [*map(_shown, args), *(f"{name}={_shown(value)}" for name, value in kwargs.items())]
                self.shown = f"{self.cls.__name__}({', '.join(given)})"
            return self.cls(*args, **kwargs)

    def taken(self, names: Iterable[str], *, by_name: bool = False) -> tuple[str, ...]:
        """The paths, except those already in ``extra``, of the ``names`` that the object being built accepts.

        ``by_name``: names that only a ``**kwargs`` parameter accepts don't count.
        """
        path, cls = self.within or ("", self.cls)
        own = _parameters(cls)
        kinds = {one.kind for one in own}
        takes_any = inspect.Parameter.VAR_KEYWORD in kinds
        if kinds & _VARIADIC and (by_name or not takes_any):  # what it may pass on to the constructors of its bases
            own = [*own, *(one for base in _bases(cls) for one in _parameters(base))]
        known = {one.name for one in own if one.kind not in _VARIADIC}
        takes_any &= not by_name
        found = (f"{path}{name}" for name in names if takes_any or name in known)
        return tuple(one for one in dict.fromkeys(found) if one not in self.extra)

    def taken_by(self, owner: Any, name: str) -> tuple[str, ...]:
        """The path, unless it is already in ``extra``, of the parameter ``name`` of the invented object ``owner``.

        It is empty if ``owner`` was not invented, or if its class has no such parameter.
        """
        path, made = self.made.get(id(owner), ("", None))
        is_known = made is owner and any(one.name == name for one in _parameters(type(owner)))
        found = f"{path}.{name}"
        return (found,) if is_known and found not in self.extra else ()

    def unset(self, names: Collection[str]) -> Iterator[tuple[str, ...]]:
        """For each parameter among ``names`` that invented objects of a class were built without: all of its paths."""
        objects: dict[type, list[str]] = {}
        for path, kind in self.kinds.items():
            if kind.name == "object":
                objects.setdefault(kind.value, []).append(path)
        for cls, paths in objects.items():
            lacking = [one.name for one in _parameters(cls) if one.default is None and one.name in names]
            found = (tuple(f"{path}.{name}" for path in paths) for name in lacking)
            yield from (paths for paths in found if not set(paths) & set(self.extra))

    def _arguments_of(self, cls: Maker, prefix: str) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        extra = [path.removeprefix(prefix) for path in self.extra if path.startswith(prefix)]
        for parameter in _parameters(cls):
            given = is_required(parameter) or parameter.name in extra
            if not given or parameter.kind in _VARIADIC:
                continue
            self._annotations.setdefault(f"{prefix}{parameter.name}", annotation_of(parameter))
            value = self._value(f"{prefix}{parameter.name}", parameter.name)
            if parameter.kind is parameter.POSITIONAL_ONLY:
                args.append(value)
            else:
                kwargs[parameter.name] = value
        names = [name for name in extra if name not in kwargs and "." not in name]
        more = {name: self._value(f"{prefix}{name}", name) for name in names}
        if more and all(one.kind is not one.VAR_KEYWORD for one in _parameters(cls)):
            before = [one for one in _parameters(cls) if one.kind is one.POSITIONAL_OR_KEYWORD]
            args += [kwargs.pop(one.name, one.default) for one in before]
            return [*args, *more.values()], kwargs
        return args, kwargs | more

    def _value(self, path: str, name: str) -> Any:
        kind = self.kinds.get(path)
        if kind is None:
            annotation = self._annotations.get(path, inspect.Parameter.empty)
            alike = self._kind_of_another_item(path) if annotation is inspect.Parameter.empty else None
            written = [kind_of(value) for value in self.written.find(path)]
            kind = self.kinds[path] = next(iter(written), alike or self._guess(path, name, annotation))
        match kind.name:
            case "number":
                return self._number(kind.value, path)
            case "text":
                return self._text(kind, path)
            case "list" | "tuple":
                return self._list(kind, path, name)
            case "settings" | "dictionary" | "vocabulary" | "named":
                is_known = kind.name == "settings" and "." not in path
                known = config_class(self.cls, self.namespace) if is_known else None
                if known is not None:
                    return self._completed(self._known_settings(known, path), path)
                base = _SETTINGS.get(kind.name, InventedSettings)
                cls = type(path, (base,), {}) if self._probing else base
                cls = type(kind.value, (base,), {}) if kind.name == "named" else cls
                invented = cls(path, partial(self._setting, kind.items), self.last_unpacked)
                names = kind.value if kind.value and kind.name != "named" else ()
                for one in (*names, *self.settings.get(path, ())):
                    getattr(invented, one)
                return invented
        made = self._thing(kind, path, name)
        if not isinstance(made, _SHARED):
            self.made[id(made)] = path, made
        return made

    def _guess(self, path: str, name: str, annotation: Any) -> ArgumentKind:
        guess = first_guess(name, annotation, self.namespace)
        if annotation is not inspect.Parameter.empty or guess.name != "number":
            return guess
        owner, rest = self._owner_of(path)
        flags = self._flags.get(owner)
        if flags is None:
            flags = self._flags[owner] = Flags(owner)
        return ArgumentKind("value", value=False) if rest in flags else guess

    def _owner_of(self, path: str) -> tuple[Maker, str]:
        """The class whose constructor gets the value at ``path`` or its settings, and the path below that class."""
        names = path.split(".")
        for end in range(len(names) - 1, 0, -1):
            around = self.kinds.get(".".join(names[:end]))
            if around is not None and around.name == "object":
                return around.value, ".".join(names[end:])
        return self.cls, path

    def _known_settings(self, cls: type, path: str) -> Any:
        """The program's own settings with their defaults, except for those that a check wants to be different."""
        wanted = [one.removeprefix(f"{path}.") for one in self.extra if one.startswith(f"{path}.")]
        parameters = {one.name: one for one in _parameters(cls)}
        wanted += [name for name, one in parameters.items() if is_required(one) and one.kind in _BY_KEYWORD]
        for name in parameters.keys() & set(wanted):
            self._annotations.setdefault(f"{path}.{name}", annotation_of(parameters[name]))
        values = {name: self._value(f"{path}.{name}", name) for name in dict.fromkeys(wanted) if "." not in name}
        settings = cls(**{name: value for name, value in values.items() if name in parameters})
        for name in values.keys() - parameters.keys():
            setattr(settings, name, values[name])
        return settings

    def _setting(self, annotations: Sequence[Any], path: str, name: str) -> Any:
        """The value of a setting; ``annotations`` has that of all settings of the object, if it is known."""
        for annotation in annotations:
            self._annotations.setdefault(path, annotation)
        return self._value(path, name)

    def _kind_of_another_item(self, path: str) -> ArgumentKind | None:
        """The kind of the same part of another item: of ``stages[0].depth`` for ``stages[1].depth``."""
        return next((self.kinds[other] for other in self.in_other_items(path)), None)

    def in_other_items(self, path: str) -> list[str]:
        """The paths of the same part of other items: ``stages[0].depth`` for ``stages[1].depth``."""
        alike = _INDEX.sub("[]", path)
        return [one for one in self.kinds if "[" in path and one != path and _INDEX.sub("[]", one) == alike]

    def alike(self, path: str) -> tuple[str, ...]:
        """The paths in `in_other_items` whose values are of the same kind."""
        return tuple(one for one in self.in_other_items(path) if self.kinds[one] == self.kinds[path])

    def in_other_settings(self, path: str) -> list[str]:
        """The paths of the other settings of the same object: ``sizes.second`` for ``sizes.first``."""
        owner, dot, _ = path.rpartition(".")
        return [one for one in self.kinds if dot and one != path and one.rpartition(".")[0] == owner]

    def in_other_rows(self, path: str) -> list[str]:
        """The paths of the same item of other lists in a list: of ``pairs[0][1]`` for ``pairs[1][1]``."""
        place = _ROW.fullmatch(path)
        rows = [(one, _ROW.fullmatch(one)) for one in self.kinds if place and one != path]
        return [one for one, row in rows if place and row and row.group("list", "item") == place.group("list", "item")]

    def _completed(self, known: Any, path: str) -> Any:
        """An object of a class of the program, with those attributes that it was found to lack."""
        for name in self.settings.get(path, ()):
            setattr(known, name, self._value(f"{path}.{name}", name))
        self.made[id(known)] = path, known
        return known

    def _thing(self, kind: ArgumentKind, path: str, name: str) -> Any:
        match kind.name:
            case "class":
                return probing_module_class(name, path) if self._probing else likely_module_class(name)
            case "function":
                return invented_function(name, path, self._value)
            case "module":
                make = invented_holder if kind.value else partial(invented_module, name)
                return self._with_parts(make(path, self._value), path)
            case "tensor":
                return invented_tensor(kind.value, certain=kind.certain)
            case "parameter":
                return torch.nn.Parameter(invented_tensor(kind.value, certain=kind.certain))
            case "array":
                return torch.ones(kind.value, device="cpu").numpy()
            case "group":
                return group_of(kind.value)
            case "object":
                args, kwargs = self._arguments_of(kind.value, f"{path}.")
                around, self.within = self.within, (f"{path}.", kind.value)
                built = kind.value(*args, **kwargs)
                self.within = around
                return self._completed(built, path)
        return list(kind.value) if type(kind.value) is list else kind.value  # what one build changes, another must not

    def _with_parts(self, module: torch.nn.Module, path: str) -> torch.nn.Module:
        """An invented module with those parts that the program was found to call: tracers know no later ones."""
        for other, kind in list(self.kinds.items()):
            owner, _, name = other.rpartition(".")
            if owner == path and kind.name == "module" and isinstance(module, InventedModule):
                getattr(module, name)
        return module

    def _number(self, number: float | None, path: str) -> Any:
        if number is None:
            number = number_for(path)
        if not self._probing:
            return number
        if not isinstance(number, int):
            invented = probe(InventedFloat, number, path)
            invented.tested = self.tested
            return invented
        made = probe(InventedInt, int(number), path)
        made.tested = self.tested
        made.compared = self.compared.setdefault(path, {})
        return made

    def _text(self, kind: ArgumentKind, path: str) -> Any:
        if not self._probing:
            return kind.value
        made = probe(InventedText, kind.value, path, certain=kind.certain)
        made.compared = self.compared.setdefault(path, {})
        return made

    def _list(self, kind: ArgumentKind, path: str, name: str) -> Any:
        items = []
        for index in range(kind.value):
            if kind.items:
                self._annotations.setdefault(f"{path}[{index}]", kind.items[index % len(kind.items)])
            items.append(self._value(f"{path}[{index}]", name))
        if kind.name == "tuple":
            return tuple(items)
        if not self._probing:
            return items
        made = probe(InventedList, items, path)
        made.last_iterated = self.last_iterated
        return made


def kind_of(value: Any) -> ArgumentKind:
    """The kind of a value that the workspace gives to a setting."""
    if type(value) in (int, float):
        return ArgumentKind("number", value)
    if isinstance(value, list | tuple):
        return ArgumentKind("list" if isinstance(value, list) else "tuple", len(value))
    return ArgumentKind("text", value) if isinstance(value, str) else ArgumentKind("value", value)


_INDEX = re.compile(r"\[\d+\]")

_ROW = re.compile(r"(?P<list>.*)\[\d+\](?P<item>\[\d+\])")
"""The path of an item of a list that is itself an item of a list."""

_SETTINGS = {"settings": InventedSettings, "dictionary": InventedDictionary, "vocabulary": InventedVocabulary}
"""By the name of a kind: the class of its values."""

_SHARED = (bool, int, float, complex, str, bytes, type(None))
"""Types of which Python may use one object for equal values, so that its identity shows nothing."""

_VARIADIC = frozenset({inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
_BY_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _own_parameters(cls: type) -> list[inspect.Parameter]:
    """The parameters of the constructor that ``cls`` itself defines."""
    return _parameters(cls) if "__init__" in vars(cls) and cls is not torch.nn.Module else []


def _passed_on(cls: Maker) -> list[inspect.Parameter]:
    """The parameters of base classes that the constructor only passes on (``*args, **kwargs``)."""
    own = _parameters(cls)
    if not any(one.kind in _VARIADIC for one in own):
        return []
    known = {one.name for one in own}
    return [one for base in _bases(cls)[1:] for one in _own_parameters(base) if one.name not in known]


def _bases(cls: Maker) -> tuple[type, ...]:
    """The class and its bases; none for a function."""
    return cls.__mro__ if isinstance(cls, type) else ()


def _parameters(cls: Maker) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(cls).parameters.values())
    except (TypeError, ValueError):
        return []


def _shown(value: Any) -> str:
    """An invented value, as text for display."""
    if isinstance(value, type):
        return "…" if value is InventedModule else value.__name__
    if isinstance(value, FunctionType):
        return "…"
    if isinstance(value, torch.nn.Module):
        return "…" if isinstance(value, InventedModule) else f"{type(value).__name__}()"
    if isinstance(value, torch.Tensor):
        ones = f"torch.ones({tuple(value.shape)})"
        return f"torch.nn.Parameter({ones})" if isinstance(value, torch.nn.Parameter) else ones
    if isinstance(value, list | tuple):
        items = ", ".join(map(_shown, value))
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    if value is None or isinstance(value, int | float | str):
        return repr(value)
    return f"{type(value).__name__}(…)" if not isinstance(value, InventedSettings) else "…"
