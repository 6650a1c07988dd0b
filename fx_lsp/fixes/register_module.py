"""Register a module that is called without being registered: in ``__init__``, or in a container of ``torch.nn``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from fx_lsp.agent.messages import Span
from fx_lsp.documents.name_resolution import free_names
from fx_lsp.documents.scopes import bound_names
from fx_lsp.fixes.editing import Fix, TextChange
from fx_lsp.fixes.editing.edited_source import Source, first_line, for_failing_expression, unused_name
from fx_lsp.fixes.editing.import_edits import imported

_CONTAINERS = {
    ast.List: "ModuleList",
    ast.ListComp: "ModuleList",
    ast.Dict: "ModuleDict",
    ast.DictComp: "ModuleDict",
}
"""The type of a list or dict expression -> the container of ``torch.nn`` that registers the modules in it."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the called module is built by the method itself, or kept in a plain list or dict."""
    match node:
        case ast.Call(func=ast.Call() as built):
            yield from _built_once(source, built, _snake(_last_name(built.func)))
        case ast.Call(func=ast.Name(id=name)) if (value := _assigned(source, node, name)) is not None:
            yield from _built_once(source, value, name)
    if isinstance(node, ast.Call) and (attribute := _held_in(source, node)) is not None:
        yield from _registered(source, node, attribute)


def _built_once(source: Source, built: ast.Call, name: str) -> Iterator[Fix]:
    """One fix: move ``built``, which builds the module each time the method is called, into ``__init__``.

    The module is then built once.
    """
    method, class_ = source.function(built), source.enclosing_class(built)
    if method is None or class_ is None or source.parent(method) is not class_ or not method.args.args:
        return
    self_name = method.args.args[0].arg
    local = set(bound_names(method)) - {self_name}
    if free_names(built) & local or any(isinstance(node, ast.NamedExpr) for node in ast.walk(built)):
        return
    used = {node.attr for node in ast.walk(class_) if isinstance(node, ast.Attribute)}
    used |= {statement.name for statement in class_.body if isinstance(statement, ast.FunctionDef)}
    name = unused_name(name, used)
    text = source.slice(built)
    change = _into_init(source, class_, method, f"self.{name} = {text.replace(f'{self_name}.', 'self.')}")
    if change is not None:
        yield Fix(f"Build self.{name} in __init__", (change, source.replaced(built, f"{self_name}.{name}")))


def _into_init(
    source: Source, class_: ast.ClassDef, method: ast.FunctionDef | ast.AsyncFunctionDef, line: str
) -> TextChange | None:
    """The change that adds ``line`` to the class's ``__init__``, or a new ``__init__`` with it above ``method``."""
    for statement in class_.body:
        match statement:
            case ast.FunctionDef(name="__init__", args=ast.arguments(args=[ast.arg(arg="self"), *_]), body=body):
                return source.below(body[-1], line)
    if [source.names.qualified(base) for base in class_.bases] != ["torch.nn.Module"]:
        return None  # the arguments of the base's constructor are not known
    indent = source.indent(method)
    lines = ["def __init__(self):", "    super().__init__()", f"    {line}", ""]
    first = first_line(method)
    text = "".join(f"{indent}{line}\n" if line else "\n" for line in lines)
    return TextChange(Span(source.path, first, 0, first, 0), text)


def _assigned(source: Source, call: ast.Call, name: str) -> ast.Call | None:
    """The call whose result the method assigns to ``name``, if the method assigns nothing else to this name."""
    method = source.function(call)
    stores = [
        node
        for node in ast.walk(method or call)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    if len(stores) != 1:
        return None
    match source.statement(stores[0]):
        case ast.Assign(targets=[target], value=ast.Call() as value) if target is stores[0]:
            return value
    return None


def _held_in(source: Source, call: ast.Call) -> str | None:
    """The attribute of ``self`` that holds the called module, if the method indexes the attribute or loops over it."""
    match call.func:
        case ast.Subscript(value=held):
            return _attribute_of_self(held)
        case ast.Name(id=name):
            for outer in source.around(call):
                loops = [outer] if isinstance(outer, ast.For) else getattr(outer, "generators", [])
                for loop in loops:
                    if name in bound_names(loop.target):
                        found = [_attribute_of_self(node) for node in ast.walk(loop.iter)]
                        return next(filter(None, found), None)
    return None


def _registered(source: Source, call: ast.Call, attribute: str) -> Iterator[Fix]:
    """Wrap the plain list or dict that the class assigns to ``attribute`` in a container that registers its modules."""
    class_ = source.enclosing_class(call)
    for node in ast.walk(class_) if class_ else ():
        match node:
            case ast.Assign(targets=[target], value=value) if _attribute_of_self(target) == attribute:
                if type(value) in _CONTAINERS:
                    nn = imported(source, "torch.nn")
                    container = f"{nn.name}.{_CONTAINERS[type(value)]}"
                    changes = (source.before(value, f"{container}("), source.behind(value, ")"))
                    yield Fix(f"Register self.{attribute} as {container}", (*nn.changes, *changes))


def _attribute_of_self(node: ast.AST) -> str | None:
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
    return None


def _last_name(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return "module"


def _snake(name: str) -> str:
    """``name`` in snake case: ``leaky_relu`` for ``LeakyReLU``, not ``leaky_re_lu``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", name).lower()
