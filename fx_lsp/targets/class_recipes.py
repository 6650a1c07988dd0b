"""Recipes (ways to build a class): the file's calls to the class or to functions that create it, or invented arguments.

``Net(width, depth=2)`` is a recipe if the text shows the value of ``width``: a constant, a local variable, or the
default of a parameter of the function around the call.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from fx_lsp.agent.messages import Recipe, Snippet
from fx_lsp.documents.name_resolution import Names, free_names
from fx_lsp.documents.parse import tree_of
from fx_lsp.documents.scopes import CodePlace, Function
from fx_lsp.targets.shown_calls import ShownCalls
from fx_lsp.targets.text_spans import SourceText

MOST_RECIPES = 4
"""The maximum number of recipes for one class that come from calls."""


def recipes_for(
    node: ast.ClassDef,
    names: Names,
    text: SourceText,
    examples: ShownCalls,
    *,
    needs_nothing: bool = False,
    takes_nothing: bool = False,
) -> tuple[Recipe, ...]:
    """Recipes for the module-level class ``node``, in the order in which to try them.

    First comes a function that also sets attributes that the class needs, then a call without arguments if
    ``needs_nothing``, then the file's calls, the most certain first, then calls in the ``examples`` of its docstrings,
    and last the class with invented arguments, unless it ``takes_nothing``: a call without arguments is all there is.
    """
    line = text.name_span(node).line
    bare = [Recipe(Snippet(f"{node.name}()", line))] if needs_nothing else []
    completed: list[Recipe] = []
    sure: list[Recipe] = []
    by_default: list[Recipe] = []
    factories: dict[str, Recipe] = {}
    for call, place in names.calls:
        if not _calls(call, node, place, names) or place.expects_error:
            continue
        factory = _factory(place, names)
        if factory and _is_completed(call, place, node):
            completed.append(Recipe(Snippet(f"{factory.name}()", factory.lineno)))
        setup = names.setup([call], place)
        if setup is not None:
            sure.append(_recipe(call, setup, text))
        elif (setup := names.setup([call], place, defaults=True)) is not None:
            by_default.append(_recipe(call, setup, text))
        elif factory:
            factories.setdefault(factory.name, Recipe(Snippet(f"{factory.name}()", factory.lineno)))
    for function in _functions_returning(node.name, names):
        factories.setdefault(function.name, Recipe(Snippet(f"{function.name}()", function.lineno)))
    literal = sorted(sure, key=lambda recipe: len(recipe.setup))
    in_prose = (_for_own_file(recipe, names) for recipe in examples.recipes(node.name))
    shown = tuple(dict.fromkeys([*literal, *by_default, *factories.values(), *in_prose]))[:MOST_RECIPES]
    made_up = [] if takes_nothing and bare else [Recipe(Snippet(node.name, line), made_up=True)]
    return (*completed[:1], *bare, *shown, *made_up)


def _for_own_file(recipe: Recipe, names: Names) -> Recipe:
    """A recipe from a docstring, for use in the docstring's own file: without imports of what that file defines.

    It does not matter which module an import names: the package may have had another name when the docstring was
    written.
    """
    setup = (snippet for snippet in recipe.setup if not _is_import_of(snippet, names))
    return dataclasses.replace(recipe, file="", setup=tuple(setup))


def _is_import_of(snippet: Snippet, names: Names) -> bool:
    match tree_of(snippet.source):
        case ast.Module(body=[ast.ImportFrom(names=[ast.alias(name=name, asname=None)])]):
            return name in names.module.bindings and name not in names.imported
    return False


def _is_completed(call: ast.Call, place: CodePlace, node: ast.ClassDef) -> bool:
    """Whether the file sets attributes of the instance that the class reads but does not set: ``net.head = net.fc``."""
    match place.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
            attributes = [inner for inner in ast.walk(node) if isinstance(inner, ast.Attribute)]
            own = {(inner.attr, type(inner.ctx)) for inner in attributes if ast.unparse(inner.value) == "self"}
            changes = (binding.statement for binding in place.scope.bindings[name] if binding.is_change)
            targets = [target for change in changes if isinstance(change, ast.Assign) for target in change.targets]
            given = {target.attr for target in targets if isinstance(target, ast.Attribute)}
            return any((attr, ast.Load) in own and (attr, ast.Store) not in own for attr in given)
    return False


def _recipe(call: ast.Call, setup: list[ast.stmt], text: SourceText) -> Recipe:
    return Recipe(text.snippet(call), tuple(text.snippet(statement) for statement in setup))


def _calls(call: ast.Call, node: ast.ClassDef, place: CodePlace, names: Names) -> bool:
    """Whether ``call`` calls the class from outside the class's own body."""
    if not (isinstance(call.func, ast.Name) and call.func.id == node.name):
        return False
    if names.scope_of(node.name, place) is not names.module or node.name in place.hidden:
        return False
    return not place.scope.prefix.startswith(f"{node.name}.") and "super" not in free_names(call)


def _factory(place: CodePlace, names: Names) -> ast.FunctionDef | None:
    """The module-level function around ``place``, if it contains a ``return`` and can be called without arguments."""
    function = names.function_around(place)
    if function is None or not needs_at_most(0, function.args):
        return None
    return function if any(isinstance(inner, ast.Return) for inner in _own_statements(function)) else None


def _functions_returning(name: str, names: Names) -> Iterator[ast.FunctionDef]:
    """The module-level functions annotated to return ``name`` that can be called without arguments."""
    for bindings in names.module.bindings.values():
        match bindings[-1].statement:
            case ast.FunctionDef(returns=ast.expr() as returns) as function if needs_at_most(0, function.args):
                if ast.unparse(returns).strip("'\"") == name:
                    yield function


def needs_at_most(count: int, arguments: ast.arguments) -> bool:
    """Whether a function with these parameters requires at most ``count`` positional arguments and no others."""
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional <= count and None not in arguments.kw_defaults


def _own_statements(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*Function, ast.ClassDef)):
            yield child
            yield from _own_statements(child)
