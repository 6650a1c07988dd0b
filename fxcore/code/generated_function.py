"""Generated source as a function: compiled when it is first used, shown in tracebacks, and freed with its module."""

from __future__ import annotations

import itertools
import linecache
import sys
import traceback
import weakref
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from fxcore.code.emitter import WRAP
from fxcore.codegen import PythonCode
from fxcore.wrap import _wrapped_fns_to_patch

if TYPE_CHECKING:
    from fxcore.graph import Graph
    from fxcore.source import SourceSpan

_numbers = itertools.count()


def _file_name(co_fields: dict[str, Any]) -> str:
    """A file name for generated source, built from ``co_fields`` if these describe the original function.

    The name is unique, except that a ``co_filename`` given without a line number or function name is used unchanged.
    """
    name = f"<fxcore_eval_with_key>.{next(_numbers)}"
    if "co_filename" not in co_fields:
        return name
    if "co_firstlineno" not in co_fields or "co_name" not in co_fields:
        return str(co_fields["co_filename"])
    return f"{name} from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"


def take_wraps(src: str) -> tuple[str, list[str]]:
    """``src`` with the statements that call ``wrap`` blanked out, and the names of the functions that they wrap.

    These statements are the same as torch.fx's and call torch.fx's ``wrap``, but fxcore has to register the names.
    """
    head, separator, definition = src.partition("\ndef ")
    if WRAP not in head:
        return src, []
    lines = head.split("\n")
    wrapped = [line for line in lines if line.startswith(f'{WRAP}("')]
    kept = ["" if line in wrapped else line for line in lines]
    return "\n".join(kept) + separator + definition, [line[len(WRAP) + 2 : -2] for line in wrapped]


def _forward_from_src(src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None) -> Callable[..., Any]:
    """The function ``forward`` that ``src`` defines; see `_method_from_src`."""
    return _method_from_src("forward", src, globals, co_fields)


def _method_from_src(
    method_name: str, src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None
) -> Callable[..., Any]:
    """The function ``method_name`` that ``src`` defines, with a copy of ``globals`` as its globals.

    Tracebacks show its source lines as long as its code object exists. Raises ``SyntaxError`` if ``src`` is not valid
    Python.
    """
    global_values = dict(globals)
    file_name = _file_name(co_fields or {})
    runnable, wrapped = take_wraps(src)
    exec(compile(runnable, file_name, "exec", dont_inherit=True), global_values)
    function: Callable[..., Any] = global_values.pop(method_name)
    wrapped_keys = [(id(global_values), wrapped_name) for wrapped_name in wrapped]
    _wrapped_fns_to_patch.update(dict.fromkeys(wrapped_keys, global_values))
    linecache.cache[file_name] = (len(src), None, src.splitlines(keepends=True), file_name)
    weakref.finalize(function.__code__, _forget, file_name, wrapped_keys).atexit = False
    return function


def _forget(file_name: str, wrapped_keys: list[tuple[int, str]]) -> None:
    linecache.cache.pop(file_name, None)
    for key in wrapped_keys:
        _wrapped_fns_to_patch.pop(key, None)


class Generated:
    """The source of one graph module's ``forward``, and its code object once it is compiled."""

    def __init__(self, python_code: PythonCode, graph: Graph) -> None:
        self.python_code = python_code
        self._nodes = list(graph.nodes)
        self._co_fields = graph._co_fields
        self._code: CodeType | None = None

    def compile(self) -> Callable[..., Any]:
        """Compile the source and return the function."""
        function = _forward_from_src(self.python_code.src, self.python_code.globals, self._co_fields)
        self._code = function.__code__
        return function

    def explain(self, error: BaseException) -> None:
        """Add a note to ``error``: which line of this function failed, and which line of the user's it came from.

        Before Python 3.11, which introduced notes, the note is printed to stderr.
        """
        line = next(
            (line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code is self._code), None
        )
        if line is None:
            return
        text = self.python_code.src.split("\n")[line - 1].strip()
        note = f"in line {line} of the generated forward: {text}"
        span = self._span(line)
        if span is not None:
            source = linecache.getline(span.file, span.line).strip()
            note += f'\ngenerated from File "{span.file}", line {span.line}' + (f": {source}" if source else "")
        if sys.version_info >= (3, 11):
            error.add_note(note)
        else:
            print(note, file=sys.stderr)  # noqa: T201

    def _span(self, line: int) -> SourceSpan | None:
        index = (self.python_code._lineno_map or {}).get(line - self.python_code._prologue_start)
        return None if index is None else self._nodes[index].span


class PendingForward:
    """A stand-in for a class's ``forward``. On first access, it compiles the function and replaces itself with it."""

    def __init__(self, generated: Generated) -> None:
        self._generated = generated

    def __get__(self, instance: object, owner: type) -> Callable[..., Any]:
        function = self._generated.compile()
        for cls in owner.__mro__:
            if vars(cls).get("forward") is self:
                cls.forward = function  # type: ignore[attr-defined]
        bound: Callable[..., Any] = function if instance is None else function.__get__(instance, owner)
        return bound
