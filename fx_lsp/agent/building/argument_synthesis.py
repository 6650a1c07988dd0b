"""Builds a class with invented arguments, if no code shows how to build it.

The annotation and the name of each parameter give a first guess, which the program's use of the value corrects: the
class is built and traced with values that report any use that does not suit their kind, such as iteration, indexing or
a comparison with a string, and is then built again with better values. If a build or trace ends in an error, the values
involved are changed one after another; a change is kept only if the program gets further with it.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import sys
import textwrap
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from traceback import walk_tb
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from torch.nn.modules.module import register_module_module_registration_hook

from fx_lsp.agent.building.argument_kinds import ArgumentKind, KindName, first_guess, items_of, number_for
from fx_lsp.agent.building.argument_plan import ArgumentPlan
from fx_lsp.agent.building.failed_checks import names_in_check, passing_options, passing_values
from fx_lsp.agent.building.failing_statement import sequence_values, used_values
from fx_lsp.agent.building.invented_values import InventedModule, InventedSettings, Misused, Probe
from fx_lsp.agent.building.missing_uses import forget_uses
from fx_lsp.agent.building.missing_weights import lacks_weights, without_weights

MOST_BUILDS = 80
"""How often a class is built before the search is given up."""

MOST_MODULES = 15_000
"""How many submodules these builds may create in all; the build that exceeds this is the last. Modules are counted
instead of seconds, so that the same arguments are found on every machine, however busy. Thousands of modules are built
and traced in a second."""

MOST_MISUSES = 25
"""How often a value may turn out to be of another kind before one attempt is given up."""

_KINDS = (
    *(
        ArgumentKind("module"),
        ArgumentKind("list", 2),
        ArgumentKind("tuple", 2),
        ArgumentKind("class"),
        ArgumentKind("settings"),
    ),
    ArgumentKind("value", None),
)
"""The kinds to try, in this order, for a value that is involved in an error."""

_QUOTED = re.compile(r"'(\w+)'")
_CALLED = re.compile(r"'(.+)' object is not callable")
"""Python's message about an object that can't be called. It names the object's class, and the class of an invented
value is named after the value's path."""

_CLASSES = {"module": InventedModule.__name__, "class": "type", "tuple": "tuple", "value": "NoneType"}
"""What Python's messages call the values of some kinds; the classes of the others are named after the path."""

_NO_SEQUENCE = re.compile(r"is not iterable|has no len|is not subscriptable")
_NO_NUMBER = re.compile(r"invalid literal for int|could not convert string to float")
_NO_INTEGER = re.compile(r"object cannot be interpreted as an integer")
_NO_TEXT = re.compile(r"(?:expected|must be|should be) (?:a )?(?:str|string)\b|string or bytes-like")
"""Python's messages about values: one that should be a list, a string that should be a number, one that should be an
integer, one that should be a string."""

_EXPECTED = re.compile(r"expected (?:at least )?(\d+)")
_NO_MODULE = re.compile(r"(\S+) is not a Module subclass")
"""torch's message about an object that can't be registered as a submodule."""

_ONE_OF = re.compile(r"(?:one of|choose from|available|options|choices|expected)\W*(.*)", re.IGNORECASE)
_WORDS = frozenset({"dict_keys", "are", "is", "in", "the", "list", "tuple", "or", "and", "following", "None"})
MOST_OPTIONS = 4
"""How many options (strings that an error names, keys of a table) are tried."""

_WEIGHTS = re.compile(r"pretrain|weight|checkpoint|ckpt|download|url", re.IGNORECASE)
"""The names of parameters that request weights."""

_PREFIX = re.compile(r"[a-z]+_$")

_DIGITS = re.compile(r"\b[1-8]\b")

Traced = Callable[[Any], Exception | None]
"""Traces a module and returns the program's own error that ended the trace, if any."""


@dataclass(frozen=True)
class InventedRoot:
    """A module, and the invented arguments that it was built with."""

    root: Any
    shown: str
    """The call that built it, as text for display."""


class CannotInvent(Exception):
    """No arguments were found that the constructor accepts; ``__cause__`` is the error that it raised."""


