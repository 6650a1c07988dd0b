"""Building a class whose arguments nobody shows, by making them up.

What each parameter is like is guessed from its annotation and name, and then told by how the program uses it: the
class is built and traced with values that say when they are called, iterated, looked into or compared with a text
although they are no such thing, and built again with better ones. Where an error ends that, one value after another
that had to do with it is changed; a change is kept if it takes the program further.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from .guessing import Shape, first_guess
from .made_up import Misused, Probe, Settings
from .plan import Plan
from .weights import lacks_weights, without_weights

MOST_BUILDS = 80
"""How often a class is built before it is given up."""

MOST_SECONDS = 15
"""How long they may take, together; the one that exceeds it is the last."""

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
_NO_MODULE = re.compile(r"([^\s.]+(?:\.\w+)*) is not a Module subclass")
_ONE_OF = re.compile(r"(?:one of|choose from|available|options|choices|expected)\W*(.*)", re.IGNORECASE)
_WORDS = frozenset({"dict_keys", "are", "is", "in", "the", "list", "tuple", "or", "and", "following", "None"})
MOST_OPTIONS = 4
"""Texts that are tried of those that an error names."""

_WEIGHTS = re.compile(r"pretrain|weight|checkpoint|ckpt|download|url", re.IGNORECASE)
"""What a parameter is named that asks for weights."""

_PREFIX = re.compile(r"[a-z]+_$")

_DIGITS = re.compile(r"\b[1-8]\b")

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
    has_arguments: bool = False
    """They were made, and the error, if any, was raised by what they were made for."""
    lines: tuple[int, ...] = ()
    """Where each function stood, the outermost first."""

    @property
    def rank(self) -> tuple[bool, bool, bool, tuple[int, ...]]:
        """Greater for what came further."""
        return self.error is None, self.is_built, self.has_arguments, self.lines


@dataclass(frozen=True)
class _Change:
    """Something to try: another shape at a path, or parameters to be given though they need not be."""

    path: str = ""
    shape: Shape | None = None
    extra: tuple[str, ...] = ()
    is_of_all: bool = False
    """The shape is for all items of the list that the path is one of."""


class _Search:
    """The search for arguments of one class."""

    def __init__(self, plan: Plan, traced: Traced) -> None:
        self._plan = plan
        self._traced = traced
        self._builds = 0
        self._until = time.monotonic() + MOST_SECONDS

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
            if self._builds >= MOST_BUILDS or time.monotonic() > self._until:
                break
            self._plan.extra = (*extra, *change.extra)
            if change.shape is not None:
                self._plan.shapes.update(dict.fromkeys(self._paths(change), change.shape))
            new = self._attempt()
            if new.rank > end.rank or self._is_within(change):
                return new
            self._plan.shapes, self._plan.extra = dict(shapes), extra
        return None

    def _is_within(self, change: _Change) -> bool:
        """Whether the object that the change asks for is what can't be built yet."""
        is_object = change.shape is not None and change.shape.kind == "object"
        return is_object and self._plan.within is not None and self._plan.within[0] == f"{change.path}."

    def _paths(self, change: _Change) -> list[str]:
        if not (change.is_of_all and change.path.endswith("]")):
            return [change.path]
        start = change.path.rpartition("[")[0]
        return [path for path in self._plan.shapes if path.rpartition("[")[0] == start]

    def _attempt(self) -> _End:
        """Build and trace, and take every value for what it is used as."""
        for _ in range(MOST_MISUSES):
            if time.monotonic() > self._until:
                break
            self._builds += 1
            is_built = False
            try:
                root = self._plan.build(probing=True)
                is_built = True
                error = self._traced(root)
            except Misused as misuse:
                if misuse.shape == self._plan.shapes.get(misuse.path):
                    return _End(misuse, is_built=is_built)
                is_of_all = misuse.shape.kind in ("module", "class", "settings")
                paths = self._paths(_Change(misuse.path, is_of_all=is_of_all))
                self._plan.shapes.update(dict.fromkeys(paths, misuse.shape))
                continue
            except Exception as raised:
                error = raised
            if error is not None and (called := _CALLED.match(str(error))) and self._is_new(called[1], is_built):
                continue
            lines = _lines(error.__traceback__) if error else ()
            return _End(error, is_built, is_built or self._plan.within is None, lines)
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
        names = _QUOTED.findall(text)
        yield _Change(extra=plan.taken(names))
        prefixes = _prefixes(plan.cls)
        if prefixes:
            yield _Change(extra=plan.taken(f"{prefix}{name}" for prefix in prefixes for name in names))
        return
    off = [_Change(path, Shape("value", value), (path,)) for path, value in plan.switches if path not in plan.extra]
    if not is_built and lacks_weights(error):
        off.sort(key=lambda change: not _WEIGHTS.search(change.path))
        yield from off
    expected = _EXPECTED.search(text)
    if isinstance(error, ValueError) and expected and plan.last_iterated:
        yield _Change(plan.last_iterated[0], Shape("list", int(expected[1])))
        yield _Change(plan.last_iterated[0], Shape("list", int(expected[1])), is_of_all=True)
    if no_module := _NO_MODULE.search(text):
        yield from (_Change(path, Shape("module")) for path in plan.shapes if no_module[1].endswith(path))
    yield from _asked_for(error.__traceback__, plan)
    yield from _chosen_from(error.__traceback__, plan)
    suspects = [(path, plan.shapes[path]) for path in _suspects(error.__traceback__, plan.made) if path in plan.shapes]
    named, optional = (
        plan.taken(re.findall(r"\w+", text), by_name=True),
        [path for path in plan.optional if path not in plan.extra],
    )
    if not is_built:
        for path, shape in suspects:
            yield from _numbers(path, shape)
            if item := plan.shapes.get(f"{path}[0]"):
                yield from (change for change in _numbers(f"{path}[0]", item) if change.is_of_all)
            yield from _lengths(path, shape, text)
            yield from _options(path, shape, error)
        if named:
            yield _Change(extra=named)
    for path, shape in suspects:
        others = (Shape("value", shape.value),) if shape.kind == "object" else _KINDS
        yield from (_Change(path, other) for other in others if other != shape)
    if not is_built:
        yield from (_Change(extra=(path,)) for path in optional)
        yield from off


