"""Move code that depends on the values in tensors into a custom operator, of which a capture records only the call.

This is what torch's documentation advises for code that can't be captured:
https://docs.pytorch.org/tutorials/advanced/python_custom_ops.html. The operator also needs a fake implementation, which
returns tensors of the right shapes without computing them. The shapes are guessed from the text, and a proof determines
whether a guess was right. The gradients are computed by running the moved code again.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.data_flow import leaves
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.extraction import extracted
from fx_lsp.fixes.editing.helper_function import described, helper_name, with_function
from fx_lsp.fixes.editing.import_edits import imported
from fx_lsp.fixes.editing.line_changes import changes_between
from fx_lsp.fixes.operators.fake_results import fake_results
from fx_lsp.fixes.operators.operator import Operator, called, changed_names, items_of
from fx_lsp.fixes.operators.operator_text import definition
from fx_lsp.fixes.operators.value_kinds import Kind, ValueKinds

_MOST_STATEMENTS = 12
"""The most statements of one block that are moved together."""

_NOT_TO_REPEAT = frozenset(
    {"bernoulli", "bernoulli_", "dropout", "exponential_", "multinomial", "normal", "normal_", "poisson", "rand"}
    | {"rand_like", "randint", "randint_like", "randn", "randn_like", "random_", "randperm", "rsample", "sample"}
    | {"critical", "debug", "error", "exception", "info", "log", "print", "uniform_", "warn", "warning"}
)
"""Functions and methods that draw random numbers or report something. Gradients are computed by running code again."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """Up to two fixes, with different shapes of the results, if statements around the expression can be an operator."""
    torch = imported(source, "torch")
    operator = None if torch.changes else _operator(source, node)
    if operator is None:
        return
    name = helper_name(source, operator.statements, operator.extraction)
    at = next(at for at, one in enumerate(operator.statements) if source.contains(one, node))
    for guess in fake_results(source, operator, at, torch.name):
        text = definition(source, operator, name, guess.body, torch.name)
        edited = with_function(source, operator.statements, operator.extraction, name, text)
        title = f"Move {described(operator.statements[at:])} into the custom operator {name}{guess.described}"
        yield Fix(title, changes_between(source.path, source.text, edited), adds_operator=True)


def _operator(source: Source, node: ast.expr) -> Operator | None:
    """The fewest statements around ``node`` that can be an operator."""
    function, statement = source.function(node), source.statement(node)
    if function is None or statement is function:
        return None
    kinds = ValueKinds(source, function)
    while isinstance(statement, ast.stmt) and statement is not function:
        if not source.is_elif(statement):
            block = source.block(statement)
            for start, end in _runs(block.index(statement), len(block)):
                if found := _as_operator(source, block[start:end], kinds):
                    return found
        statement = source.parent(statement)  # type: ignore[assignment]  # the loop ends if it is no statement
    return None


def _runs(at: int, length: int) -> Iterator[tuple[int, int]]:
    """The start and end of each run of items around the index ``at``, the shortest first."""
    for size in range(1, min(length, _MOST_STATEMENTS) + 1):
        for start in range(max(0, at - size + 1), min(at, length - size) + 1):
            yield start, start + size


def _as_operator(source: Source, statements: list[ast.stmt], kinds: ValueKinds) -> Operator | None:
    if _must_not_be_repeated(statements):
        return None
    extraction = extracted(source, statements)
    if extraction is None or not (extraction.outputs or extraction.returns):
        return None
    if not all(map(str.isascii, (*extraction.outputs, *extraction.inputs))):  # torch's schemas are ASCII
        return None
    if extraction.returns and not leaves(statements, (ast.Return, ast.Raise)):
        return None
    outside = changed_names(statements) - {None, *extraction.inputs, *kinds.names}
    if outside:  # such as an attribute of ``self``
        return None
    values = {name: ast.parse(text, mode="eval").body for name, text in extraction.inputs.items()}
    found = {name: kinds.of(value) for name, value in values.items()}
    known = {name: kind for name, kind in found.items() if kind is not None}
    if len(known) < len(found) or "tensor" not in known.values():
        return None
    results = _returned(statements, kinds) if extraction.returns else _outputs(extraction.outputs, kinds)
    returned = tuple(kind for kind in results if kind is not None)
    if len(returned) < len(results) or "tensor" not in returned:
        return None
    tensors_first = sorted(known, key=lambda name: known[name] != "tensor")
    extraction = replace(extraction, inputs={name: extraction.inputs[name] for name in tensors_first})
    integers = [name for name, value in values.items() if known[name] == "tensor" and kinds.holds_integers(value)]
    kinds_in_order = {name: known[name] for name in tensors_first}
    return Operator(statements, extraction, kinds_in_order, returned, frozenset(integers), kinds)


def _must_not_be_repeated(statements: Sequence[ast.stmt]) -> bool:
    """Whether the statements draw random numbers or report something."""
    nodes = itertools.chain.from_iterable(map(ast.walk, statements))
    return any(isinstance(node, ast.Call) and called(node) in _NOT_TO_REPEAT for node in nodes)


def _outputs(names: Sequence[str], kinds: ValueKinds) -> list[Kind | None]:
    """The kinds of names that the statements assign; None for what an operator can't return.

    In a graph, an integer that an operator returns is not negative.
    """
    found = [(name, kinds.of_name(name)) for name in names]
    return [kind if kind == "tensor" or (kind == "int" and kinds.is_count(name)) else None for name, kind in found]


def _returned(statements: Sequence[ast.stmt], kinds: ValueKinds) -> list[Kind | None]:
    """The kinds of what the statements return; None for what an operator can't return, or if their number varies."""
    values = [node.value for one in statements for node in ast.walk(one) if isinstance(node, ast.Return)]
    rows = [[kinds.of(item) for item in items_of(value)] for value in values if value is not None]
    is_alike = len(rows) == len(values) and len({len(row) for row in rows}) == 1
    if not is_alike or any(isinstance(value, ast.Tuple) and len(value.elts) < 2 for value in values):
        return [None]
    columns = map(set, zip(*rows, strict=True))
    return ["tensor" if column == {"tensor"} else None for column in columns]
