"""The scopes of a file, and the statements that bind names in them, told from the syntax alone."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_CHANGING = frozenset({"eval", "train", "append", "extend", "insert", "update", "add"})
"""Methods that are called for what they do to their object."""

Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(eq=False)
class Scope:
    """The module, a class's body or a function's, with the names that its statements bind."""

    parent: Scope | None = None
    prefix: str = ""
    """What the qualified names of its classes and functions begin with, e.g. ``main.<locals>.``."""
    is_class: bool = False
    parameters: frozenset[str] = frozenset()
    defaults: dict[str, Binding] = field(default_factory=dict)
    """What its parameters are where it is called without arguments, as assignments before it."""
    bindings: defaultdict[str, list[Binding]] = field(default_factory=lambda: defaultdict(list))


class Default(ast.Assign):
    """The default of a parameter as an assignment, which does not stand in the file."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where in a file an expression is evaluated."""

    scope: Scope
    statement: ast.stmt
    blocks: tuple[int, ...] = ()
    """The branches, loops and handlers around the statement within its scope, outermost first."""
    in_main: bool = False
    """Under ``if __name__ == "__main__":``, which importing the file does not run."""
    hidden: frozenset[str] = frozenset()
    """Names that a comprehension or a lambda around the expression binds."""
    expects_error: bool = False
    """Within ``with pytest.raises(...)`` or the like."""

    def is_always_after(self, other: Place) -> bool:
        """Whether ``other``'s statement has run, once, by the time that this one does (loops aside)."""
        return other.scope is self.scope and other.precedes(self) and self.blocks[: len(other.blocks)] == other.blocks

    def precedes(self, other: Place) -> bool:
        """Whether this statement ends, in the text, before the other begins."""
        end = (self.statement.end_lineno or 0, self.statement.end_col_offset or 0)
        return end <= (other.statement.lineno, other.statement.col_offset)


@dataclass(frozen=True, eq=False)
class Binding:
    """A statement that gives a name its value, or changes what the name stands for (``net.head = ...``)."""

    name: str
    place: Place
    is_simple: bool
    """Whether the statement can be run on its own: an assignment, an import, a plain definition."""
    is_change: bool = False

    @property
    def statement(self) -> ast.stmt:
        """The statement itself."""
        return self.place.statement

    @property
    def value(self) -> ast.expr | None:
        """What is assigned, where the statement assigns it to the name alone."""
        match self.statement:
            case ast.Assign(targets=[ast.Name()], value=value):
                return value
            case ast.AnnAssign(target=ast.Name(), value=value):
                return value
        return None


