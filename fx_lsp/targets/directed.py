"""What comments say of targets: ``# fx: trace(dim=64)`` above a class. See ``fx_lsp/directives.py``."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from fx_lsp.agent.messages import Recipe, Snippet, Target
from fx_lsp.directives import Directive
from fx_lsp.scopes import Function
from fx_lsp.targets.text import Text, title_of

Said = Mapping[str, Sequence[Directive]]
"""By the name of a class or function at the top level, what is said of it."""


def directed_targets(tree: ast.Module, said: Said, text: Text) -> Iterator[Target]:
    """One target for each ``trace``."""
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, *Function)):
            for directive in said.get(node.name, ()):
                if directive.verb == "trace":
                    yield _with_values(_target(node, directive, text), said[node.name], directive.labels)


def inferred_as_said(targets: Sequence[Target], said: Said) -> list[Target]:
    """The targets with the tracer and the concrete arguments that are said of their classes and functions."""
    return [_with_values(target, said.get(target.symbol or "", ()), ()) for target in targets]


def is_skipped(target: Target, said: Said) -> bool:
    """Whether it is said of the target's class or function that it is not to be traced."""
    return any(directive.verb == "skip" for directive in said.get(target.symbol or "", ()))


def _target(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, directive: Directive, text: Text) -> Target:
    root = f"{node.name}{directive.arguments or '()'}" if isinstance(node, ast.ClassDef) else node.name
    label = f"[{', '.join(directive.labels)}]" if directive.labels else ""
    title = f"{title_of(ast.parse(root, mode='eval').body)}{label}"
    recipe = Recipe(_snippet(root, directive))
    return Target(f"directive:{root}{label}", title, text.name_span(node), recipe, "explicit", node.name)


def _with_values(target: Target, said: Sequence[Directive], labels: Sequence[str]) -> Target:
    """``target`` with what is said of all traces and of those with one of the labels."""
    recipe = target.recipe
    for directive in said:
        if not directive.labels or set(directive.labels) & set(labels):
            if directive.verb == "concrete_args":
                recipe = dataclasses.replace(recipe, concrete_args=_snippet(f"dict{directive.arguments}", directive))
            elif directive.verb == "tracer":
                recipe = dataclasses.replace(recipe, tracer=_snippet(directive.arguments, directive))
    return dataclasses.replace(target, recipe=recipe)


def _snippet(source: str, directive: Directive) -> Snippet:
    return Snippet(source, directive.line)
