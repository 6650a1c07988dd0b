"""Building a class whose arguments nobody shows, by making them up.

What each parameter is like is guessed from its annotation and name, and then told by how the program uses it: the
class is built and traced with values that say when they are called, iterated, looked into or compared with a text
although they are no such thing, and built again with better ones. Where an error ends that, one value after another
that had to do with it is changed; a change is kept if it takes the program further.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .guessing import Shape
from .made_up import Misused, Probe
from .plan import Plan

MOST_BUILDS = 80
"""How often a class is built before it is given up."""

MOST_MISUSES = 25
"""How often a value turns out to be another kind of thing before one attempt is given up."""

_KINDS = (
    *(Shape("module"), Shape("list", 2), Shape("tuple", 2), Shape("class"), Shape("settings")),
    Shape("value", None),
)
"""What a value may be that an error came by, in the order to try."""

_QUOTED = re.compile(r"'(\w+)'")
_CALLED = re.compile(r"'(.+)' object is not callable")
"""What Python says of what can't be called; a made-up value's class is named like its path."""

_EXPECTED = re.compile(r"expected (?:at least )?(\d+)")

Traced = Callable[[Any], Exception | None]
"""Traces a module and returns the program's own error that ended it."""


@dataclass(frozen=True)
class MadeUpRoot:
    """A module, and the made-up arguments that it was built with."""

    root: Any
    shown: str
    """The call that built it, for people."""


class CannotMakeUp(Exception):
    """No arguments were found that the constructor takes; its ``__cause__`` is what it raised."""


def make_up(cls: type, namespace: Mapping[str, Any], traced: Traced, *, on_meta: bool) -> MadeUpRoot:
    """An instance of ``cls`` with made-up arguments. Raises `CannotMakeUp`. ``namespace`` is that of the file."""
    plan = Plan(cls, namespace, on_meta)
    end = _Search(plan, traced).run()
    if not end.is_built:
        raise CannotMakeUp(f"{cls.__name__} can't be built with made-up arguments") from end.error
    try:
        return MadeUpRoot(plan.build(probing=False), plan.shown())
    except Exception as raised:
        raise CannotMakeUp(f"{cls.__name__} can't be built with made-up arguments") from raised


@dataclass(frozen=True)
class _End:
    """How far one attempt came."""

    error: BaseException | None
    is_built: bool
    """The error, if any, was raised by the trace."""
    lines: tuple[int, ...] = ()
    """Where each function stood, the outermost first."""

    @property
    def rank(self) -> tuple[bool, bool, tuple[int, ...]]:
        """Greater for what came further."""
        return self.error is None, self.is_built, self.lines


@dataclass(frozen=True)
class _Change:
    """Something to try: another shape at a path, or parameters to be given though they need not be."""

    path: str = ""
    shape: Shape | None = None
    extra: tuple[str, ...] = ()


class _Search:
    """The search for arguments of one class."""

    def __init__(self, plan: Plan, traced: Traced) -> None:
        self._plan = plan
        self._traced = traced
        self._builds = 0

    def run(self) -> _End:
        """Change the plan as long as that takes the program further; how far it came."""
        end = self._attempt()
        while end.error is not None:
            better = self._better(end)
            if better is None:
                break
            end = better
        return end

    def _better(self, end: _End) -> _End | None:
        """Keep the first change by which the program comes further than ``end``; None where there is none."""
        assert end.error is not None
        shapes, extra = dict(self._plan.shapes), self._plan.extra
        for change in list(_changes(end.error, end.is_built, self._plan)):
            if self._builds >= MOST_BUILDS:
                break
            self._plan.extra = (*extra, *change.extra)
            if change.shape is not None:
                self._plan.shapes[change.path] = change.shape
            new = self._attempt()
            if new.rank > end.rank:
                return new
            self._plan.shapes, self._plan.extra = dict(shapes), extra
        return None

    def _attempt(self) -> _End:
        """Build and trace, and take every value for what it is used as."""
        for _ in range(MOST_MISUSES):
            self._builds += 1
            is_built = False
            try:
                root = self._plan.build(probing=True)
                is_built = True
                error = self._traced(root)
            except Misused as misuse:
                if misuse.shape == self._plan.shapes.get(misuse.path):
                    return _End(misuse, is_built=is_built)
                self._plan.shapes[misuse.path] = misuse.shape
                continue
            except Exception as raised:
                error = raised
            if error is not None and (called := _CALLED.match(str(error))) and self._is_new(called[1], is_built):
                continue
            return _End(error, is_built, _lines(error.__traceback__) if error else ())
        return _End(Misused("", Shape("value")), is_built=False)

    def _is_new(self, path: str, is_built: bool) -> bool:
        """Take what was called for a module, or for what makes one. False where it is no made-up value, or is that."""
        shape = Shape("module" if is_built else "class")
        if path not in self._plan.shapes or self._plan.shapes[path] == shape:
            return False
        self._plan.shapes[path] = shape
        return True


def _changes(error: BaseException, is_built: bool, plan: Plan) -> Iterator[_Change]:
    """What may help against ``error``, the likeliest first. ``is_built``: it was raised by the trace."""
    text = str(error)
    if isinstance(error, TypeError) and "required" in text and "argument" in text:
        yield _Change(extra=plan.taken(_QUOTED.findall(text)))
        return
    expected = _EXPECTED.search(text)
    if isinstance(error, ValueError) and expected and plan.last_iterated:
        yield _Change(plan.last_iterated[0], Shape("list", int(expected[1])))
    suspects = [(path, plan.shapes[path]) for path in _suspects(error.__traceback__, plan.made) if path in plan.shapes]
    named, optional = plan.taken(re.findall(r"\w+", text)), [path for path in plan.optional if path not in plan.extra]
    if not is_built:
        for path, shape in suspects:
            yield from _numbers(path, shape)
        if named:
            yield _Change(extra=named)
    for path, shape in suspects:
        others = (Shape("value", shape.value),) if shape.kind == "object" else _KINDS
        yield from (_Change(path, other) for other in others if other != shape)
    if not is_built:
        yield from (_Change(extra=(path,)) for path in optional)


def _numbers(path: str, shape: Shape) -> Iterator[_Change]:
    """Other numbers in the place of one."""
    if shape.kind == "number" and isinstance(shape.value, int | float):
        whole = max(int(shape.value), 1)
        others = (1, 0.5, 4 * whole) if isinstance(shape.value, int) else (whole, 0.5)
        yield from (_Change(path, Shape("number", other)) for other in others if repr(other) != repr(shape.value))


def _lines(traceback: TracebackType | None) -> tuple[int, ...]:
    """Where each function stood that an error came by."""
    lines = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename not in _OWN_FILES:
            lines.append(traceback.tb_lineno)
        traceback = traceback.tb_next
    return tuple(lines)


def _suspects(traceback: TracebackType | None, made: Mapping[int, tuple[str, Any]]) -> Iterator[str]:
    """The paths of the made-up values in the frames of a traceback, the innermost first. ``made``: more such, by id."""
    frames = []
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    seen = set()
    for frame in reversed(frames):
        if frame.f_code.co_filename in _OWN_FILES:
            continue
        for value in list(frame.f_locals.values()):
            path = value.path if isinstance(value, Probe) else made.get(id(value), ("",))[0]
            if path and path not in seen:
                seen.add(path)
                yield path


_OWN_FILES = frozenset({__file__, Plan.build.__code__.co_filename})
