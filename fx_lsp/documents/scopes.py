"""The scopes of a file and the statements that bind names in them, found from the syntax alone."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from fx_lsp.documents.parametrized_tests import parametrized
from fx_lsp.documents.written_loops import first_turn

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_ADDING = "add_argument"
"""The method that adds an argument to a parser, or to a group of arguments."""

_CHANGING = frozenset(
    {"add", "append", "clear", "eval", "extend", "insert", "pop", "remove", "reverse", "setdefault", "sort", "train"}
    | {_ADDING, "set_defaults", "update"}
)
"""Methods whose calls are assumed to change their object."""

_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})
"""Methods of argparse's parsers that return an object through which arguments are added to the parser."""

Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(eq=False)
class Scope:
    """The module, or the body of a class or a function, with the names that its statements bind."""

    parent: Scope | None = None
    prefix: str = ""
    """The beginning of the qualified names of the classes and functions in it, e.g. ``main.<locals>.``."""
    is_class: bool = False
    parameters: frozenset[str] = frozenset()
    defaults: dict[str, Binding] = field(default_factory=dict)
    """The defaults of the function's parameters, as if they were assigned before its definition.

    A test's parameters have the values of its first case (`parametrized`).
    """
    bindings: defaultdict[str, list[Binding]] = field(default_factory=lambda: defaultdict(list))
    first_turns: defaultdict[str, list[Binding]] = field(default_factory=lambda: defaultdict(list))
    """The values of loops' variables in the first turn, as if they were assigned at the beginning of the body."""


class Default(ast.Assign):
    """The default of a parameter, or a loop's first value, as an assignment statement, which the file does not have."""


@dataclass(frozen=True, eq=False)
class CodePlace:
    """Where in a file an expression is evaluated."""

    scope: Scope
    statement: ast.stmt
    blocks: tuple[int, ...] = ()
    """The numbers of the branches, loops and handlers around the statement within its scope, outermost first."""
    in_main: bool = False
    """Whether it is under ``if __name__ == "__main__":``, so that importing the file does not run it."""
    hidden: frozenset[str] = frozenset()
    """Names bound by a comprehension or a lambda around the expression."""
    expects_error: bool = False
    """Whether it is in a block such as ``with pytest.raises(...)``."""

    def is_always_after(self, other: CodePlace) -> bool:
        """Whether ``other``'s statement has always run before this place's statement runs (loops aside)."""
        return other.scope is self.scope and other.precedes(self) and self.blocks[: len(other.blocks)] == other.blocks

    def precedes(self, other: CodePlace) -> bool:
        """Whether this place's statement ends, in the text, before ``other``'s begins."""
        end = (self.statement.end_lineno or 0, self.statement.end_col_offset or 0)
        return end <= (other.statement.lineno, other.statement.col_offset)


@dataclass(frozen=True, eq=False)
class Binding:
    """A statement that gives a name its value, or changes the object that the name refers to (``net.head = ...``)."""

    name: str
    place: CodePlace
    is_simple: bool
    """Whether the statement can be run on its own: an assignment, an import, a plain definition."""
    is_change: bool = False

    @property
    def statement(self) -> ast.stmt:
        """The statement itself."""
        return self.place.statement

    @property
    def assignment(self) -> tuple[ast.Name, ast.expr] | None:
        """The name and the assigned value; None unless the statement assigns a value to one name only."""
        match self.statement:
            case ast.Assign(targets=[ast.Name() as target], value=value):
                return target, value
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                return target, value
        return None

    @property
    def value(self) -> ast.expr | None:
        """The assigned value; None unless the statement assigns a value to one name only."""
        return self.assignment[1] if self.assignment else None


