"""Building a class whose arguments nobody shows, by making them up.

What each parameter is like is guessed from its annotation and name, and then told by how the program uses it: the
class is built and traced with values that say when they are called, iterated, looked into or compared with a text
although they are no such thing, and built again with better ones, until nothing speaks against them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import torch

from .devices import Devices
from .guessing import Shape, config_class, first_guess, number_for
from .made_up import Fraction, MadeUp, Misused, Probe, Sequence, Settings, Text, Whole, module, module_class, probe

MOST_TRIES = 60
"""How often a class is built before it is given up."""

_ALTERNATIVES = (Shape("module"), Shape("list", 2), Shape("class"), Shape("settings"), Shape("value", None))
"""What a value may be that an error came by, in the order to try."""

_SCALES = (1.0, 0.25, 4.0)
"""What widths are multiplied with where sizes don't go together."""

_QUOTED = re.compile(r"'(\w+)'")
_EXPECTED = re.compile(r"expected (?:at least )?(\d+)")


@dataclass(frozen=True)
class MadeUpRoot:
    """A module, and the made-up arguments that it was built with."""

    root: Any
    shown: str
    """The call that built it, for people."""


class CannotMakeUp(Exception):
    """No arguments were found that the constructor takes; its ``__cause__`` is what it raised last."""


def make_up(
    cls: type, namespace: Mapping[str, Any], traced: Callable[[Any], Exception | None], *, on_meta: bool
) -> MadeUpRoot:
    """An instance of ``cls`` with made-up arguments. Raises `CannotMakeUp`.

    ``namespace`` is that of the file; ``traced`` traces a module and returns the program's own error that ended it.
    """
    plan = _Plan(cls, namespace, on_meta)
    plan.shapes = _settled(plan, traced)
    try:
        return MadeUpRoot(plan.build(probing=False), plan.shown())
    except Exception as raised:
        raise CannotMakeUp(f"{cls.__name__} can't be built with made-up arguments") from raised


def _settled(plan: _Plan, traced: Callable[[Any], Exception | None]) -> dict[str, Shape]:
    """The shapes that nothing speaks against any more, or the first that can be built with."""
    best: dict[str, Shape] | None = None
    error: BaseException | None = None
    for _ in range(MOST_TRIES):
        root = None
        try:
            root = plan.build(probing=True)
            error = traced(root)
        except Misused as misuse:
            if plan.decide(misuse.path, misuse.shape):
                continue
            error = misuse
        except Exception as raised:
            error = raised
        if root is not None and (best is None or error is None):
            best = dict(plan.shapes)
        if error is None or isinstance(error, Misused) or not plan.reconsider(error, is_built=root is not None):
            break
    if best is None:
        raise CannotMakeUp(f"{plan.cls.__name__} can't be built with made-up arguments") from error
    return best


