"""Move what can't be traced into a function of its own, and record its call: the remedy for nearly everything.

It helps where data is all that is decided: what the function returns is a traced value again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes import Fix, ReadText
from fx_lsp.fixes.changes import changes_between
from fx_lsp.fixes.decisive import Part, deciding_part
from fx_lsp.fixes.extraction import Extraction, extracted
from fx_lsp.fixes.insertion import wrapping
from fx_lsp.fixes.source import Node, Source, editable
from fx_lsp.fixes.wrap import recordable_function

_NO_HELP = frozenset({"call-binding", "exception", "two-tracers", "not-a-submodule", "not-a-parameter"})
"""Kinds of failure that a recorded call does not mend."""


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix, at the innermost place that may be edited, where what has to move can."""
    place = next(editable(failure, read), None)
    if place is None or failure.kind in _NO_HELP:
        return
    source, node = place
    part = deciding_part(source, node)
    # A call of a function that can be recorded itself needs no other one around it.
    if part is None or (isinstance(part, ast.Call) and recordable_function(source.tree, source.span(part))):
        return
    extraction = extracted(source, part)
    if extraction is None:
        return
    name = _name(source, part, extraction)
    insertion = wrapping(_with_function(source, part, extraction, name), name)
    if insertion is not None:
        title = f"Move {_described(part)} into {name}, a function that is recorded"
        yield Fix(title, changes_between(source.path, source.text, insertion.text))


def _described(part: Part) -> str:
    match part:
        case [ast.If(), *_]:
            return "the if"
        case [ast.For() | ast.While(), *_]:
            return "the loop"
        case [*_]:
            return "the assignment"
    return "the expression"


def _name(source: Source, part: Part, extraction: Extraction) -> str:
    """A name for the function that the file does not use yet: ``_forward_mask`` for what gives ``forward`` its mask."""
    first = part[0] if isinstance(part, list) else part
    words = [function.name for function in source.functions(first)[:1]]
    match source.statement(first):
        case _ if extraction.outputs:
            words.append(extraction.outputs[0])
        case ast.Assign(targets=[ast.Name(id=target)]):
            words.append(target)
        case _:
            words.append("result")
    name = "_" + "_".join(word.strip("_") for word in words)
    used = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)} | set(source.names.module.bindings)
    numbered = (f"{name}_{number}" for number in range(2, len(used) + 3))
    return next(choice for choice in (name, *numbered) if choice not in used)


def _with_function(source: Source, part: Part, extraction: Extraction, name: str) -> str:
    """The file's text with the function above what ``part`` stands in, and a call of it in the place of ``part``."""
    nodes: list[Node] = [*part] if isinstance(part, list) else [part]
    start, end = source.offsets(nodes[0])[0], source.offsets(nodes[-1])[1]
    call = f"{name}({', '.join(extraction.inputs.values())})"
    if isinstance(part, list):
        call = f"{', '.join(extraction.outputs)} = {call}" if extraction.outputs else f"return {call}"
    above = _start_of_definition(source, nodes[0])
    definition = f"{_definition(extraction, name)}\n\n\n"
    if "\r\n" in source.text:
        definition = definition.replace("\r\n", "\n").replace("\n", "\r\n")
    return source.text[:above] + definition + source.text[above:start] + call + source.text[end:]


def _definition(extraction: Extraction, name: str) -> str:
    lines = [*extraction.body.split("\n"), *([f"return {', '.join(extraction.outputs)}"] if extraction.outputs else [])]
    body = "\n".join(f"    {line}" if line.strip() else line for line in lines)
    return f"def {name}({', '.join(extraction.inputs)}):\n{body}"


def _start_of_definition(source: Source, node: Node) -> int:
    """Where the statement at module level begins that ``node`` stands in, with its decorators and its comments."""
    outermost = [*source.around(node)][-2]
    assert isinstance(outermost, ast.stmt)
    decorators: list[ast.expr] = getattr(outermost, "decorator_list", [])
    line = min([outermost.lineno, *(decorator.lineno for decorator in decorators)])
    while source.lines.line(line - 2).startswith("#"):
        line -= 1
    return source.lines.offset_of_python(line, 0)
