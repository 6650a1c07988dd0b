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
from fx_lsp.agent.proving.functions.edited_function import Definition, definition_of
from fx_lsp.agent.proving.functions.function_beginning import added_to, compiled, returning
from fx_lsp.agent.proving.functions.traced_variables import Parameter, Variables, variables_at

VARIABLES = "_variables_of_statements"
"""The name by which the made function calls what computes the values of variables."""


def statements_alone(
    function: Callable[..., Any], built: Built, changed: ChangedStatements, *, is_edited: bool
) -> tuple[Any, tuple[Parameter, ...]] | None:
    """A function of the statements ``changed`` in ``function``, which the program ``built`` calls, and what it takes.

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
    names = {*code.co_varnames[defined.owner is not None :], *code.co_cellvars}
    lines = range(first.lineno, (first.end_lineno or first.lineno) + 1)
    variables = variables_at(built, code, lines, changed.read & names)
    kept = {name for name in changed.kept & names if name in changed.assigned or not variables.holds_code(name)}
    made = compiled(
        _definition(defined, statements, variables, kept), code.co_filename, defined.plain, {VARIABLES: variables}
    )
    if made is None:
        return None
    made.__annotations__ = {one.name: one.kind for one in variables.parameters if one.kind is not None}
    made.__defaults__, made.__kwdefaults__ = None, None
    name = f"statements_of_{defined.plain.__name__}"
    found = made if defined.owner is None else added_to(defined.owner, made, name)
    return found, tuple(variables.parameters)


def _definition(
    defined: Definition, statements: list[ast.stmt], variables: Variables, kept: Collection[str]
) -> ast.FunctionDef:
    """The definition of a function that computes ``variables``, runs ``statements`` and returns the variables ``kept``.

    What it does besides counts as part of the first line of the function that the statements are from.
    """
    tree, line = defined.tree, defined.tree.lineno
    taken = [ast.arg(one.name) for one in variables.parameters]
    owner = [*tree.args.posonlyargs, *tree.args.args][:1] if defined.owner is not None else []
    values, names = ", ".join(variables.values), ", ".join(arg.arg for arg in taken)
    before = ast.parse(f"({values},) = {VARIABLES}({names})").body if values else []
    for statement in before:
        ast.increment_lineno(statement, line - 1)
    tree.args = ast.arguments(posonlyargs=[], args=[*owner, *taken], kwonlyargs=[], kw_defaults=[], defaults=[])
    tree.body = [*before, *statements, returning(sorted(kept), line)]
    return ast.fix_missing_locations(tree)