def invent_arguments(cls: type, namespace: Mapping[str, Any], traced: Traced, *, on_meta: bool) -> InventedRoot:
    """An instance of ``cls`` with invented arguments. ``namespace`` is the file's. Raises `CannotInvent`."""
    plan = ArgumentPlan(cls, namespace, on_meta)
    end = _ArgumentSearch(plan, traced).run()
    if not end.is_built:
        raise CannotInvent(f"{cls.__name__} can't be built with invented arguments") from end.error
    forget_uses()  # with other arguments, the program may have used what is missing
    try:
        return InventedRoot(plan.build(probing=False), plan.shown())
    except Exception as raised:
        raise CannotInvent(f"{cls.__name__} can't be built with invented arguments") from raised


@dataclass(frozen=True)
class _Progress:
    """How far one attempt got."""

    error: BaseException | None
    is_built: bool
    """The instance was built; the error, if any, was raised by the trace."""
    has_arguments: bool = False
    """The arguments were created; the error, if any, was raised by the class that they are for, or by the trace."""
    positions: tuple[int, ...] = ()
    """The instruction that each function had reached when the error was raised, the outermost function first.

    Instructions are in the order in which they are run; the lines of a call's arguments come after the call's own.
    """

    @property
    def rank(self) -> tuple[bool, bool, bool, tuple[int, ...]]:
        """Greater for an attempt that got further."""
        return self.error is None, self.is_built, self.has_arguments, self.positions


@dataclass(frozen=True)
class _Change:
    """A change to try: another kind for the value at a path, or arguments for parameters that had none so far."""

    path: str = ""
    kind: ArgumentKind | None = None
    extra: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    """Names that the settings at the path have from the start, in addition to those that they have already."""
    is_of_all: bool = False
    """Whether the kind applies to all items of the list that contains the value at the path."""
    others: tuple[str, ...] = ()
    """Further paths that the kind applies to."""


class _ArgumentSearch:
    """The search for arguments of one class."""

    def __init__(self, plan: ArgumentPlan, traced: Traced) -> None:
        self._plan = plan
        self._traced = traced
        self._builds = 0
        self._modules = 0

    def run(self) -> _Progress:
        """Change the plan as long as the program gets further with it; return how far the program got."""
        counting = register_module_module_registration_hook(self._count_module)
        try:
            end = self._attempt()
            while end.error is not None and (better := self._better(end)) is not None:
                end = better
            return end
        finally:
            counting.remove()

    def _count_module(self, *_: object) -> None:
        self._modules += 1

    @property
    def _is_over(self) -> bool:
        return self._builds >= MOST_BUILDS or self._modules > MOST_MODULES

    def _better(self, end: _Progress) -> _Progress | None:
        """Make the first change with which the program gets further than ``end``; None if no change helps."""
        assert end.error is not None
        kinds, extra, settings = dict(self._plan.kinds), self._plan.extra, dict(self._plan.settings)
        for change in list(_changes(end.error, end.is_built, self._plan)):
            if self._is_over:
                break
            self._plan.extra = (*extra, *change.extra)
            if change.kind is not None:
                self._plan.kinds.update(dict.fromkeys(self._paths(change), change.kind))
            if change.settings:
                self._plan.settings[change.path] = (*settings.get(change.path, ()), *change.settings)
            new = self._attempt()
            if (new.rank > end.rank and not self._is_refused(change, new.error)) or self._is_within(change):
                return new
            self._plan.kinds, self._plan.extra, self._plan.settings = dict(kinds), extra, dict(settings)
        return None

    def _is_within(self, change: _Change) -> bool:
        """Whether the attempt ended while it built the object that the change introduced."""
        is_object = change.kind is not None and change.kind.name == "object"
        return is_object and self._plan.within is not None and self._plan.within[0] == f"{change.path}."

    def _is_refused(self, change: _Change, error: BaseException | None) -> bool:
        """Whether the program, though it got further, does not accept the new value: the error names its class."""
        if change.kind is None or not isinstance(error, TypeError):
            return False
        named = _CLASSES.get(change.kind.name)
        return any(_mentions(error, name) for name in ([named] if named else self._paths(change)))

    def _paths(self, change: _Change) -> list[str]:
        if not (change.is_of_all and change.path.endswith("]")):
            return [change.path, *change.others]
        start = change.path.rpartition("[")[0]
        return [path for path in self._plan.kinds if path.rpartition("[")[0] == start]

    def _attempt(self) -> _Progress:
        """Build and trace; whenever a value is used as another kind, change it to that kind and start again."""
        once_built: dict[str, ArgumentKind] = {}  # the kinds of numbers that a trace, after the build, used as lists
        for _ in range(MOST_MISUSES):
            if self._is_over:
                break
            self._builds += 1
            is_built = False
            try:
                root = self._plan.build(probing=True)
                is_built = True
                error = self._traced(root)
            except Misused as misuse:
                if misuse.kind == self._plan.kinds.get(misuse.path):
                    return _Progress(misuse, is_built=is_built)
                is_of_all = misuse.kind.name in ("module", "class", "settings")
                paths = self._paths(_Change(misuse.path, is_of_all=is_of_all))
                if is_built:
                    once_built |= {path: kind for path in paths if (kind := self._plan.kinds[path]).name == "number"}
                self._plan.kinds.update(dict.fromkeys(paths, misuse.kind))
                continue
            except Exception as raised:
                error = raised
            if error is not None and not is_built and once_built:
                # The constructor needs numbers. C code, such as `torch.IntTensor([n])`, asks numbers for their length.
                self._plan.kinds |= {path: ArgumentKind("value", kind.value) for path, kind in once_built.items()}
                once_built.clear()
                continue
            if error is not None and (called := _CALLED.match(str(error))) and self._is_new(called[1], is_built):
                continue
            if error is not None and self._is_no_module(error):
                continue
            positions = _positions(error.__traceback__) if error else ()
            return _Progress(error, is_built, is_built or self._plan.within is None, positions)
        return _Progress(Misused("", ArgumentKind("value")), is_built=False)

    def _is_new(self, path: str, is_built: bool) -> bool:
        """Make the value at ``path``, which was called, a module if the instance is built, otherwise a class.

        Returns False if there is no invented value at ``path``, or if the value is of this kind already.
        """
        kind = ArgumentKind("module" if is_built else "class")
        if path not in self._plan.kinds or self._plan.kinds[path] == kind:
            return False
        self._plan.kinds[path] = kind
        return True

    def _is_no_module(self, error: BaseException) -> bool:
        """Whether ``error`` says that an invented value is not a module; if so, make the value a module."""
        if (refused := _NO_MODULE.search(str(error))) is None:
            return False
        paths = [path for path in self._plan.kinds if refused[1].endswith(f".{path}")]
        new = {path: ArgumentKind("module") for path in paths if self._plan.kinds[path].name != "module"}
        self._plan.kinds |= new
        return bool(new)