@dataclass
class _Plan:
    """What is known of the arguments of one class."""

    cls: type
    namespace: Mapping[str, Any]
    on_meta: bool
    shapes: dict[str, Shape] = field(default_factory=dict)
    """By path: ``norm_layer``, ``config.depths``, ``channels[0]``."""
    _annotations: dict[str, Any] = field(default_factory=dict)
    _last_iterated: list[str] = field(default_factory=list)
    _tried: dict[str, int] = field(default_factory=dict)
    """By path, how many of the alternatives were tried."""
    _extra: list[str] = field(default_factory=list)
    """Parameters that a base class asks for."""
    _made: dict[int, tuple[str, Any]] = field(default_factory=dict)
    """By their ids: the modules and classes of the last build and their paths."""
    _scale: int = 0
    _probing: bool = True

    def build(self, *, probing: bool) -> Any:
        """An instance. ``probing``: with values that tell how they are used."""
        self._probing = probing
        self._made.clear()
        with Devices(on_meta=self.on_meta):
            args, kwargs = self._arguments()
            return self.cls(*args, **kwargs)

    def shown(self) -> str:
        """The call that builds it."""
        args, kwargs = self._arguments()
        given = [*map(_shown, args), *(f"{name}={_shown(value)}" for name, value in kwargs.items())]
        return f"{self.cls.__name__}({', '.join(given)})"

    def decide(self, path: str, shape: Shape) -> bool:
        """Take ``shape`` for what is at ``path``. False where it is known already not to do."""
        count = self._tried[f"{path}:{shape.kind}"] = self._tried.get(f"{path}:{shape.kind}", 0) + 1
        self.shapes[path] = shape
        return count <= 4

    def reconsider(self, error: BaseException, *, is_built: bool) -> bool:
        """Change something that ``error`` may come from. False where nothing is left to change.

        ``is_built``: it was raised by the trace, to which sizes mean nothing.
        """
        text = str(error)
        if isinstance(error, TypeError) and "required" in text and "argument" in text:
            return self._add(_QUOTED.findall(text))
        expected = _EXPECTED.search(text)
        if isinstance(error, ValueError) and expected and self._last_iterated:
            return self.decide(self._last_iterated[0], Shape("list", int(expected[1])))
        for path in _suspects(error.__traceback__, self._made):
            tried, shape = self._tried.get(path, 0), self.shapes[path]
            others = (Shape("value", shape.value),) if shape.kind == "object" else _ALTERNATIVES
            if tried < len(others):
                self._tried[path] = tried + 1
                self.shapes[path] = others[tried]
                return True
        if is_built or self._scale + 1 == len(_SCALES):
            return False
        self._scale += 1
        return True

    def _add(self, names: list[str]) -> bool:
        takes_any = any(p.kind is p.VAR_KEYWORD for p in _parameters(self.cls))
        fresh = [name for name in names if name not in self._extra] if takes_any else []
        self._extra += fresh
        return bool(fresh)

    def _arguments(self) -> tuple[list[Any], dict[str, Any]]:
        return self._arguments_of(self.cls, "", self._extra)

    def _arguments_of(self, cls: type, prefix: str, extra: list[str]) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter in _parameters(cls):
            if parameter.default is parameter.empty and parameter.kind not in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
            ):
                self._annotations.setdefault(f"{prefix}{parameter.name}", parameter.annotation)
                value = self._value(f"{prefix}{parameter.name}", parameter.name)
                if parameter.kind is parameter.POSITIONAL_ONLY:
                    args.append(value)
                else:
                    kwargs[parameter.name] = value
        return args, kwargs | {name: self._value(f"{prefix}{name}", name) for name in extra}

    def _value(self, path: str, name: str) -> Any:
        shape = self.shapes.get(path)
        if shape is None:
            annotation = self._annotations.get(path, inspect.Parameter.empty)
            shape = self.shapes[path] = first_guess(name, annotation, self.namespace)
        match shape.kind:
            case "number":
                return self._number(shape.value, path)
            case "text":
                return probe(Text, shape.value, path, certain=shape.certain) if self._probing else shape.value
            case "list":
                return self._list(shape, path, name)
            case "settings":
                known = config_class(self.cls, self.namespace) if "." not in path else None
                return known() if known is not None else Settings(path, self._value)
        made = self._thing(shape, path, name)
        self._made[id(made)] = path, made
        return made

    def _thing(self, shape: Shape, path: str, name: str) -> Any:
        match shape.kind:
            case "class":
                return module_class(name)
            case "module":
                return module(name)
            case "object":
                args, kwargs = self._arguments_of(shape.value, f"{path}.", [])
                return shape.value(*args, **kwargs)
        return shape.value

    def _number(self, number: float | None, path: str) -> Any:
        if number is None:
            number = number_for(path)
        if isinstance(number, int) and number >= 16:
            number = int(number * _SCALES[self._scale])
        if not self._probing:
            return number
        return probe(Fraction if isinstance(number, float) else Whole, number, path)

    def _list(self, shape: Shape, path: str, name: str) -> Any:
        items = []
        for index in range(shape.value):
            self._annotations.setdefault(f"{path}[{index}]", shape.item or inspect.Parameter.empty)
            items.append(self._value(f"{path}[{index}]", name))
        if not self._probing:
            return items
        made = probe(Sequence, items, path)
        made.last_iterated = self._last_iterated
        return made


def _parameters(cls: type) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(cls).parameters.values())
    except (TypeError, ValueError):
        return []


def _suspects(traceback: TracebackType | None, made: Mapping[int, tuple[str, Any]]) -> Iterator[str]:
    """The paths of the made-up values in the frames of a traceback, the innermost first. ``made``: more such, by id."""
    frames = []
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    seen = set()
    for frame in reversed(frames):
        if frame.f_code.co_filename == __file__:
            continue
        for value in list(frame.f_locals.values()):
            path = value.path if isinstance(value, Probe) else made.get(id(value), ("",))[0]
            if path and path not in seen:
                seen.add(path)
                yield path


def _shown(value: Any) -> str:
    """A made-up value for people."""
    if isinstance(value, type):
        return "…" if value is MadeUp else value.__name__
    if isinstance(value, torch.nn.Module):
        return "…" if isinstance(value, MadeUp) else f"{type(value).__name__}()"
    if isinstance(value, torch.Tensor):
        return f"torch.ones{tuple(value.shape)}"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if value is None or isinstance(value, int | float | str):
        return repr(value)
    return f"{type(value).__name__}(…)" if not isinstance(value, Settings) else "…"
