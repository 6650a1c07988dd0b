"""Builds modules with smaller sizes than a recipe gives them, by replacing numbers that constructors receive.

What the outermost constructors receive, including defaults and configurations, determines the sizes of most modules
inside. Of a constructor that another module's constructor calls, only the defaults that apply are considered, and the
numbers that are written in the call itself: ``self.encoder = Encoder(width=768)``.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import enum
import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType
from typing import Any

import torch

from fx_lsp.agent.frame_code import tree_of
from fx_lsp.agent.inventing.invented_values import InventedSettings, Probe
from fx_lsp.agent.inventing.plan_memory import PLANS

Numbers = int | tuple[int, ...]
"""A number, or the items of a list or tuple of numbers."""

MOST_LEVELS = 4
"""The depth to which containers and configurations are searched for numbers."""

MOST_NUMBERS = 200
"""How many of the numbers that one constructor receives are considered."""


@dataclass(frozen=True)
class Size:
    """One or more numbers that a module's constructor receives."""

    cls: str
    """The module and the qualified name of the constructed class, e.g. ``models.net.Net``."""
    path: tuple[str | int, ...]
    """Where the numbers are: the parameter, then keys, indices and names of attributes."""
    value: Numbers

    @property
    def name(self) -> str:
        """The innermost name, e.g. ``depth``."""
        return next((str(step) for step in reversed(self.path) if isinstance(step, str)), "")


Sizes = Mapping[Size, Numbers]
"""The numbers to use instead."""


def with_sizes(sizes: Sizes) -> contextlib.AbstractContextManager[None]:
    """Within this context, the constructors of modules receive ``sizes``."""
    return SizedConstructors(sizes).active() if sizes else contextlib.nullcontext()


class SizedConstructors:
    """While it is active, constructors of modules receive other numbers; the original ones are recorded."""

    def __init__(self, sizes: Sizes) -> None:
        self.found: dict[Size, None] = {}
        """The numbers that outermost constructors received, before any replacement, in order, and inner defaults."""
        self.written: dict[Size, None] = {}
        """The numbers that are written where one constructor calls another."""
        self._sizes = sizes
        self._depth = 0
        self._intercepted: dict[type[Any], Any] = {}
        """The classes whose constructor is replaced, each with the constructor that it defines itself, if any."""

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Within the block, the constructors of modules are intercepted. Blocks must not be nested."""
        module: Any = torch.nn.Module
        module.__new__ = self._new
        try:
            with PLANS.keeping_none() if self._sizes else contextlib.nullcontext():
                yield
        finally:
            # A deleted `__new__` would leave a class that no longer accepts arguments (python/cpython#105888).
            module.__new__ = staticmethod(_plain_new)
            for cls in list(self._intercepted):
                self._restore(cls)

    def _new(self, cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        if cls.__module__.partition(".")[0] != "torch" and cls not in self._intercepted:
            self._intercept(cls)
        return _plain_new(cls, *args, **kwargs)

    def _intercept(self, cls: type[Any]) -> None:
        """Replace the constructor of ``cls`` for one call."""
        original = cls.__init__

        def construct(module: Any, *args: Any, **kwargs: Any) -> None:
            self._restore(cls)
            args, kwargs = self._resized(cls, original, module, args, kwargs, sys._getframe(1))
            self._depth += 1
            try:
                original(module, *args, **kwargs)
            finally:
                self._depth -= 1

        self._intercepted[cls] = vars(cls).get("__init__")
        cls.__init__ = construct

    def _restore(self, cls: type[Any]) -> None:
        """Give ``cls`` its own constructor again."""
        if cls in self._intercepted:
            own = self._intercepted.pop(cls)
            if own is None:
                del cls.__init__
            else:
                cls.__init__ = own

    def _resized(
        self,
        cls: type[Any],
        original: Callable[..., Any],
        module: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        caller: FrameType,
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with the numbers to use instead."""
        try:
            signature = inspect.signature(original)
            bound = signature.bind(module, *args, **kwargs)
        except (TypeError, ValueError):  # the constructor will say what is wrong
            return args, kwargs
        given = {} if self._depth == 0 else dict(bound.arguments)
        place = caller.f_code, caller.f_lineno or 0
        written = _written_numbers(*place, cls.__name__, tuple(signature.parameters)) if given else {}
        bound.apply_defaults()
        name = f"{cls.__module__}.{cls.__qualname__}"
        received = list(bound.arguments.items())[1:]
        own = {parameter: value for parameter, value in received if parameter not in given}
        literal = {
            parameter: given[parameter]
            for parameter, options in written.items()
            if _is_numbers(given.get(parameter)) and given[parameter] in options
        }
        found, more = (
            [Size(name, path, value) for path, value in itertools.islice(_numbers(arguments, ()), MOST_NUMBERS)]
            for arguments in (own, literal)
        )
        self.found |= dict.fromkeys(found)
        self.written |= dict.fromkeys(more)
        if self._sizes.keys().isdisjoint([*found, *more]):
            return args, kwargs
        arguments = own | literal
        for size in (*found, *more):
            if size in self._sizes:
                arguments = _replaced(arguments, size.path, self._sizes[size])
        bound.arguments.update(arguments)
        return bound.args[1:], bound.kwargs


