"""The code of the workspace that a process has loaded, and the edits of its text that can be made in the process.

Such an edit changes only the bodies of functions that have not run yet, or moves functions to other lines. The process
is then in the state in which it would be if it had loaded the edited text: functions get their new code in place, so
that everything that refers to them refers to the edited ones. In doubt, an edit can't be made, and whoever asks starts
from an earlier stage.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, FunctionType, GeneratorType
from typing import Any

_compile, _objects, _referents = compile, gc.get_objects, gc.get_referents
"""Taken before any of the user's code runs, since that may replace them."""


class StaleError(Exception):
    """The edited text can't be put into the process. The message says why, for the log."""


@dataclass(frozen=True)
class CodeEdit:
    """New code for functions of this process."""

    changes: tuple[tuple[FunctionType, CodeType], ...] = ()

    def apply(self) -> None:
        """Give the functions their new code."""
        for function, code in self.changes:
            function.__code__ = code


@dataclass
class _Loaded:
    """The code of one module, class or function, and what has become of it."""

    code: CodeType
    has_run: bool
    is_suspended: bool
    """Whether a generator or coroutine is suspended in it."""
    functions: list[FunctionType]
    nested: dict[int, _Loaded] = field(default_factory=dict)
    """The code inside it, by its index among the constants."""

    @property
    def is_body(self) -> bool:
        """Whether it is the code of a module or class, which has run once."""
        return not self.code.co_flags & inspect.CO_OPTIMIZED


class LoadedCode:
    """The code that this process has loaded from some files."""

    def __init__(self, texts: Mapping[str, str], ran: Collection[CodeType]) -> None:
        """``texts`` are the files' texts as they were loaded, and ``ran`` is the code that has run so far.

        Raises `StaleError` if the code can't be found again in the process.
        """
        self._texts = dict(texts)
        functions, suspended = _of_this_process(self._texts.keys())
        ran_here = {code for code in ran if code.co_filename in texts}
        self._files: dict[str, _Loaded] = {}
        for path, text in texts.items():
            left = functions.get(path, {})
            self._files[path] = _loaded(_compiled(text, path), left, ran_here, suspended)
            if left:
                raise StaleError(f"functions of {path} have code that is not in its text")

    def edited(self, texts: Mapping[str, str]) -> CodeEdit:
        """What puts ``texts`` in the place of the texts that were loaded. Raises `StaleError`."""
        changes: list[tuple[FunctionType, CodeType]] = []
        for path, text in texts.items():
            if text == self._texts[path]:
                continue
            loaded, code = self._files[path], _compiled(text, path)
            reads_names = "__main__" in text or "global " in text
            _compare(loaded, code, changes, reads_names=reads_names, outer_ran=False)
        return CodeEdit(tuple(changes))


def _compiled(text: str, path: str) -> CodeType:
    try:
        return _compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise StaleError(f"{path} can't be compiled") from error


_Key = tuple[CodeType, bytes]
"""A piece of code and its positions, which Python 3.11 does not compare."""

_Functions = dict[_Key, list[FunctionType]]


def _key(code: CodeType) -> _Key:
    return code, code.co_linetable


_HOLDERS = frozenset({tuple, set, FrameType, _Loaded})
"""What may refer to code besides functions: other code, this module's records of it and of what ran, and what runs."""


def _of_this_process(files: Collection[str]) -> tuple[dict[str, _Functions], set[CodeType]]:
    """The functions that were made from ``files``, by file and code; and the code in which something is suspended."""
    functions: dict[str, _Functions] = {}
    suspended: set[CodeType] = set()
    others = []
    for one in _objects():
        kind = type(one)
        if kind is FunctionType:
            if (path := one.__code__.co_filename) in files:
                functions.setdefault(path, {}).setdefault(_key(one.__code__), []).append(one)
        elif kind is GeneratorType:
            suspended.add(one.gi_code)
        elif kind is CoroutineType:
            suspended.add(one.cr_code)
        elif kind is AsyncGeneratorType:
            suspended.add(one.ag_code)
        elif kind not in _HOLDERS:
            others.append(one)
    for held in _referents(*others):
        if type(held) is CodeType and held.co_filename in files:
            raise StaleError(f"something else than functions refers to the code of {held.co_name}")
    return functions, suspended