def _changes(error: BaseException, is_built: bool, plan: ArgumentPlan) -> Iterator[_Change]:
    """Changes that may avoid ``error``, the likeliest first. ``is_built``: the trace raised it, not the build."""
    text = str(error)
    if isinstance(error, TypeError) and "required" in text and "argument" in text:
        names = _QUOTED.findall(text)
        for path in plan.last_unpacked:
            yield _Change(path, settings=tuple(names))
        yield _Change(extra=plan.taken(names))
        prefixes = _prefixes(plan.cls)
        if prefixes:
            yield _Change(extra=plan.taken(f"{prefix}{name}" for prefix in prefixes for name in names))
        return
    off = [
        _Change(path, ArgumentKind("value", value), (path,)) for path, value in plan.switches if path not in plan.extra
    ]
    if not is_built and lacks_weights(error):
        off.sort(key=lambda change: not _WEIGHTS.search(change.path))
        yield from off
    expected = _EXPECTED.search(text)
    if isinstance(error, ValueError) and expected and plan.last_iterated:
        yield _Change(plan.last_iterated[0], ArgumentKind("list", int(expected[1])))
        yield _Change(plan.last_iterated[0], ArgumentKind("list", int(expected[1])), is_of_all=True)
    yield from _wanted_by_program(error, plan)
    suspects = [(path, plan.kinds[path]) for path in _suspects(error, plan) if path in plan.kinds]
    named, optional = (
        plan.taken(re.findall(r"\w+", text), by_name=True),
        [path for path in plan.optional if path not in plan.extra],
    )
    yield from _looked_up(error, plan)
    if _NO_INTEGER.search(text):
        yield from (_Change(path, ArgumentKind("number", _whole(path, kind))) for path, kind in suspects)
    if not is_built:
        yield from _of_other_type(error, plan, suspects)
        if plan.inherited:
            yield _Change(extra=plan.inherited)
        yield from _of_same_type(error, plan, suspects)
        if named:
            yield _Change(extra=named)
    for path, kind in suspects:
        others = (ArgumentKind("value", kind.value),) if kind.name == "object" else _KINDS
        yield from (_Change(path, other) for other in others if other != kind)
    if not is_built:
        yield from (_Change(extra=(path,)) for path in optional)
        yield from off


