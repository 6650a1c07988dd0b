"""Global names that only a script's entry point defines: ``args`` under ``if __name__ == "__main__":``.

The classes of a script often read options that its main block parses. Importing the script does not run that block, so
the few statements that define such names are run on their own, with the parser's defaults.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fx_lsp.agent.importing.script_definitions import defined_names, is_preparation, run_definitions
from fx_lsp.agent.importing.stand_in_modules import names_read
from fx_lsp.agent.importing.stand_ins import StandIn

_OPTIONS = re.compile(r"arg|opt|cfg|conf|pars|setting|param", re.IGNORECASE)
"""Part of the name of a function that reads options."""


@dataclass(frozen=True)
class _Block:
    """Statements that are run when the script is started."""

    statements: list[ast.stmt]
    defines: frozenset[str]
    """The global names that the statements define."""


def define_entry_point_names(
    tree: ast.Module, file: str, namespace: dict[str, Any], repair: Callable[[BaseException], bool]
) -> None:
    """Define in ``namespace`` the names that a script's functions and classes read and only its entry point defines.

    A name whose statement fails, or that depends on work that is left out, stays undefined. ``repair`` is as in
    `run_definitions`.
    """
    blocks = [block for block in _blocks(tree) if block.defines - namespace.keys()]
    lacking = _names_read(tree, file) - namespace.keys() - vars(builtins).keys() if blocks else set()
    for block in blocks:
        wanted = lacking & block.defines
        statements = [one for one in _needed_for(wanted, block.statements) if _only_configures(one)]
        if not statements:
            continue
        trial = dict(namespace)
        run_definitions(ast.Module(statements, []), file, trial, repair)
        found = {name: trial[name] for name in wanted if name in trial and not isinstance(trial[name], StandIn)}
        namespace.update(found)
        lacking -= found.keys()


def _names_read(tree: ast.Module, file: str) -> set[str]:
    """The global names that functions and classes read."""
    definitions: list[ast.stmt] = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    return names_read(compile(ast.Module(definitions, []), file, "exec", dont_inherit=True))


def _blocks(tree: ast.Module) -> Iterator[_Block]:
    """The main block of a script, and functions that declare names ``global``."""
    for node in tree.body:
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
            yield _Block(node.body, frozenset(defined_names(node.body)))
        elif isinstance(node, ast.FunctionDef):
            names = {name for inner in ast.walk(node) if isinstance(inner, ast.Global) for name in inner.names}
            statements = [statement for statement in node.body if not isinstance(statement, ast.Global)]
            yield _Block(statements, frozenset(names & defined_names(node.body)))


def _needed_for(names: Iterable[str], statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements that define ``names``, and those that define or prepare what these read, in source order."""
    wanted, chosen = set(names), set[int]()
    is_new = bool(wanted)
    while is_new:
        is_new = False
        for index, statement in enumerate(statements):
            if index not in chosen and _concerns(statement, wanted):
                chosen.add(index)
                wanted |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
                is_new = True
    return [statements[index] for index in sorted(chosen)]


def _only_configures(statement: ast.stmt) -> bool:
    """Whether a statement calls only methods, builtins, and functions whose names suggest that they read options.

    Anything else, such as ``train(model)``, may be the script's work.
    """
    calls = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
    names = (function.id for function in calls if isinstance(function, ast.Name))
    return all(name in vars(builtins) or _OPTIONS.search(name) for name in names)


def _concerns(statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement defines one of ``names``, or prepares it: ``parser.add_argument(…)``."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom)):
        return not names.isdisjoint(defined_names([statement]))
    if not (isinstance(statement, ast.Expr) and is_preparation(statement)):
        return False
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement))
