"""Edits that add directives (``# fx:`` comments) to a file: how to trace a class, what to skip, what to ignore."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from fx_lsp.agent.messages import Span
from fx_lsp.documents.directives import directives_of
from fx_lsp.documents.name_resolution import Names, free_names
from fx_lsp.documents.parse import tree_of
from fx_lsp.documents.positions import LineIndex
from fx_lsp.documents.scopes import Function
from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.edited_source import first_line
from fx_lsp.fixes.editing.text_edits import applied
from fx_lsp.targets.class_recipes import recipes_for
from fx_lsp.targets.inferred_targets import Classes
from fx_lsp.targets.prose_code import code_in_docstrings
from fx_lsp.targets.shown_calls import ShownCalls
from fx_lsp.targets.text_spans import SourceText

TRACE, INPUTS, IGNORE = "Trace this class with…", "Specify inputs for this class…", "Ignore this rule here"
"""The titles of three edits; the last is followed by the rule's code."""

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

_SAMPLES = {"int": "8", "float": "0.5", "bool": "True", "str": "''"}
"""A sample value for each plain annotation."""

_SAMPLE_INPUT = "torch.rand(1, 3, 224, 224)"


def tracing(path: str, text: str, name: str, recipe: str) -> Fix | None:
    """The edit that adds ``# fx: trace(…)`` above the class ``name``, with arguments to build the class.

    The arguments come from ``recipe``, the call that last built the class, or else from a call in the file, or else
    they are sample values for the required parameters. None if the class is not a module, or has ``# fx: skip``.
    """
    node, names = _definition(text, name)
    said = directives_of(text).above.get(name, ())
    if names is None or not isinstance(node, ast.ClassDef) or not Classes(names).is_module(node):
        return None
    if any(directive.verb == "skip" for directive in said):
        return None
    earlier = sum(directive.verb == "trace" for directive in said)
    label = f"[variant_{earlier + 1}]" if earlier else ""
    recipes = recipes_for(node, names, SourceText(path, text), ShownCalls(path, code_in_docstrings(text)))
    calls = [recipe, *(known.root.source for known in recipes if not known.setup)]
    given = next(filter(None, (_arguments(call, name, names) for call in calls)), "")
    arguments = given or _required(node, "__init__", "8")
    return Fix(TRACE, (_above(path, text, node, f"# fx: trace{label}{arguments}"),))


def stating_inputs(path: str, text: str, name: str) -> Fix | None:
    """The edit that adds ``# fx: inputs(…)`` above the class ``name``, with a sample value for each required input.

    None if the class has no ``forward`` of its own that requires inputs, if an ``inputs`` directive specifies some, or
    if the class is not to be traced.
    """
    node, _ = _definition(text, name)
    said = directives_of(text).above.get(name, ())
    if not isinstance(node, ast.ClassDef) or any(directive.verb in ("inputs", "skip") for directive in said):
        return None
    arguments = _required(node, "forward", _SAMPLE_INPUT)
    return Fix(INPUTS, (_above(path, text, node, f"# fx: inputs{arguments}"),)) if arguments != "()" else None


def skipping(path: str, text: str, name: str) -> Fix | None:
    """The edit that adds ``# fx: skip`` above the module-level class or function ``name``.

    None if there is no such definition, or if it already has this directive.
    """
    node, _ = _definition(text, name)
    if node is None or any(directive.verb == "skip" for directive in directives_of(text).above.get(name, ())):
        return None
    title = "Skip this class" if isinstance(node, ast.ClassDef) else "Skip this function"
    return Fix(title, (_above(path, text, node, "# fx: skip"),))