def _of_other_type(
    error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]
) -> Iterator[_Change]:
    """Values of the type that ``error`` asks for: a string, lists instead of numbers, anything instead of None."""
    text = str(error)
    if not isinstance(error, TypeError | AttributeError):
        return
    if _NO_TEXT.search(text):
        yield from (_Change(path, ArgumentKind("text", "", certain=False)) for path, _ in suspects)
        yield from (
            _Change(path, ArgumentKind("text", text)) for path, kind in suspects for text in _numerals(path, kind)
        )
    if _NO_SEQUENCE.search(text):  # it may be computed from several numbers, all of which have to be lists
        read = (pair for frame, line in _steps(error.__traceback__)[:1] for pair in sequence_values(frame, line))
        paths = dict.fromkeys(_path_of(value, plan.made) for _, value in read)
        first, *others = [path for path in paths if path in plan.kinds and plan.kinds[path].name == "number"] or [""]
        if others:
            yield _Change(first, ArgumentKind("list", items_of(first)), others=(*others,))
    if "NoneType" in text:
        unset = dict.fromkeys(source.rpartition(".")[2] for source, value in _used(error) if value is None)
        yield from (_Change(extra=(path,)) for path in plan.taken(unset, by_name=True))


def _of_same_type(
    error: BaseException, plan: ArgumentPlan, suspects: list[tuple[str, ArgumentKind]]
) -> Iterator[_Change]:
    """Other numbers, lengths and strings."""
    for path, kind in suspects:
        yield from _numbers(path, kind)
        if item := plan.kinds.get(f"{path}[0]"):
            yield from (change for change in _numbers(f"{path}[0]", item) if change.is_of_all)
        yield from _lengths(path, kind, str(error))
        yield from _options(path, kind, error)


def _numerals(path: str, kind: ArgumentKind) -> tuple[str, str]:
    """Strings that can be evaluated, like options of a command line: a list of integers, and an integer."""
    number = _whole(path, kind)
    return str([number] * items_of(path)), str(number)


def _whole(path: str, kind: ArgumentKind) -> int:
    """An integer near the value of ``kind``, or one that suits the name of ``path`` if that is no number."""
    number = kind.value if isinstance(kind.value, int | float) else number_for(path)
    return max(int(number), 1)


def _looked_up(error: BaseException, plan: ArgumentPlan) -> Iterator[_Change]:
    """What the program looked up without success: a keyword argument, or an attribute of an object of settings."""
    wanted = error.name if isinstance(error, AttributeError) else error.args[0] if isinstance(error, KeyError) else None
    if isinstance(wanted, str) and wanted.isidentifier():
        yield _Change(extra=plan.taken([wanted]))
        path = _path_of(getattr(error, "obj", None), plan.made)
        if path in plan.kinds and plan.kinds[path].name in ("settings", "object"):  # a class of its own, without this
            yield _Change(path, settings=(wanted,))


def _prefixes(cls: type) -> list[str]:
    """Prefixes that the module of ``cls`` may strip from keywords to pass them on, e.g. ``enc_`` in ``enc_depth``."""
    home = sys.modules.get(cls.__module__)  # a class can claim to be from any module
    values = [] if home is None else list(vars(home).values())
    functions = [value for value in (*values, cls.__init__) if isinstance(value, FunctionType)]  # type: ignore[misc]
    own = [function.__code__ for function in functions if function.__module__ == cls.__module__]
    texts = [value for value in (*values, *(text for code in own for text in code.co_consts)) if isinstance(value, str)]
    return list(dict.fromkeys(text for text in texts if _PREFIX.match(text)))