def _prefixes(cls: type) -> list[str]:
    """What the module of ``cls`` may take off the names of keywords to hand them on: ``enc_`` of ``enc_depth``."""
    home = sys.modules.get(cls.__module__)  # a class can name any as its own
    values = [] if home is None else list(vars(home).values())
    functions = [value for value in (*values, cls.__init__) if isinstance(value, FunctionType)]  # type: ignore[misc]
    own = [function.__code__ for function in functions if function.__module__ == cls.__module__]
    texts = [value for value in (*values, *(text for code in own for text in code.co_consts)) if isinstance(value, str)]
    return list(dict.fromkeys(text for text in texts if _PREFIX.match(text)))


def _numbers(path: str, shape: Shape) -> Iterator[_Change]:
    """Other numbers in the place of one; in a list, in the place of all of them."""
    if shape.kind == "number" and isinstance(shape.value, int | float):
        whole = max(int(shape.value), 1)
        others = (1, 2 * whole, 0.5, 4 * whole) if isinstance(shape.value, int) else (whole, 0.5)
        for other in [other for other in others if repr(other) != repr(shape.value)]:
            yield _Change(path, Shape("number", other))
            if path.endswith("]"):
                yield _Change(path, Shape("number", other), is_of_all=True)


def _lengths(path: str, shape: Shape, text: str) -> Iterator[_Change]:
    """Other numbers of items, first those that the error names."""
    if shape.kind in ("list", "tuple"):
        lengths = dict.fromkeys([*map(int, _DIGITS.findall(text)), 3, 1, 2, 4, 5])
        yield from (
            _Change(path, Shape(shape.kind, length, shape.items)) for length in lengths if length != shape.value
        )


def _options(path: str, shape: Shape, error: BaseException) -> Iterator[_Change]:
    """Texts that the error says would do in the place of one, by name or as the members of an enumeration."""
    if shape.kind != "text":
        return
    named = _ONE_OF.search(str(error))
    options = re.findall(r"[\w.-]+", named[1].partition(".\n")[0]) if named else []
    options += [text for text in re.findall(r"'([\w.-]+)'", str(error)) if text not in options]
    for frame in _frames(error.__traceback__):
        enumeration = frame.f_locals.get("cls")
        if isinstance(enumeration, enum.EnumMeta):
            members: dict[str, Any] = dict(enumeration.__members__)
            options += [str(member.value) for member in members.values()]
    for option in [option for option in options if option not in _WORDS][:MOST_OPTIONS]:
        yield _Change(path, Shape("text", option))


