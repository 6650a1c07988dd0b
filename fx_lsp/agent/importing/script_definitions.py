"""Runs the definitions of a script and leaves out its work: reading data, training, exiting.

Imports, definitions and assignments are run one by one; if one raises, only the names that it would bind are affected.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fx_lsp.agent.frame_code import is_at
from fx_lsp.agent.importing.stand_ins import StandIn

_WORK = frozenset({"backward", "fit", "exit", "quit", "input", "system", "urlretrieve", "Popen", "check_call", "sleep"})
"""Names of functions that are never called in order to define something."""

_SETTING_UP = frozenset(
    {"append", "insert", "extend", "add", "update", "setdefault", "wrap"}
    | {"add_argument", "set_defaults", "manual_seed", "simplefilter", "filterwarnings", "basicConfig"}
)
"""Names of functions that are called for a lasting effect, which definitions may depend on."""


def first_work(tree: ast.Module) -> ast.stmt | None:
    """The first statement that makes an import of the file do more than define names: train, download, exit."""
    return next((statement for statement in _statements(tree.body) if _is_work(statement)), None)


MOST_REPAIRS = 20
"""How often one import statement is run; before each further run, what the previous run lacked is provided."""


def run_definitions(
    tree: ast.Module,
    file: str,
    namespace: dict[str, Any],
    repair: Callable[[BaseException], bool],
    *,
    leave_out_work: bool = True,
    costly_line: int | None = None,
) -> None:
    """Run the definitions of ``tree`` in ``namespace``; without ``leave_out_work``, run all that does not raise.

    The statement at ``costly_line`` is left out whatever it does.

    ``repair`` receives the error of an import statement, and returns whether it did something about the error, so that
    the statement can be run again.
    """
    leaves_out = _does_work if leave_out_work else lambda statement: False
    _Definitions(tree, file, namespace, repair, leaves_out, costly_line).run(tree.body)


class _Definitions:
    def __init__(
        self,
        tree: ast.Module,
        file: str,
        namespace: dict[str, Any],
        repair: Callable[[BaseException], bool],
        leaves_out: Callable[[ast.stmt], bool],
        costly_line: int | None,
    ) -> None:
        self._file = file
        self._namespace = namespace
        self._repair = repair
        self._leaves_out = leaves_out
        self._costly_line = costly_line
        self._flags = 0
        for statement in tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
                for alias in statement.names:
                    self._flags |= getattr(__future__, alias.name).compiler_flag

    def run(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.If():
                    self.run(statement.body if self._holds(statement.test) else statement.orelse)
                case ast.Try() if any(map(self._is_left_out, statement.body)):
                    self.run([*statement.body, *statement.orelse, *statement.finalbody])
                case _ if self._is_left_out(statement):
                    self._leave_out(statement)
                case _:
                    self._execute(statement)

    def _is_left_out(self, statement: ast.stmt) -> bool:
        is_costly = self._costly_line is not None and is_at(statement, self._costly_line)
        return is_costly or self._leaves_out(statement)

    def _holds(self, test: ast.expr) -> bool:
        try:
            code = compile(ast.Expression(test), self._file, "eval", self._flags, dont_inherit=True)
            return bool(eval(code, self._namespace))
        except Exception:  # the test depends on something that was left out
            return False

    def _execute(self, statement: ast.stmt) -> None:
        for _ in range(MOST_REPAIRS):
            try:
                code = compile(ast.Module([statement], []), self._file, "exec", self._flags, dont_inherit=True)
                exec(code, self._namespace)
                return
            except (Exception, SystemExit) as error:
                if not (isinstance(statement, (ast.Import, ast.ImportFrom)) and self._repair(error)):
                    break
        self._leave_out(statement)

    def _leave_out(self, statement: ast.stmt) -> None:
        """Give stand-ins to the names that the statement would have bound."""
        for name in defined_names([statement]):
            self._namespace.setdefault(name, StandIn(name))


def defined_names(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that statements bind."""
    names: set[str] = set()
    for node in (node for statement in statements for node in ast.walk(statement)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.alias(name=dotted, asname=asname) if dotted != "*":
                names.add(asname or dotted.partition(".")[0])
    return names


def is_preparation(statement: ast.stmt) -> bool:
    """Whether a statement is a call that is made for its lasting effect, e.g. ``parser.add_argument(…)``."""
    match statement:
        case ast.Expr(value=ast.Call(func=function)):
            name = _last_name(function)
            return name in _SETTING_UP or name.startswith("register")  # e.g. `register_dataclass(Result)`
    return False


def _does_work(statement: ast.stmt) -> bool:
    match statement:
        case ast.For() | ast.While() | ast.AsyncFor() | ast.With() | ast.AsyncWith() | ast.Delete() | ast.Assert():
            return True
        case ast.Expr(value=ast.Call()):
            return not is_preparation(statement)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Expr():
            return _is_work(statement)
    return False


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that importing the file may run, including those in branches."""
    for statement in body:
        match statement:
            case ast.If():
                if "__name__" not in ast.unparse(statement.test):
                    yield from _statements([*statement.body, *statement.orelse])
            case ast.Try():
                yield from _statements([*statement.body, *statement.orelse, *statement.finalbody])
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass
            case _:
                yield statement


def _is_work(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.While):
        return True
    return any(isinstance(node, ast.Call) and _calls_work(node) for node in ast.walk(statement))


def _calls_work(call: ast.Call) -> bool:
    if _last_name(call.func) in _WORK:
        return True
    return any(
        keyword.arg == "download" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in call.keywords
    )


def _last_name(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