def _numbers(path: str, kind: ArgumentKind) -> Iterator[_Change]:
    """Other numbers for the value at ``path``; if this is an item of a list, also for all of the list's items."""
    if kind.name == "number" and isinstance(kind.value, int | float):
        whole = max(int(kind.value), 1)
        others = (1, 2 * whole, 0.5, 4 * whole) if isinstance(kind.value, int) else (whole, 0.5)
        for other in [other for other in others if repr(other) != repr(kind.value)]:
            yield _Change(path, ArgumentKind("number", other))
            if path.endswith("]"):
                yield _Change(path, ArgumentKind("number", other), is_of_all=True)


def _lengths(path: str, kind: ArgumentKind, text: str) -> Iterator[_Change]:
    """Other lengths for a list or a tuple, starting with those that the error message mentions."""
    if kind.name in ("list", "tuple"):
        lengths = dict.fromkeys([*map(int, _DIGITS.findall(text)), 3, 1, 2, 4, 5])
        yield from (
            _Change(path, ArgumentKind(kind.name, length, kind.items)) for length in lengths if length != kind.value
        )


def _options(path: str, kind: ArgumentKind, error: BaseException) -> Iterator[_Change]:
    """Strings that ``error`` suggests instead of this one: from its message, or the members of an enumeration."""
    if kind.name != "text":
        return
    if _NO_NUMBER.search(str(error)):
        yield _Change(path, ArgumentKind("text", str(number_for(path))))
    named = _ONE_OF.search(str(error))
    options = re.findall(r"[\w.-]+", named[1].partition(".\n")[0]) if named else []
    options += [text for text in re.findall(r"'([\w.-]+)'", str(error)) if text not in options]
    for frame in _frames(error.__traceback__):
        enumeration = frame.f_locals.get("cls")
        if isinstance(enumeration, enum.EnumMeta):
            members: dict[str, Any] = dict(enumeration.__members__)
            options += [str(member.value) for member in members.values()]
    for option in [option for option in options if option not in _WORDS][:MOST_OPTIONS]:
        yield _Change(path, ArgumentKind("text", option))


def _wanted_by_program(error: BaseException, plan: ArgumentPlan) -> Iterator[_Change]:
    """Changes suggested by the code that ``error`` passed through: its checks, type tests, lookups and comparisons."""
    yield from _checked_for(error.__traceback__, plan)
    yield from _asked_for(error.__traceback__, plan)
    yield from _chosen_from(error.__traceback__, plan)
    if isinstance(error, AttributeError | UnboundLocalError | NotImplementedError | ValueError):
        yield from _compared_with(plan)


