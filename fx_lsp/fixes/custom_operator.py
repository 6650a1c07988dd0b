"""Move code that depends on the values in tensors into a custom operator, of which a capture records only the call.

This is what torch's documentation advises for code that can't be captured:
https://docs.pytorch.org/tutorials/advanced/python_custom_ops.html. The operator also needs a fake implementation, which
returns tensors of the right shapes without computing them. The shapes are guessed from the text, and a proof determines
whether a guess was right. The operator has no formula for its gradients, so the edit is refuted where these matter.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.data_flow import leaves
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression, tuple_text
from fx_lsp.fixes.editing.extraction import extracted
from fx_lsp.fixes.editing.helper_function import described, helper_name, with_function
from fx_lsp.fixes.editing.import_edits import imported
from fx_lsp.fixes.editing.line_changes import changes_between
from fx_lsp.fixes.editing.operator_results import Operator, fake_results, is_new, items_of
from fx_lsp.fixes.editing.value_kinds import Kind, ValueKinds

_MOST_STATEMENTS = 12
"""The most statements of one block that are moved together."""

_WITHOUT_GRADIENTS = frozenset({"detach", "detach_", "no_grad", "numpy", "inference_mode"})
"""Names in code through which no gradient flows."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """Up to two fixes, with different shapes of the result, if statements around the expression can be an operator."""
    operator = _operator(source, node)
    if operator is None:
        return
    torch = imported(source, "torch")
    if torch.changes:
        return
    name = helper_name(source, operator.statements, operator.extraction)
    at = next(at for at, one in enumerate(operator.statements) if source.contains(one, node))
    what = described(operator.statements[at:])
    for guess in fake_results(source, operator, at, torch.name):
        definition = _definition(source, operator, name, guess.body, torch.name)
        edited = with_function(source, operator.statements, operator.extraction, name, definition)
        title = f"Move {what} into the custom operator {name}{guess.described}"
        yield Fix(title, changes_between(source.path, source.text, edited))


def _operator(source: Source, node: ast.expr) -> Operator | None:
    """The fewest statements around ``node`` that can be an operator."""
    function = source.function(node)
    statement = source.statement(node)
    if function is None or statement is function:
        return None
    kinds = ValueKinds(source, function)
    while statement is not function:
        if not source.is_elif(statement):
            block = source.block(statement)
            at = block.index(statement)
            for start, end in _runs(at, len(block)):
                if found := _as_operator(source, block[start:end], kinds):
                    return found
        parent = source.parent(statement)
        if not isinstance(parent, ast.stmt):
            return None
        statement = parent
    return None


def _runs(at: int, length: int) -> Iterator[tuple[int, int]]:
    """The start and end of each run of items around the index ``at``, the shortest first."""
    for size in range(1, min(length, _MOST_STATEMENTS) + 1):
        for start in range(max(0, at - size + 1), min(at, length - size) + 1):
            yield start, start + size


def _as_operator(source: Source, statements: list[ast.stmt], kinds: ValueKinds) -> Operator | None:
    extraction = extracted(source, statements)
    if extraction is None or not (extraction.outputs or extraction.returns) or "self" in _changed(statements):
        return None
    if extraction.returns and not leaves(statements, (ast.Return, ast.Raise)):
        return None
    parameters = {name: kinds.of(_parsed(text)) for name, text in extraction.inputs.items()}
    tensors_first = sorted(parameters, key=lambda name: parameters[name] != "tensor")
    extraction = replace(extraction, inputs={name: extraction.inputs[name] for name in tensors_first})
    known = {name: kind for name in tensors_first if (kind := parameters[name]) is not None}
    results = _returned(statements, kinds) if extraction.returns else [*map(kinds.of_name, extraction.outputs)]
    returned = tuple(kind for kind in results or () if kind in ("tensor", "int"))
    is_whole = len(known) == len(parameters) and results is not None and len(returned) == len(results)
    has_tensors = "tensor" in known.values() and "tensor" in returned
    if not (is_whole and has_tensors):
        return None
    return Operator(statements, extraction, known, returned, kinds)


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _returned(statements: Sequence[ast.stmt], kinds: ValueKinds) -> list[Kind | None] | None:
    """The kinds of what the statements return; None if it is not always as many values."""
    values = [node.value for one in statements for node in ast.walk(one) if isinstance(node, ast.Return)]
    rows = [[kinds.of(item) for item in items_of(value)] for value in values if value is not None]
    if len(rows) < len(values) or len({len(row) for row in rows}) != 1:
        return None
    columns = map(set, zip(*rows, strict=True))
    return [column.pop() if len(column) == 1 else None for column in columns]


def _definition(source: Source, operator: Operator, name: str, fake: str, torch: str) -> str:
    """The moved code as a function, the operator that calls it, its fake implementation and, if needed, its gradients.

    An operator must neither change its arguments nor return them.
    """
    parameters = ", ".join(operator.kinds)
    values = source.unused(f"{name}_values")
    changed = _changed(operator.statements)
    copied = [f"{one} = {one}.clone()" for one, kind in operator.kinds.items() if kind == "tensor" and one in changed]
    outputs = ", ".join(operator.extraction.outputs)
    returned = [] if operator.extraction.returns else [f"return {outputs}"]
    parts = [
        _function(values, parameters, [*copied, operator.extraction.body, *returned]),
        _registered(source, operator, name, torch, f"{values}({parameters})"),
        f"@{name}.register_fake\n" + _function(source.unused(f"{name}_fake"), parameters, [fake]),
    ]
    if _has_gradients(source, operator):
        parts += _gradients(source, operator, name, values, torch)
    return "\n\n\n".join(parts)


def _function(name: str, parameters: str, lines: Sequence[str], result: str = "") -> str:
    text = "\n".join(lines).split("\n")
    body = "\n".join(f"    {line}" if line.strip() else line for line in text)
    return f"def {name}({parameters}){result}:\n{body}"


def _registered(source: Source, operator: Operator, name: str, torch: str, call: str) -> str:
    """The operator, which returns copies of what ``call`` returns."""
    names = [f"result_{number}" for number in range(1, len(operator.results) + 1)]
    copies = [_copy(one, torch) if kind == "tensor" else one for one, kind in zip(names, operator.results, strict=True)]
    lines = [f"{', '.join(names)} = {call}", f"return {', '.join(copies)}"]
    if len(names) == 1:
        lines = [f"return {_copy(call, torch)}"]
    return _custom_op(source, name, operator.kinds, operator.results, lines, torch)


def _copy(value: str, torch: str) -> str:
    """A copy with the strides that a fake implementation has, too, whatever the strides of ``value`` are."""
    return f"{value}.clone(memory_format={torch}.contiguous_format)"


def _custom_op(
    source: Source, name: str, kinds: Mapping[str, Kind], results: Sequence[Kind], lines: Sequence[str], torch: str
) -> str:
    types = {"tensor": f"{torch}.Tensor"}
    parameters = ", ".join(f"{one}: {types.get(kind, kind)}" for one, kind in kinds.items())
    texts = [types.get(kind, kind) for kind in results]
    result = texts[0] if len(texts) == 1 else f"tuple[{', '.join(texts)}]"
    space = re.sub(r"\W", "_", Path(source.path).stem)
    decorator = f'@{torch}.library.custom_op("{space}::{name.strip("_")}", mutates_args=())'
    return f"{decorator}\n{_function(name, parameters, lines, f' -> {result}')}"


def _has_gradients(source: Source, operator: Operator) -> bool:
    """Whether a gradient may flow through the operator."""
    function = source.function(operator.statements[0])
    decorators = function.decorator_list if function else []
    nodes = itertools.chain.from_iterable(map(ast.walk, (*decorators, *operator.statements)))
    names = {node.attr if isinstance(node, ast.Attribute) else node.id for node in nodes if isinstance(node, _NAMED)}
    return bool(operator.differentiated and _differentiable(operator)) and not names & _WITHOUT_GRADIENTS


def _differentiable(operator: Operator) -> list[int]:
    """The indices of the results to which a gradient may flow."""
    results = zip(operator.last_values(), operator.results, strict=True)
    return [at for at, (result, kind) in enumerate(results) if kind == "tensor" and not is_new(operator, *result)]


_NAMED = (ast.Attribute, ast.Name)


def _gradients(source: Source, operator: Operator, name: str, values: str, torch: str) -> list[str]:
    """An operator that computes the gradients by running ``values`` again, and its registration.

    They are computed in an operator of their own since a capture may also follow the backward pass.
    """
    wanted, chosen = operator.differentiated, _differentiable(operator)
    tensors = [one for one, kind in operator.kinds.items() if kind == "tensor"]
    backward = source.unused(f"{name}_backward")
    count = len(operator.results)
    every = [f"gradient_{number}" for number in range(1, count + 1)] if count > 1 else ["gradient"]
    gradients = [every[at] for at in chosen]
    kinds: dict[str, Kind] = {**dict.fromkeys(gradients, "tensor"), **operator.kinds}
    call = f"{values}({', '.join(operator.kinds)})"
    lines = [f"def differentiable({', '.join(wanted)}):", f"    return {call}"]
    if count > 1:
        items = tuple_text([f"results[{at}]" for at in chosen]) if len(chosen) > 1 else f"results[{chosen[0]}]"
        lines[1:] = [f"    results = {call}", f"    return {items}"]
    given = tuple_text(gradients) if len(gradients) > 1 else gradients[0]
    found = [f"{one}_gradient" for one in wanted]
    lines += [
        "",
        f"_, backward = {torch}.func.vjp(differentiable, {', '.join(wanted)})",
        f"{', '.join(found) if len(found) > 1 else tuple_text(found)} = backward({given})",
        f"return {', '.join(_copy(one, torch) for one in found)}",
    ]
    fakes = f"return {', '.join(f'{one}.new_empty({one}.shape)' for one in wanted)}"
    setup, applied = source.unused(f"{name}_setup"), source.unused(f"{name}_gradients")
    saved = [f"ctx.save_for_backward(*inputs[:{len(tensors)}])", f"ctx.numbers = inputs[{len(tensors)}:]"]
    has_numbers = len(tensors) < len(operator.kinds)
    again = f"{backward}({', '.join(gradients)}, *ctx.saved_tensors{', *ctx.numbers' if has_numbers else ''})"
    parts = [f"{one}_gradient" if one in wanted else "None" for one in operator.kinds]
    return [
        _custom_op(source, backward, kinds, ["tensor"] * len(wanted), lines, torch),
        f"@{backward}.register_fake\n" + _function(source.unused(f"{backward}_fake"), ", ".join(kinds), [fakes]),
        _function(setup, "ctx, inputs, output", saved[: 2 if has_numbers else 1]),
        _function(applied, ", ".join(["ctx", *every]), [f"{', '.join(found)} = {again}", f"return {', '.join(parts)}"]),
        f"{name}.register_autograd({applied}, setup_context={setup})",
    ]


def _changed(statements: Sequence[ast.stmt]) -> set[str]:
    """The names whose values the statements change in place."""
    found = set()
    for node in itertools.chain.from_iterable(map(ast.walk, statements)):
        match node:
            case ast.Subscript(value=value, ctx=ast.Store()):
                found.add(_root(value))
            case ast.AugAssign(target=target):
                found.add(_root(target))
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if method.endswith("_"):
                found.add(_root(value))
    return {name for name in found if name is not None}


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