def _loaded(code: CodeType, left: _Functions, ran: Collection[CodeType], suspended: Collection[CodeType]) -> _Loaded:
    """``code`` and the code inside it; functions that were made from it are taken from ``left``.

    The code that was loaded was compiled separately, but equal code is at the same place in the file.
    """
    loaded = _Loaded(code, code in ran, code in suspended, left.pop(_key(code), []))
    for index, constant in _codes_in(code):
        loaded.nested[index] = _loaded(constant, left, ran, suspended)
    return loaded


def _codes_in(code: CodeType) -> Iterator[tuple[int, CodeType]]:
    return ((index, item) for index, item in enumerate(code.co_consts) if isinstance(item, CodeType))


def _compare(
    loaded: _Loaded,
    code: CodeType,
    changes: list[tuple[FunctionType, CodeType]],
    *,
    reads_names: bool,
    outer_ran: bool,
) -> None:
    """Add to ``changes`` what puts ``code`` in the place of ``loaded``. Raises `StaleError`.

    ``reads_names``: the names that functions of the file read decide what the import defines. ``outer_ran``: a function
    around this one has run.
    """
    old = loaded.code
    if _are_identical(old, code):
        return
    if loaded.is_suspended:
        raise StaleError(f"{old.co_name} is suspended")
    if _says_the_same(old, code):
        outer_ran = outer_ran or (loaded.has_run and not loaded.is_body)
        for index, nested in loaded.nested.items():
            inner = code.co_consts[index]
            _compare(nested, inner, changes, reads_names=reads_names, outer_ran=outer_ran)
    else:
        _check_change(loaded, code, reads_names=reads_names, outer_ran=outer_ran)
    changes += [(function, code) for function in loaded.functions]


def _check_change(loaded: _Loaded, code: CodeType, *, reads_names: bool, outer_ran: bool) -> None:
    """Raise `StaleError` unless the body of a function may be replaced by that of ``code``."""
    old = loaded.code
    if loaded.is_body or loaded.has_run or outer_ran:
        raise StaleError(f"{old.co_name} has run")
    if _signature(old) != _signature(code):
        raise StaleError(f"{old.co_name} has another signature or other free variables")
    if reads_names and not _all_names(code) <= _all_names(old):
        raise StaleError(f"{old.co_name} reads other names, and the import may define them")
    if any(_with_functions(loaded)):
        raise StaleError(f"functions inside {old.co_name} exist although it has not run")


def _with_functions(loaded: _Loaded) -> Iterator[_Loaded]:
    """The code inside ``loaded`` that functions were made from."""
    for nested in loaded.nested.values():
        if nested.functions:
            yield nested
        yield from _with_functions(nested)


def _signature(code: CodeType) -> tuple[Any, ...]:
    """What is known of a function without running it; defaults and annotations are in the code around it."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    first = code.co_consts[0] if code.co_consts else None
    docstring = first if isinstance(first, str) else None
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    return code.co_name, counts, code.co_varnames[:count], code.co_flags, code.co_freevars, docstring


def _are_identical(one: CodeType, other: CodeType) -> bool:
    """Whether two pieces of code are equal, positions and the code inside them included."""
    inner = zip(_codes_in(one), _codes_in(other), strict=False)
    return _key(one) == _key(other) and all(_are_identical(first, second) for (_, first), (_, second) in inner)


def _says_the_same(one: CodeType, other: CodeType) -> bool:
    """Whether two pieces of code differ at most in their positions and in the code inside them."""
    return _content(one) == _content(other)


def _content(code: CodeType) -> tuple[Any, ...]:
    constants = [_constant(item) for item in code.co_consts]
    exceptions = getattr(code, "co_exceptiontable", b"")
    return _signature(code), code.co_code, code.co_names, code.co_varnames, code.co_cellvars, exceptions, constants


def _constant(item: Any) -> Any:
    """What identifies a constant; ``==`` does not distinguish ``1`` from ``True``, or ``0.0`` from ``-0.0``."""
    return CodeType if isinstance(item, CodeType) else (type(item), repr(item))


def _all_names(code: CodeType) -> set[str]:
    """The names that a function and the functions inside it read."""
    return {*code.co_names}.union(*(_all_names(inner) for _, inner in _codes_in(code)))