def ignoring(path: str, text: str, code: str, first: int, last: int) -> Fix | None:
    """The edit that adds ``# fx: ignore[code]`` for a problem in the lines ``first`` to ``last`` (from 1).

    The code goes into an existing comment of this kind, or else into a new comment at the end of a line, or else into
    one on the line above. None if none of these suppresses the problem.
    """
    before = _dumped(text)
    for change, moved in _ignoring(path, text, code, first, last):
        after = applied([change], lambda file: LineIndex(text))[path]
        said = directives_of(after)
        if said.ignores(code, first + moved, last + moved) and before == _dumped(after):
            return Fix(f"{IGNORE}: {code}", (change,))
    return None


def _ignoring(path: str, text: str, code: str, first: int, last: int) -> Iterator[tuple[TextChange, int]]:
    """Yield changes that may suppress the problem, each with the number of lines that it moves the problem down."""
    lines = LineIndex(text)
    for directive in directives_of(text).directives:
        if directive.verb == "ignore" and directive.labels and first <= directive.subject <= last:
            span = Span(path, directive.line, directive.columns[0], directive.line, directive.columns[1])
            yield TextChange(span, f"# fx: ignore[{', '.join((*directive.labels, code))}]"), 0
    for number in dict.fromkeys((first, last)):
        line = lines.line(number - 1)
        start, end = len(line.rstrip().encode()), len(line.encode())
        yield TextChange(Span(path, number, start, number, end), f"  # fx: ignore[{code}]"), 0
    line = lines.line(first - 1)
    indent = line[: len(line) - len(line.lstrip())]
    yield TextChange(Span(path, first, 0, first, 0), f"{indent}# fx: ignore[{code}]{_end_of_line(text)}"), 1


def _definition(text: str, name: str) -> tuple[Definition | None, Names | None]:
    """The last module-level definition of ``name``, and the names of the file."""
    tree = tree_of(text)
    if tree is None:
        return None, None
    found = [node for node in tree.body if isinstance(node, (ast.ClassDef, *Function)) and node.name == name]
    return (found[-1] if found else None), Names(tree)


def _above(path: str, text: str, node: Definition, comment: str) -> TextChange:
    line = first_line(node)
    return TextChange(Span(path, line, 0, line, 0), comment + _end_of_line(text))


def _arguments(recipe: str, name: str, names: Names) -> str:
    """The arguments of the call ``recipe``, in parentheses; empty if it uses names that are not module-level."""
    try:
        call = ast.parse(recipe, mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != name:
        return ""
    known = set(names.module.bindings).union(dir(builtins))
    return ast.unparse(call).removeprefix(name) if free_names(call) <= known else ""


def _required(node: ast.ClassDef, method: str, sample: str) -> str:
    """Arguments in parentheses: a value for each parameter of a method that has no default.

    ``sample`` is the value for parameters that have no annotation.
    """
    found = next((member for member in node.body if isinstance(member, Function) and member.name == method), None)
    if found is None:
        return "()"
    given = found.args
    positional = [*given.posonlyargs, *given.args]
    is_static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in found.decorator_list)
    required = positional[0 if is_static else 1 : len(positional) - len(given.defaults)]
    required += [arg for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default is None]
    values = (f"{'' if arg in given.posonlyargs else f'{arg.arg}='}{_value_for(arg, sample)}" for arg in required)
    return f"({', '.join(values)})"


def _value_for(argument: ast.arg, sample: str) -> str:
    """A value for an argument, by its annotation."""
    annotation = ast.unparse(argument.annotation) if argument.annotation else ""
    if "LongTensor" in annotation or "IntTensor" in annotation:
        return "torch.ones(1, 8, dtype=torch.long)"
    if "Tensor" in annotation:
        return f"[{_SAMPLE_INPUT}]" if re.match(r"(typing\.)?list\b", annotation, re.IGNORECASE) else _SAMPLE_INPUT
    return _SAMPLES.get(annotation, "None") if annotation else sample


def _end_of_line(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _dumped(text: str) -> str | None:
    """The program without its comments; None if it is not valid Python."""
    tree = tree_of(text)
    return None if tree is None else ast.dump(tree)
