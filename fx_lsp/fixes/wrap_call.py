"""Record a call in the graph instead of tracing into it: ``torch.fx.wrap("name")`` in the file that makes the call.

``wrap`` replaces a *global name* of the module that calls it, so it helps only if the call uses such a name: the name
of a function that the file defines or imports, or of a builtin. It cannot help with a method, a local name or a class.
A recorded call returns a traced value, so ``wrap`` also does not help if the result must be true or false.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from pathlib import PurePath

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.documents.name_resolution import Names
from fx_lsp.documents.scopes import CodePlace, Function
from fx_lsp.fixes.editing import Fix, ReadText
from fx_lsp.fixes.editing.edited_source import Source, source_of
from fx_lsp.fixes.editing.insertion_points import wrapping
from fx_lsp.fixes.editing.line_changes import changes_between

_BUILTINS = frozenset({"all", "any", "divmod", "len", "max", "min", "round", "sorted", "sum"})
"""Builtin functions that take and return values; builtins that are classes (``int``) cannot be wrapped."""

_GENERATORS = frozenset(
    f"{prefix}{name}" for prefix in ("", "named_") for name in ("parameters", "buffers", "modules", "children")
)
"""Methods of modules that return generators."""

_NO_HELP = frozenset({"call-binding", "exception", "two-tracers"})
"""Kinds of failure that a recorded call does not fix."""


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix for each recordable call in the failure's chain, the innermost first."""
    if failure.kind in _NO_HELP:
        return
    for step in reversed(failure.chain):
        source = source_of(step.span.file, read)
        fix = _fix(source, step.span) if source is not None else None
        if fix is not None:
            yield fix


def _fix(source: Source, span: Span) -> Fix | None:
    name = recordable_function(source, span)
    insertion = wrapping(source.text, name) if name is not None else None
    if insertion is None:
        return None
    title = f"Insert {insertion.call} in {PurePath(span.file).name}"
    return Fix(title, changes_between(span.file, source.text, insertion.text))


def recordable_function(source: Source, span: Span) -> str | None:
    """The global name of the function that the call at ``span`` calls, if recording the call can work."""
    names, tree = source.names, source.tree
    for call, place in names.calls:
        ends = (call.lineno, call.col_offset, call.end_lineno, call.end_col_offset)
        if ends == (span.line, span.col, span.end_line, span.end_col) and isinstance(call.func, ast.Name):
            name = call.func.id
            works = (
                _is_global_function(name, names, place)
                and _can_be_stored(call, source)
                and not _is_decisive(call, tree)
            )
            return name if works else None
    return None


def _is_decisive(call: ast.Call, tree: ast.Module) -> bool:
    """Whether a test, or the number of times that a loop runs, depends on what the call returns."""
    return any(node is call for expression in _deciding(tree) for node in ast.walk(expression))


def _deciding(tree: ast.Module) -> Iterator[ast.expr]:
    """The expressions whose value must be true or false, or must have a known number of elements."""
    for node in ast.walk(tree):
        match node:
            case ast.Assert(test=ast.Compare(ops=[_])):
                pass  # torch._assert can check what is recorded, which another edit adds
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                yield test
            case ast.BoolOp(values=values):
                yield from values
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield operand
            case ast.For(iter=iterated) | ast.Starred(value=iterated):
                yield iterated
            case ast.comprehension(iter=iterated, ifs=conditions):
                yield from (iterated, *conditions)


def _is_global_function(name: str, names: Names, place: CodePlace) -> bool:
    """Whether ``name``, read at ``place``, is a builtin or a module-level function that the file imports or defines."""
    if name in place.hidden:
        return False
    scope = names.scope_of(name, place)
    if scope is None:
        return name in _BUILTINS
    bindings = [binding for binding in scope.bindings[name] if not binding.is_change]
    return scope is names.module and all(
        _may_be_function(binding.statement, name) and not binding.place.in_main for binding in bindings
    )


def _may_be_function(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.FunctionDef():
            return not _is_generator(statement) and not _is_scripted(statement)
        case ast.ImportFrom():
            imported = next(alias.name for alias in statement.names if name in (alias.name, alias.asname))
            return not imported[:1].isupper()
    return False


def _is_generator(function: ast.FunctionDef) -> bool:
    """Whether ``function`` itself, not a function inside it, contains a ``yield``."""
    todo: list[ast.AST] = [*function.body]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (*Function, ast.Lambda)):
            todo += ast.iter_child_nodes(node)
    return False


def _is_scripted(function: ast.FunctionDef) -> bool:
    """Whether `torch.jit.script` makes ``function`` an object that the code of a graph can't name."""
    return any(ast.unparse(decorator) in ("torch.jit.script", "jit.script") for decorator in function.decorator_list)


def _can_be_stored(call: ast.Call, source: Source) -> bool:
    """Whether there are arguments and, as far as the source shows, a graph can hold all of them."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    methods = {
        item.name
        for around in source.around(call)
        if isinstance(around, ast.ClassDef)
        for item in around.body
        if isinstance(item, Function) and not item.decorator_list
    }
    return bool(arguments) and not any(_is_no_value(argument, methods) for argument in arguments)


def _is_no_value(argument: ast.expr, methods: Set[str]) -> bool:
    """Whether an argument is a generator, a function, one of the ``methods`` of ``self``, or ``self``."""
    match argument:
        case ast.GeneratorExp() | ast.Lambda() | ast.Name(id="self" | "cls"):
            return True
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            return name in methods
        case ast.Call(func=ast.Attribute(attr=name), args=[]):
            return name in _GENERATORS
    return False
