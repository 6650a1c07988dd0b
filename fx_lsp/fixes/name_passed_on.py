"""Name the arguments that a function only passes on as ``*args`` and ``**kwargs``: these cannot be unpacked."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.fixes.editing.edited_source import Source, editable
from fx_lsp.fixes.editing.tracing_call_edits import directive

_TITLE = "Name the arguments that are passed on"

_Definition = ast.FunctionDef | ast.AsyncFunctionDef
_Part = ast.expr | ast.arg | ast.keyword
"""A parameter or an argument; all have positions."""


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """Two fixes if the trace found out which parameters of the callee the arguments can fill.

    The first only names them. The second also traces without those that are ``None`` by default: if they are traced as
    inputs, the callee may fail, or run code for inputs that hardly any caller has.
    """
    for source, node in editable(failure.chain[-1:], read) if failure.passed_on is not None else ():
        function = source.function(node)
        passing = _Passing.of(source, node, function, failure.passed_on or "") if function else None
        changes = passing.changes() if passing else None
        if function is None or passing is None or changes is None:
            continue
        yield Fix(_TITLE, changes)
        without = ", ".join(f"{name}=None" for name in passing.none)
        is_root = without and len(failure.chain) == 1
        said = directive(source, function, f"concrete_args({without})") if is_root else None
        if said is not None:
            yield Fix(f"{_TITLE}, and trace with {without}", (said, *changes))


@dataclass(frozen=True)
class _Passing:
    """A call that passes a function's ``*args`` or ``**kwargs`` on."""

    source: Source
    function: ast.arguments
    call: ast.Call
    rest: list[ast.arg]
    """The parameters of the function that are passed on: ``*args``, ``**kwargs`` or both."""
    names: list[str]
    """The parameters of the callee that they can fill."""
    none: list[str]
    """Those whose default is ``None``."""
    text: str
    """The new parameters, as in a definition."""

    @classmethod
    def of(cls, source: Source, call: ast.expr, function: _Definition, text: str) -> _Passing | None:
        """None if the function uses the arguments for more than this call, or uses their names for other values."""
        rest = _passed(call, function.args) if isinstance(call, ast.Call) else []
        if not isinstance(call, ast.Call) or not rest:
            return None
        try:
            [definition] = ast.parse(f"def f({text}): pass").body
        except SyntaxError:  # a required parameter behind an optional one
            return None
        assert isinstance(definition, ast.FunctionDef)
        new, defaults = definition.args.args, definition.args.defaults
        names = [parameter.arg for parameter in new]
        used = [node.id for node in ast.walk(function) if isinstance(node, ast.Name)]
        parameters = [node.arg for node in ast.walk(function) if isinstance(node, ast.arg)]
        passed = {parameter.arg for parameter in rest}
        if not set(names).isdisjoint([*used, *parameters]) or sum(name in passed for name in used) != len(rest):
            return None
        before = [*function.args.defaults, *([] if function.args.vararg in rest else function.args.kw_defaults)]
        if any(before) and len(defaults) < len(new):  # a graph's code can't have a required parameter behind an option
            return None
        pairs = zip(names[len(new) - len(defaults) :], defaults, strict=True)
        none = [name for name, value in pairs if isinstance(value, ast.Constant) and value.value is None]
        return cls(source, function.args, call, rest, names, none, text)

    def changes(self) -> tuple[TextChange, ...] | None:
        """The changes of the signature and of the call; None if they can't be made."""
        changes = [*self._of_signature(), *self._of_call()]
        return None if None in changes else tuple(change for change in changes if change is not None)

    def _of_signature(self) -> Iterator[TextChange | None]:
        text = self.text
        if self.function.kwonlyargs and self.function.vararg in self.rest:
            text = f"{text}, *" if text else "*"  # what can be passed by position still can be
        for parameter in self.rest:
            yield self._replaced(parameter, text) if text else self._removed(parameter, self._parameters)
            text = ""

    def _of_call(self) -> Iterator[TextChange | None]:
        given: list[_Part] = [*self.call.args, *self.call.keywords]
        text = ", ".join(f"{name}={name}" for name in self.names)
        for part in given:
            if not (isinstance(part, ast.Starred) or (isinstance(part, ast.keyword) and part.arg is None)):
                continue
            yield _change(self.source, part, part, text) if text else self._removed(part, given)
            text = ""

    @property
    def _parameters(self) -> list[_Part]:
        """The parameters in their order; each one's default stands for it, if there is one."""
        given = self.function
        positional: list[_Part] = [*given.posonlyargs, *given.args]
        start = len(positional) - len(given.defaults)
        parameters = [*positional[:start], *given.defaults, *filter(None, [given.vararg])]
        parameters += [default or one for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
        return [*parameters, *filter(None, [given.kwarg])]

    def _replaced(self, parameter: ast.arg | None, text: str) -> TextChange | None:
        """The change that replaces ``*args`` or ``**kwargs``; None if there is a space behind the stars."""
        assert parameter is not None
        stars = "**" if parameter is self.function.kwarg else "*"
        line, col = parameter.lineno, parameter.col_offset - len(stars)
        if self.source.lines.line(line - 1).encode()[max(col, 0) : parameter.col_offset] != stars.encode():
            return None
        end_line, end_col = parameter.end_lineno or line, parameter.end_col_offset or 0
        return TextChange(Span(self.source.path, line, col, end_line, end_col), text)

    def _removed(self, part: _Part, among: Sequence[_Part]) -> TextChange | None:
        """The change that removes ``part`` and the comma before it; None if it comes first, and others follow."""
        at = among.index(part)
        if at > 0:
            return _change(self.source, among[at - 1], part, "", from_end=True)
        return _change(self.source, part, part, "") if len(among) == 1 else None


def _passed(call: ast.Call, given: ast.arguments) -> list[ast.arg]:
    """The parameters ``*args`` and ``**kwargs`` that the call unpacks; empty if it unpacks anything else."""
    found = []
    starred = [one.value for one in call.args if isinstance(one, ast.Starred)]
    doubly = [keyword.value for keyword in call.keywords if keyword.arg is None]
    for values, parameter in ((starred, given.vararg), (doubly, given.kwarg)):
        match values:
            case []:
                pass
            case [ast.Name(id=name)] if parameter is not None and parameter.arg == name:
                found.append(parameter)
            case _:
                return []
    return found


def _change(source: Source, first: _Part, last: _Part, text: str, *, from_end: bool = False) -> TextChange:
    """The change that replaces everything from ``first``, or from its end, to the end of ``last`` with ``text``."""
    start = (first.end_lineno or 0, first.end_col_offset or 0) if from_end else (first.lineno, first.col_offset)
    return TextChange(Span(source.path, *start, last.end_lineno or 0, last.end_col_offset or 0), text)