class Walk(ast.NodeVisitor):
    """One walk through a file, which notes every scope, binding, import, call and class."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope()
        self.imported: dict[str, str] = {}
        """Local name -> the dotted name that an import gives it, wherever in the file the import stands."""
        self.star_imports: list[str] = []
        """The modules that ``from module import *`` names."""
        self.calls: list[tuple[ast.Call, Place]] = []
        self.classes: list[ast.ClassDef] = []
        self._place = Place(self.module, ast.Pass(lineno=0, col_offset=0, end_lineno=0, end_col_offset=0))
        self._block = 0
        self._visit_statements(tree.body)

    def _visit_statements(self, statements: Iterable[ast.stmt]) -> None:
        around = self._place
        for statement in statements:
            self._place = replace(around, statement=statement)
            self.visit(statement)
        self._place = around

    def _visit_block(self, statements: list[ast.stmt], *, in_main: bool = False) -> None:
        around, self._block = self._place, self._block + 1
        blocks = around.blocks if in_main else (*around.blocks, self._block)
        self._place = replace(around, blocks=blocks, in_main=around.in_main or in_main)
        self._visit_statements(statements)
        self._place = around

    def _visit_scope(self, scope: Scope, statements: list[ast.stmt]) -> None:
        around = self._place
        self._place = Place(scope, around.statement, expects_error=around.expects_error)
        self._visit_statements(statements)
        self._place = around

    def _bind(self, name: str, *, is_simple: bool, is_change: bool = False) -> None:
        self._place.scope.bindings[name].append(Binding(name, self._place, is_simple, is_change))

    def visit_Name(self, node: ast.Name) -> None:
        """A name that is stored to by anything but a simple assignment, or deleted."""
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id, is_simple=False)

    def visit_Call(self, node: ast.Call) -> None:
        """Note the call and its place."""
        self.calls.append((node, self._place))
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """``name = value``, ``a, b = value``, ``name.attribute = value``, ``name[key] = value``."""
        self._assign(node.targets, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """``name: annotation = value``; without a value it binds nothing."""
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
        """``net.eval()`` and ``net.train()`` change what ``net`` stands for, and so does what is put into a list."""
        match node.value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _CHANGING:
                self._bind(name, is_simple=True, is_change=True)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        """``import a.b`` binds ``a``; ``import a.b as c`` binds ``c`` to ``a.b``."""
        for alias in node.names:
            local = alias.asname or alias.name.partition(".")[0]
            self.imported[local] = alias.name if alias.asname else local
            self._bind(local, is_simple=True)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """``from a import b`` binds ``b`` to ``a.b``; a relative import keeps its dots."""
        module = f"{'.' * node.level}{node.module or ''}"
        for alias in node.names:
            if alias.name == "*":
                self.star_imports.append(module)
                continue
            local = alias.asname or alias.name
            self.imported[local] = f"{module}.{alias.name}"
            self._bind(local, is_simple=True)

    def visit_If(self, node: ast.If) -> None:
        """Two branches; that of ``if __name__ == "__main__":`` is none, but importing does not run it."""
        self.visit(node.test)
        self._visit_block(node.body, in_main=_is_main_guard(node.test))
        self._visit_block(node.orelse)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        """A loop binds its variable anew each time round."""
        self.visit(node.target)
        self.visit(node.iter)
        self._visit_block(node.body)
        self._visit_block(node.orelse)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        """A loop's body may not run at all."""
        self.visit(node.test)
        self._visit_block(node.body)
        self._visit_block(node.orelse)

    def visit_Try(self, node: ast.Try) -> None:
        """Nothing in a ``try`` but its ``finally`` is sure to run to its end."""
        self._visit_block(node.body)
        for handler in node.handlers:
            if handler.name:
                self._bind(handler.name, is_simple=False)
            self._visit_block(handler.body)
        self._visit_block(node.orelse)
        self._visit_statements(node.finalbody)

    visit_TryStar = visit_Try

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        """The body of a ``with`` runs like the statements around it."""
        for item in node.items:
            self.visit(item)
        around = self._place
        expects_error = any(_expects_error(item.context_expr) for item in node.items)
        self._place = replace(around, expects_error=around.expects_error or expects_error)
        self._visit_statements(node.body)
        self._place = around

    visit_AsyncWith = visit_With

    def visit_Match(self, node: ast.Match) -> None:
        """Each case is a branch, and its pattern binds names."""
        self.visit(node.subject)
        for case in node.cases:
            for name in bound_names(case.pattern):
                self._bind(name, is_simple=False)
            self._visit_block(case.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A function is bound by its name and has a scope of its own."""
        scope = self._place.scope
        self._bind(node.name, is_simple=not node.decorator_list)
        for outer in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(outer)
        prefix = f"{scope.prefix}{node.name}.<locals>."
        defaults = {name: self._default(name, value) for name, value in _defaults(node.args)}
        self._visit_scope(Scope(scope, prefix, parameters=_parameters(node.args), defaults=defaults), node.body)

    def _default(self, name: str, value: ast.expr) -> Binding:
        statement = ast.copy_location(Default([ast.Name(name, ast.Store())], value), value)
        return Binding(name, replace(self._place, statement=statement), is_simple=True)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class's names are seen in its own body, not in its methods."""
        self.classes.append(node)
        scope = self._place.scope
        self._bind(node.name, is_simple=not node.decorator_list)
        for outer in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(outer)
        self._visit_scope(Scope(scope, f"{scope.prefix}{node.name}.", is_class=True), node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """What a lambda's parameters hold is not known."""
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


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that are bound anywhere inside ``node``."""
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name
            case ast.ExceptHandler(name=str(name)):
                yield name


def _parameters(arguments: ast.arguments) -> frozenset[str]:
    return frozenset(node.arg for node in ast.walk(arguments) if isinstance(node, ast.arg))


def _defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The parameters with a default; further arguments are none."""
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
    """Whether ``with context:`` is there for an error that its body is to raise."""
    name = ast.unparse(context.func).rpartition(".")[2] if isinstance(context, ast.Call) else ""
    return name in ("raises", "suppress") or name.startswith("assertRaises")


def _is_main_guard(test: ast.expr) -> bool:
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            sides = {ast.unparse(left), ast.unparse(right)}
            return sides == {"__name__", "'__main__'"}
    return False
