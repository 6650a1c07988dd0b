"""Moves a part of a function into a function above it: what the new function is called, and the text of the file."""

from __future__ import annotations

import ast

from fx_lsp.fixes.editing.decision_extent import Part
from fx_lsp.fixes.editing.edited_source import Node, Source
from fx_lsp.fixes.editing.extraction import Extraction


def described(part: Part) -> str:
    """What is moved, for the title of a fix."""
    match part:
        case [ast.If(), *_]:
            return "the if"
        case [ast.With(), *_]:
            return "the block"
        case [ast.Expr(), *_]:
            return "the call"
        case [ast.For() | ast.While(), *_]:
            return "the loop"
        case [*_]:
            return "the assignment"
    return "the expression"


def helper_name(source: Source, part: Part, extraction: Extraction) -> str:
    """An unused name for the helper function: ``_forward_mask`` if it computes ``mask`` for ``forward``."""
    first = part[0] if isinstance(part, list) else part
    words = [function.name for function in source.functions(first)[:1]]
    match source.statement(first):
        case _ if extraction.outputs:
            words.append(extraction.outputs[0])
        case _ if isinstance(part, list) and not extraction.returns:
            words.append("report")
        case ast.Assign(targets=[ast.Name(id=target)]):
            words.append(target)
        case _:
            words.append("result")
    return source.unused("_" + "_".join(word.strip("_") for word in words))


def with_function(source: Source, part: Part, extraction: Extraction, name: str, definition: str) -> str:
    """The file's text with ``part`` replaced by a call to the function ``name``, whose ``definition`` is put above."""
    nodes: list[Node] = [*part] if isinstance(part, list) else [part]
    start, end = source.offsets(nodes[0])[0], source.offsets(nodes[-1])[1]
    call = f"{name}({', '.join(extraction.inputs.values())})"
    if isinstance(part, list):
        call = f"{', '.join(extraction.outputs)} = {call}" if extraction.outputs else call
        call = f"return {call}" if extraction.returns else call
    change = source.above_definition(nodes[0], definition)
    above = source.lines.offset_of_python(change.span.line, 0)
    return source.text[:above] + change.text + source.text[above:start] + call + source.text[end:]
