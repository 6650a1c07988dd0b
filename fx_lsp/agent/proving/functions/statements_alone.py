"""Makes a function of the statements that an edit changes, to run them where nothing around them can be run.

The function takes what the variables of these statements depend on (see `traced_variables`), and returns the variables
that the rest of the function they are from may read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import Any

from fx_lsp.agent.building.build import Built
from fx_lsp.agent.proving.functions.changed_statements import ChangedStatements
from fx_lsp.agent.proving.functions.described_variables import Parameter, Variables
from fx_lsp.agent.proving.functions.edited_function import Definition, definition_of
from fx_lsp.agent.proving.functions.function_beginning import added_to, compiled, returning
from fx_lsp.agent.proving.functions.names_read import attributes_of_owner
from fx_lsp.agent.proving.functions.traced_variables import variables_at
from fx_lsp.agent.proving.run_in_child import ProofEnded

VARIABLES = "_variables_of_statements"
"""The name by which the made function calls what computes the values of variables."""

COMPUTED = "_computed_for_statements"
"""The variable in which it keeps these values."""


def statements_alone(
    function: Callable[..., Any], built: Built, changed: ChangedStatements, *, is_edited: bool
) -> tuple[Any, Variables] | None:
    """A function of the statements ``changed`` in ``function``, which the program ``built`` calls, and its variables.

    ``is_edited``: whether ``function`` is that of the edited text. As for `beginning_of`, a function of a method's
    statements is added to the class of the method's object. None if the statements can't be moved. Raises `ProofEnded`
    if it is not known what their variables hold.
    """
    defined = definition_of(function, decorated=True)
    if defined is None or defined.rebinds_owner:
        return None
    code = defined.plain.__code__
    statements = changed.of(defined.tree, is_edited=is_edited)
    first = statements[0]
    if _shares_line(defined.tree, statements):
        return None
    owned = defined.owner is not None
    lines = range(first.lineno, (first.end_lineno or first.lineno) + 1)
    attributes = changed.of_owner if owned else ()
    variables = variables_at(built, defined, lines, changed.read & defined.variables, attributes)
    if variables is None:
        raise ProofEnded("untried", f"the trace doesn't reach line {lines.start}", True)
    if (changed.write_in_place or changed.compare_identity) and variables.may_share_memory:
        raise ProofEnded("untried", "the edited code writes to, or compares, tensors that may share memory", True)
    left = changed.kept & defined.variables
    kept = {name for name in left if name in changed.assigned or not variables.holds_code(name)}
    definition = _definition(defined, statements, variables, kept)
    made = compiled(definition, code.co_filename, defined.plain, {VARIABLES: variables})
    if made is None:
        return None
    made.__annotations__ = {one.name: one.kind for one in variables.parameters if one.kind is not None}
    made.__defaults__ = tuple(one.default[0] for one in _ordered(variables) if one.default)
    made.__kwdefaults__ = None
    name = f"statements_of_{defined.plain.__name__}"
    found = added_to(defined.owner, made, name) if owned else made
    return found, variables


def check_as_built(function: Callable[..., Any], built: Built) -> None:
    """Raises `ProofEnded` if the program ``built`` calls ``function`` after it has changed modules or the mode."""
    defined = definition_of(function, decorated=True)
    if defined is not None:
        lines = range(defined.tree.body[0].lineno, (defined.tree.end_lineno or 0) + 1)
        body, name = defined.tree.body, defined.plain.__qualname__
        attributes = attributes_of_owner([body], [defined.others], name) if defined.owner is not None else ()
        variables_at(built, defined, lines, (), attributes)


def _ordered(variables: Variables) -> list[Parameter]:
    """The parameters, those with defaults last."""
    return sorted(variables.parameters, key=lambda one: bool(one.default))


def _shares_line(function: ast.FunctionDef, statements: list[ast.stmt]) -> bool:
    """Whether another statement begins, or ends, in the line where the first of the ``statements`` begins."""
    line = statements[0].lineno
    within = {id(node) for statement in statements for node in ast.walk(statement)}
    others = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and id(node) not in within]
    around = {id(node) for node in others if any(id(child) in within for child in ast.walk(node))}
    return any(node.lineno == line or (node.end_lineno == line and id(node) not in around) for node in others)


def _definition(
    defined: Definition, statements: list[ast.stmt], variables: Variables, kept: Collection[str]
) -> ast.FunctionDef:
    """The definition of a function that computes ``variables``, runs ``statements`` and returns the variables ``kept``.

    It also returns what it has computed at first, to show what the statements do to that. What it does besides the
    statements counts as part of the first line of the function that they are from.
    """
    tree, line = defined.tree, defined.tree.lineno
    taken = [ast.arg(one.name) for one in _ordered(variables)]
    owner = [*tree.args.posonlyargs, *tree.args.args][:1] if defined.owner is not None else []
    values, given = ", ".join(variables.values), ", ".join(f"{arg.arg}={arg.arg}" for arg in taken)
    targets = f"({values},) = {COMPUTED}" if values else COMPUTED
    before = ast.parse(f"{targets} = {VARIABLES}({given})").body
    for statement in before:
        ast.increment_lineno(statement, line - 1)
    tree.args = ast.arguments(posonlyargs=[], args=[*owner, *taken], kwonlyargs=[], kw_defaults=[], defaults=[])
    tree.body = [*before, *statements, returning(sorted({*kept, COMPUTED}), line)]
    if not variables.has_gradients:
        (within,) = ast.parse(f"with {VARIABLES}.mode(): pass").body
        assert isinstance(within, ast.With)
        within.body, tree.body = tree.body, [ast.increment_lineno(within, line - 1)]
    return ast.fix_missing_locations(tree)
