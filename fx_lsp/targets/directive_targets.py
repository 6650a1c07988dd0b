"""Targets from directives such as ``# fx: trace(dim=64)`` above a class. See ``fx_lsp/documents/directives.py``."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fx_lsp.agent.messages import Recipe, Snippet, Target
from fx_lsp.documents.directives import Directive
from fx_lsp.documents.name_resolution import Names
from fx_lsp.documents.scopes import Function
from fx_lsp.targets.class_recipes import recipes_for
from fx_lsp.targets.shown_calls import ShownCalls
from fx_lsp.targets.text_spans import SourceText, title_of

DirectivesByName = Mapping[str, Sequence[Directive]]
"""The name of a top-level class or function -> the directives above it."""


def directed_targets(
    names: Names, tree: ast.Module, said: DirectivesByName, text: SourceText, examples: ShownCalls
) -> Iterator[Target]:
    """One target for each ``trace`` directive."""
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, *Function)):
            for directive in said.get(node.name, ()):
                if directive.verb == "trace":
                    target = _target(node, directive, text)
                    if isinstance(node, ast.ClassDef) and target.recipe.root.source == f"{node.name}()":
                        # The directive gives no arguments, so fx-lsp tries everything it knows.
                        others = [
                            dataclasses.replace(other, inputs=target.recipe.inputs)
                            for other in recipes_for(node, names, text, examples)
                        ]
                        target = dataclasses.replace(target, fallbacks=tuple(others))
                    yield _with_values(target, said[node.name], directive.labels)


def with_directives(targets: Sequence[Target], said: DirectivesByName) -> list[Target]:
    """The targets with the values that the directives set: tracer, leaves, inputs and concrete arguments."""
    return [_with_values(target, said.get(target.symbol or "", ()), ()) for target in targets]


def with_inputs(targets: Iterable[Target], said: DirectivesByName) -> list[Target]:
    """The targets with the inputs that the directives set; all else is said by the calls that trace the targets."""
    return [
        _with_values(target, [one for one in said.get(target.symbol or "", ()) if one.verb == "inputs"], ())
        for target in targets
    ]


def is_skipped(target: Target, said: DirectivesByName) -> bool:
    """Whether a directive says not to trace the target's class or function."""
    return any(directive.verb == "skip" for directive in said.get(target.symbol or "", ()))


def _target(
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, directive: Directive, text: SourceText
) -> Target:
    root, inputs = _parts(node, directive)
    label = f"[{', '.join(directive.labels)}]" if directive.labels else ""
    title = f"{title_of(ast.parse(root, mode='eval').body)}{label}"
    recipe = Recipe(_snippet(root, directive), inputs=_snippet(inputs, directive) if inputs else None)
    return Target(f"directive:{root}{label}", title, text.name_span(node), recipe, "explicit", node.name)


def _parts(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, directive: Directive) -> tuple[str, str]:
    """The parts of ``trace(arguments)``: the call that builds the class, and the inputs among the arguments.

    For a function, all arguments are inputs; for a class, those that its forward takes but its constructor does not.
    """
    if not isinstance(node, ast.ClassDef):
        return node.name, directive.arguments
    given = ast.parse(f"f{directive.arguments or '()'}", mode="eval").body
    assert isinstance(given, ast.Call)
    taken = _parameters(node, "forward") - _parameters(node, "__init__")
    inputs = [keyword for keyword in given.keywords if keyword.arg in taken]
    if not inputs:
        return f"{node.name}{directive.arguments or '()'}", ""
    built = ast.Call(ast.Name(node.name), given.args, [keyword for keyword in given.keywords if keyword not in inputs])
    return ast.unparse(built), ast.unparse(ast.Call(ast.Name(""), [], inputs))


def _parameters(node: ast.ClassDef, method: str) -> set[str]:
    found = (member for member in node.body if isinstance(member, Function) and member.name == method)
    return {inner.arg for member in found for inner in ast.walk(member.args) if isinstance(inner, ast.arg)}


def _with_values(target: Target, said: Sequence[Directive], labels: Sequence[str]) -> Target:
    """``target`` with the values of the directives that have no label or one of ``labels``."""
    values: dict[str, Any] = {}
    for directive in said:
        if not directive.labels or set(directive.labels) & set(labels):
            field, source = _VALUES.get(directive.verb, ("", ""))
            if field:
                values[field] = _snippet(source.format(directive.arguments), directive)
    recipe, *fallbacks = (dataclasses.replace(recipe, **values) for recipe in (target.recipe, *target.fallbacks))
    return dataclasses.replace(target, recipe=recipe, fallbacks=tuple(fallbacks))


_VALUES = {
    "concrete_args": ("concrete_args", "dict{}"),
    "tracer": ("tracer", "{}"),
    "leaf": ("leaves", "(lambda *leaves: leaves){}"),
    "inputs": ("inputs", "{}"),
}
"""For each verb that sets a field of a recipe: the field, and a template that turns the arguments into its value."""


def _snippet(source: str, directive: Directive) -> Snippet:
    return Snippet(source, directive.line)