def _grouped(call: ast.Call) -> str:
    """The name of the parser of which ``call`` makes a group of arguments; empty for any other call."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=parser), attr=method) if method in _GROUPS:
            return parser
    return ""


class ScopeVisitor(ast.NodeVisitor):
    """Visits a whole file and records every scope, binding, import, call and class."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope()
        self.imported: dict[str, str] = {}
        """Local name -> the dotted name that it is imported from, wherever in the file the import is."""
        self.star_imports: list[Binding] = []
        """Each ``from a import *``, under the name of its module."""
        self.calls: list[tuple[ast.Call, CodePlace]] = []
        self.classes: list[ast.ClassDef] = []
        self._parsers: dict[tuple[Scope, str], str] = {}
        """A scope and the name of a group of arguments in it -> the name of the parser that it belongs to."""
        self._place = CodePlace(self.module, ast.Pass(lineno=0, col_offset=0, end_lineno=0, end_col_offset=0))
        self._block = 0
        self._visit_statements(tree.body, self._place)

    def _visit_statements(self, statements: Iterable[ast.stmt], place: CodePlace) -> None:
        """Visit each of ``statements`` at ``place``, with the visited statement as the place's statement."""
        around = self._place
        for statement in statements:
            self._place = replace(place, statement=statement)
            self.visit(statement)
        self._place = around

    def _visit_block(self, statements: list[ast.stmt], *, in_main: bool = False) -> None:
        self._block += 1
        around = self._place
        blocks = around.blocks if in_main else (*around.blocks, self._block)
        self._visit_statements(statements, replace(around, blocks=blocks, in_main=around.in_main or in_main))

    def _visit_scope(self, scope: Scope, statements: list[ast.stmt]) -> None:
        around = self._place
        self._visit_statements(statements, CodePlace(scope, around.statement, expects_error=around.expects_error))

    def _bind(self, name: str, *, is_simple: bool, is_change: bool = False) -> None:
        self._place.scope.bindings[name].append(Binding(name, self._place, is_simple, is_change))

    def visit_Name(self, node: ast.Name) -> None:
        """Record a name that is deleted, or bound by anything other than a simple assignment."""
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id, is_simple=False)

    def visit_Call(self, node: ast.Call) -> None:
        """Record the call and its place."""
        self.calls.append((node, self._place))
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Record ``name = value``, ``a, b = value``, ``name.attribute = value``, ``name[key] = value``."""
        match node:
            case ast.Assign(targets=[ast.Name(id=group)], value=ast.Call() as value) if parser := _grouped(value):
                scope = self._place.scope
                self._parsers[scope, group] = self._parsers.get((scope, parser), parser)
        self._assign(node.targets, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Record ``name: annotation = value``; an annotation without a value binds nothing."""
        if node.value is not None:
            self._assign([node.target], node.value)

    def _assign(self, targets: Iterable[ast.expr], value: ast.expr) -> None:
        is_simple = not any(isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)) for node in ast.walk(value))
        for target in targets:
            for node in _flat(target):
                if isinstance(node, ast.Name):
                    self._bind(node.id, is_simple=is_simple)
                elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.value, ast.Name):
                    self._bind(node.value.id, is_simple=is_simple, is_change=True)
        self.visit(value)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Record calls such as ``net.eval()`` and ``layers.append(layer)`` as changes of the object."""
        match node.value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _CHANGING:
                self._bind(name, is_simple=True, is_change=True)
                parser = self._parsers.get((self._place.scope, name), "")
                if parser and method == _ADDING:
                    self._bind(parser, is_simple=True, is_change=True)
            case ast.Call(func=ast.Attribute(value=ast.Call() as group, attr=method)) if method == _ADDING:
                if parser := _grouped(group):
                    self._bind(parser, is_simple=True, is_change=True)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        """Record that ``import a.b`` binds ``a``, and that ``import a.b as c`` binds ``c`` to ``a.b``."""
        for alias in node.names:
            local = alias.asname or alias.name.partition(".")[0]
            self.imported[local] = alias.name if alias.asname else local
            self._bind(local, is_simple=True)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Record that ``from a import b`` binds ``b`` to ``a.b``; a relative import keeps its dots."""
        module = f"{'.' * node.level}{node.module or ''}"
        for alias in node.names:
            if alias.name == "*":
                self.star_imports.append(Binding(module, self._place, is_simple=True))
                continue
            local = alias.asname or alias.name
            self.imported[local] = f"{module}.{alias.name}"
            self._bind(local, is_simple=True)

    def visit_If(self, node: ast.If) -> None:
        """Visit both branches. ``if __name__ == "__main__":`` isn't a branch, but its body is not run on import."""
        self.visit(node.test)
        self._visit_block(node.body, in_main=_is_main_guard(node.test))
        self._visit_block(node.orelse)

    def _visit_loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        """Visit a loop's body as a block that may not run; a ``for`` also binds its variable.

        What the variable is in the first turn is recorded, too.
        """
        body = replace(self._place, blocks=(*self._place.blocks, self._block + 1))
        for name, value in first_turn(node) if isinstance(node, ast.For) else ():
            self._place.scope.first_turns[name].append(_assigned(name, value, body))
        for part in (node.test,) if isinstance(node, ast.While) else (node.target, node.iter):
            self.visit(part)
        self._visit_block(node.body)
        self._visit_block(node.orelse)

    visit_For = visit_AsyncFor = visit_While = _visit_loop

    def visit_Try(self, node: ast.Try) -> None:
        """Visit all parts of a ``try`` except its ``finally`` as blocks, because they may not run to their end."""
        self._visit_block(node.body)
        for handler in node.handlers:
            if handler.name:
                self._bind(handler.name, is_simple=False)
            self._visit_block(handler.body)
        self._visit_block(node.orelse)
        self._visit_statements(node.finalbody, self._place)

    visit_TryStar = visit_Try

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        """Visit the body of a ``with`` like the statements around it, because it always runs."""
        for item in node.items:
            self.visit(item)
        expects_error = self._place.expects_error or any(_expects_error(item.context_expr) for item in node.items)
        self._visit_statements(node.body, replace(self._place, expects_error=expects_error))

    visit_AsyncWith = visit_With

    def visit_Match(self, node: ast.Match) -> None:
        """Visit each case as a branch, and record the names that its pattern binds."""
        self.visit(node.subject)
        for case in node.cases:
            for name in bound_names(case.pattern):
                self._bind(name, is_simple=False)
            self._visit_block(case.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Record the function's name, and visit its body in a new scope."""
        scope = self._place.scope
        self._bind(node.name, is_simple=not node.decorator_list)
        for outer in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(outer)
        prefix = f"{scope.prefix}{node.name}.<locals>."
        values = (*_defaults(node.args), *parametrized(node))
        defaults = {name: _assigned(name, value, self._place) for name, value in values}
        self._visit_scope(Scope(scope, prefix, parameters=_parameters(node.args), defaults=defaults), node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Record the class and its name, and visit its body in a new scope, which its methods do not see."""
        self.classes.append(node)
        scope = self._place.scope
        self._bind(node.name, is_simple=not node.decorator_list)
        for outer in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(outer)
        self._visit_scope(Scope(scope, f"{scope.prefix}{node.name}.", is_class=True), node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Visit a lambda with its parameters hidden, because their values are not known."""
        self._visit_hiding(node, _parameters(node.args))

    def _visit_hiding(self, node: ast.expr, names: frozenset[str]) -> None:
        around = self._place
        hidden = around.hidden | names
        self._place = replace(around, hidden=hidden)
        for child in ast.iter_child_nodes(node):
            parts = (child.iter, *child.ifs) if isinstance(child, ast.comprehension) else (child,)
            for part in parts:
                self.visit(part)
        self._place = around

    def _visit_comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self._visit_hiding(node, frozenset(bound_names(node)))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension


def _assigned(name: str, value: ast.expr, place: CodePlace) -> Binding:
    """The binding of a name to a value that no statement assigns, as if one did at ``place``."""
    statement = ast.copy_location(Default([ast.Name(name, ast.Store())], value), value)
    return Binding(name, replace(place, statement=statement), is_simple=True)


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that are bound anywhere in ``node``."""
    for inner in ast.walk(node):
        match inner:
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.arg(arg=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
                | ast.ExceptHandler(name=str(name))
            ):
                yield name


def _parameters(arguments: ast.arguments) -> frozenset[str]:
    return frozenset(node.arg for node in ast.walk(arguments) if isinstance(node, ast.arg))


def _defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The parameters with a default, and the default; ``*args`` and ``**kwargs`` default to ``()`` and ``{}``."""
    positional = [*arguments.posonlyargs, *arguments.args]
    for argument, value in zip(reversed(positional), reversed(arguments.defaults), strict=False):
        yield argument.arg, value
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield argument.arg, default
    for rest, empty in ((arguments.vararg, ast.Tuple([], ast.Load())), (arguments.kwarg, ast.Dict([], []))):
        if rest is not None:
            yield rest.arg, ast.copy_location(empty, rest)


def _flat(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _flat(element)
    else:
        yield target.value if isinstance(target, ast.Starred) else target


def _expects_error(context: ast.expr) -> bool:
    """Whether ``with context:`` expects its body to raise an error."""
    name = ast.unparse(context.func).rpartition(".")[2] if isinstance(context, ast.Call) else ""
    return name in ("raises", "suppress") or name.startswith("assertRaises")


def _is_main_guard(test: ast.expr) -> bool:
    return ast.unparse(test) in ("__name__ == '__main__'", "'__main__' == __name__")