@functools.lru_cache(maxsize=4096)
def _written_numbers(code: CodeType, line: int, name: str, parameters: tuple[str, ...]) -> dict[str, list[Any]]:
    """The numbers, and lists and tuples of these, written as arguments of the class ``name`` in a line of a function.

    If there are several calls of the class in the line, each of them has one of the values. ``parameters`` are those of
    the constructor, the first of which is the object itself.
    """
    found: dict[str, list[Any]] = {}
    inner = (node for node in ast.walk(tree_of(code) or ast.Pass()) if isinstance(node, ast.Call))
    calls = [call for call in inner if call.lineno <= line <= (call.end_lineno or line) and _callee(call) == name]
    for call in calls:
        plain = itertools.takewhile(lambda argument: not isinstance(argument, ast.Starred), call.args)
        named = [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
        for parameter, node in (*zip(parameters[1:], plain, strict=False), *named):
            with contextlib.suppress(ValueError, TypeError, RecursionError, MemoryError):
                value = ast.literal_eval(node)
                found.setdefault(parameter, []).append(value)
    return {parameter: values for parameter, values in found.items() if len(values) == len(calls)}


def _callee(call: ast.Call) -> str | None:
    """The name, or the last part of the dotted name, of what is called."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def as_tuple(value: Numbers) -> tuple[int, ...]:
    """The number, or the items, as a tuple."""
    return (value,) if isinstance(value, int) else value


def _plain_new(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
    new = super(torch.nn.Module, cls).__new__
    return new(cls) if new is object.__new__ else new(cls, *args, **kwargs)


def _numbers(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Numbers]]:
    """The numbers in an argument, each with its path."""
    if _is_size(value):
        yield path, value
    elif _is_numbers(value):
        yield path, tuple(value)
    elif len(path) < MOST_LEVELS:
        for step, part in _parts(value):
            yield from _numbers(part, (*path, step))


def _is_size(value: Any) -> bool:
    """Whether ``value`` is a number that may be a size; a negative one may be the number of a dimension."""
    return type(value) is int and value > 0


def _is_numbers(value: Any) -> bool:
    """Whether ``value`` is such a number, or a list or tuple of these."""
    return _is_size(value) or (isinstance(value, list | tuple) and bool(value) and all(map(_is_size, value)))


_OPAQUE = (type, enum.Enum, ModuleType, torch.nn.Module, torch.Tensor, Probe, InventedSettings)


def _parts(value: Any) -> list[tuple[str | int, Any]]:
    """The items or attributes of a container or a configuration; none for anything else."""
    if isinstance(value, dict):
        return [(key, part) for key, part in value.items() if isinstance(key, str)]
    if isinstance(value, list | tuple):
        return list(enumerate(value))
    is_opaque = isinstance(value, _OPAQUE) or callable(value)
    return [] if is_opaque else list(getattr(value, "__dict__", {}).items())


def _replaced(value: Any, path: tuple[str | int, ...], new: Numbers) -> Any:
    """A copy of ``value`` with other numbers at ``path``."""
    if not path:
        return list(new) if isinstance(value, list) and isinstance(new, tuple) else new
    step, *rest = path
    if isinstance(value, tuple):
        items = [_replaced(item, tuple(rest), new) if at == step else item for at, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    changed = copy.copy(value)
    if changed is value:  # the object does not let itself be copied
        return value
    holder = changed if isinstance(value, dict | list) else vars(changed)
    holder[step] = _replaced(holder[step], tuple(rest), new)
    return changed