def _asked_for(traceback: TracebackType | None, plan: Plan) -> Iterator[_Change]:
    """What a function that an error came by asks a made-up value to be: ``isinstance(net, Transformer)``."""
    for frame in _frames(traceback):
        for call in _isinstance_calls(frame.f_code):
            try:
                value, classes = (eval(ast.unparse(part), frame.f_globals, frame.f_locals) for part in call.args)
            except (Exception, Misused):
                continue
            path = _path_of(value, plan.made)
            for cls in classes if isinstance(classes, tuple) else (classes,):
                is_own = isinstance(cls, type) and cls.__module__ != "builtins"
                if is_own and path in plan.shapes and not isinstance(value, cls):
                    yield _Change(path, first_guess(path.rpartition(".")[2], cls, plan.namespace))


def _isinstance_calls(code: CodeType) -> list[ast.Call]:
    return [
        node
        for node in _nodes(code)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance" and len(node.args) == 2
    ]


def _chosen_from(traceback: TracebackType | None, plan: Plan) -> Iterator[_Change]:
    """What a function that an error came by looks a made-up value up in: ``mode in MODES``, ``MODELS[name]``."""
    for frame in _frames(traceback):
        for node in _nodes(frame.f_code):
            match node:
                case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[among]):
                    pass
                case ast.Subscript(value=among, slice=key, ctx=ast.Load()):
                    pass
                case _:
                    continue
            if _does_something(key) or _does_something(among):
                continue
            try:
                value, options = (eval(ast.unparse(part), frame.f_globals, frame.f_locals) for part in (key, among))
                path = _path_of(value, plan.made)
                is_table = isinstance(options, Mapping) or isinstance(node, ast.Compare)
                if path in plan.shapes and is_table and not isinstance(options, str) and value not in options:
                    for option in sorted(filter(_is_plain, options), key=repr)[:MOST_OPTIONS]:
                        yield _Change(path, Shape("value", option))
            except (Exception, Misused):  # that depends on what is no longer there, or is not such a thing
                continue


def _does_something(node: ast.AST) -> bool:
    """Whether to evaluate it once more could change something, or wait: ``queue.get()``."""
    return any(
        isinstance(inner, (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for inner in ast.walk(node)
    )


def _is_plain(value: object) -> bool:
    return type(value) in (str, int, float)


def _nodes(code: CodeType) -> Iterator[ast.AST]:
    try:
        return ast.walk(ast.parse(textwrap.dedent(inspect.getsource(code))))
    except (OSError, SyntaxError, TypeError):
        return iter(())


def _lines(traceback: TracebackType | None) -> tuple[int, ...]:
    """Where each function stood that an error came by."""
    lines = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename not in _OWN_FILES:
            lines.append(traceback.tb_lineno)
        traceback = traceback.tb_next
    return tuple(lines)


def _suspects(traceback: TracebackType | None, made: Mapping[int, tuple[str, Any]]) -> list[str]:
    """The paths of the made-up values in the frames of a traceback, the innermost first. ``made``: more such, by id."""
    paths = (_path_of(value, made) for frame in _frames(traceback) for value in list(frame.f_locals.values()))
    return list(dict.fromkeys(path for path in paths if path))


def _path_of(value: Any, made: Mapping[int, tuple[str, Any]]) -> str:
    """Where a made-up value comes from; empty for any other."""
    if isinstance(value, Settings):
        return str(vars(value)["_path"])
    return value.path if isinstance(value, Probe) else made.get(id(value), ("",))[0]


def _frames(traceback: TracebackType | None) -> list[FrameType]:
    """Those that an error came by, the innermost first, without the ones of the search itself."""
    frames = []
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    return [frame for frame in reversed(frames) if frame.f_code.co_filename not in _OWN_FILES]


_OWN_FILES = frozenset({__file__, Plan.build.__code__.co_filename, without_weights.__code__.co_filename})
