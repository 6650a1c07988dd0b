"""Makes a function of the statements that an edit changes, to run them where nothing around them can be run.

The function takes what the variables of these statements depend on (see `traced_variables`), and returns the variables
that the rest of the function they are from may read.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from types import FunctionType
from typing import Any

from fx_lsp.agent.building.build import Built
from fx_lsp.agent.proving.functions.changed_statements import ChangedStatements
from fx_lsp.agent.proving.functions.edited_function import functions_of
from fx_lsp.agent.proving.functions.function_beginning import compiled, rebinds_first_parameter, returning
from fx_lsp.agent.proving.functions.traced_variables import Parameter, variables_at

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
    plain = getattr(function, "__func__", function)
    owner = getattr(function, "__self__", None)
    if not isinstance(plain, FunctionType) or inspect.isgeneratorfunction(plain) or isinstance(owner, type):
        return None
    code = plain.__code__
    tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    definition = dict(functions_of(tree.body)).get(plain.__qualname__)
    if definition is None or definition.lineno != code.co_firstlineno:
        return None
    if owner is not None and rebinds_first_parameter(definition):
        return None
    statements = changed.of(definition, is_edited=is_edited)
    first, names = statements[0], {*code.co_varnames[owner is not None :], *code.co_cellvars}
    lines = range(first.lineno, (first.end_lineno or first.lineno) + 1)
    variables = variables_at(built, code, lines, changed.read & names)
    taken = [one.name for one in variables.parameters]
    given = ast.arguments([], [ast.arg(name) for name in taken], None, [], [], None, [])
    if owner is not None:
        given.args.insert(0, definition.args.args[0] if definition.args.args else definition.args.posonlyargs[0])
    if any(arg.arg in taken for arg in given.args[:1] if owner is not None):
        return None
    values = ", ".join(variables.values)
    preamble = ast.parse(f"{values}, = {VARIABLES}({', '.join(taken)})" if values else "pass").body
    for statement in preamble:
        ast.increment_lineno(statement, definition.lineno - 1)
    kept = [name for name in changed.kept & names if name in changed.assigned or not variables.holds_code(name)]
    returned = returning(sorted(kept), definition.lineno)
    made = ast.FunctionDef(f"statements_of_{plain.__name__}", given, [*preamble, *statements, returned], [])
    ast.copy_location(made, definition)
    ast.fix_missing_locations(made)
    cut = compiled(made, code.co_filename, plain, {VARIABLES: variables})
    if cut is None:
        return None
    cut.__annotations__ = {one.name: one.kind for one in variables.parameters if one.kind is not None}
    cut.__defaults__, cut.__kwdefaults__ = None, None
    cut.__name__ = made.name
    if owner is None:
        return cut, (*variables.parameters,)
    setattr(type(owner), cut.__name__, cut)
    return getattr(owner, cut.__name__), (*variables.parameters,)