def _checked_for(traceback: TracebackType | None, plan: ArgumentPlan) -> Iterator[_Change]:
    """Changes that would make the check that raised the error pass."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return
    for passing in passing_values(traceback.tb_frame, traceback.tb_lineno, lambda value: _path_of(value, plan.made)):
        kind = plan.kinds.get(passing.path)
        if kind is not None:
            name: KindName = kind.name if passing.is_length else "number"
            yield _Change(passing.path, ArgumentKind(name, passing.value, kind.items if passing.is_length else ()))
    for option, value in passing_options(traceback.tb_frame, traceback.tb_lineno):
        for path in plan.taken([option], by_name=True):
            yield _Change(path, ArgumentKind("value", value), (path,))
    for path in plan.taken(names_in_check(traceback.tb_frame, traceback.tb_lineno), by_name=True):
        yield _Change(extra=(path,))  # the check may refuse its default


def _compared_with(plan: ArgumentPlan) -> Iterator[_Change]:
    """Changes of a number or string to one it was compared with: no branch of ``if kind == 0: … elif …`` was taken."""
    for path, others in list(plan.compared.items()):
        if path in plan.kinds:
            for other in list(others)[:MOST_OPTIONS]:
                yield _Change(path, ArgumentKind("text" if isinstance(other, str) else "number", other))


def _asked_for(traceback: TracebackType | None, plan: ArgumentPlan) -> Iterator[_Change]:
    """Changes that satisfy an ``isinstance(net, Transformer)`` in a function that the error passed through."""
    for frame in _frames(traceback):
        for call in _isinstance_calls(frame.f_code):
            try:
                value, classes = (eval(ast.unparse(part), frame.f_globals, frame.f_locals) for part in call.args)
            except (Exception, Misused):
                continue
            path = _path_of(value, plan.made)
            for asked in classes if isinstance(classes, tuple) else (classes,):
                origin: Any = typing.get_origin(asked)
                cls = asked if origin is None else origin  # `typing.Sequence` stands for `collections.abc.Sequence`
                is_own = isinstance(cls, type) and cls.__module__ != "builtins"
                if is_own and path in plan.kinds and not isinstance(value, cls):
                    yield _Change(path, first_guess(path.rpartition(".")[2], cls, plan.namespace))


def _isinstance_calls(code: CodeType) -> list[ast.Call]:
    return [
        node
        for node in _nodes(code)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance" and len(node.args) == 2
    ]


def _chosen_from(traceback: TracebackType | None, plan: ArgumentPlan) -> Iterator[_Change]:
    """Changes to a key that is missing from a table, looked up by a function in the traceback, or to the table.

    Examples of such lookups: ``mode in MODES``, ``MODELS[name]``, ``"target" in config``.
    """
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
                if isinstance(value, str) and isinstance(options, InventedSettings) and value not in options:
                    yield _Change(_path_of(options, plan.made), settings=(str(value),))
                path = _path_of(value, plan.made)
                is_table = isinstance(options, Mapping) or isinstance(node, ast.Compare)
                if path in plan.kinds and is_table and not isinstance(options, str) and value not in options:
                    plain = [option for option in options if type(option) in (str, int, float)]
                    for option in sorted(plain, key=repr)[:MOST_OPTIONS]:
                        yield _Change(path, ArgumentKind("value", option))
            except (Exception, Misused):  # it uses a value that is gone, or the options are not a table
                continue


def _does_something(node: ast.AST) -> bool:
    """Whether evaluating ``node`` again could have an effect or block, as ``queue.get()`` could."""
    return any(
        isinstance(inner, (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for inner in ast.walk(node)
    )


def _nodes(code: CodeType) -> Iterator[ast.AST]:
    try:
        return ast.walk(ast.parse(textwrap.dedent(inspect.getsource(code))))
    except (OSError, SyntaxError, TypeError):
        return iter(())


def _positions(traceback: TracebackType | None) -> tuple[int, ...]:
    """The instruction that each function in the traceback had reached, except for the search's own functions."""
    positions = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename not in _OWN_FILES:
            positions.append(traceback.tb_lasti)
        traceback = traceback.tb_next
    return tuple(positions)


def _suspects(error: BaseException, plan: ArgumentPlan) -> list[str]:
    """The paths of the invented values that may have caused ``error``, the likeliest first.

    First come those that the error names, then those that the failing statements used, the innermost first, and last
    all others in the traceback's frames.
    """
    named = [path for path in plan.kinds if isinstance(error, TypeError) and _mentions(error, path)]
    used = (_path_of(value, plan.made) for _, value in _used(error))
    frames = _frames(error.__traceback__)
    other = (_path_of(value, plan.made) for frame in frames for value in list(frame.f_locals.values()))
    return list(dict.fromkeys(path for path in (*named, *used, *other) if path))


def _used(error: BaseException) -> Iterator[tuple[str, Any]]:
    """What the failing statements in the traceback used, as `used_values` returns it, the innermost first."""
    for frame, line in _steps(error.__traceback__):
        yield from used_values(frame, line)


def _mentions(error: BaseException, name: str) -> bool:
    """Whether the error's message has ``name`` as a word of its own."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.\[])", str(error)) is not None


def _path_of(value: Any, made: Mapping[int, tuple[str, Any]]) -> str:
    """The path of an invented value; empty for any other value."""
    if isinstance(value, InventedSettings):
        return str(vars(value)["_path"])
    return value.path if isinstance(value, Probe) else made.get(id(value), ("",))[0]


def _frames(traceback: TracebackType | None) -> list[FrameType]:
    """The frames of the traceback, the innermost first, except for those of the search itself."""
    return [frame for frame, _ in _steps(traceback)]


def _steps(traceback: TracebackType | None) -> list[tuple[FrameType, int]]:
    """The frames of the traceback, as `_frames` returns them, each with the line that it had reached."""
    steps = list(walk_tb(traceback))
    return [(frame, line) for frame, line in reversed(steps) if frame.f_code.co_filename not in _OWN_FILES]


_OWN_FILES = frozenset({__file__, ArgumentPlan.build.__code__.co_filename, without_weights.__code__.co_filename})
