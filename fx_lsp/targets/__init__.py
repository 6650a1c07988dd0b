"""Finds what to trace in a file and how to build it, from the syntax alone: no code of the file is run.

Begin reading at `find_targets`. Imports only `fx_lsp.documents`, `fx_lsp.settings`, `fx_lsp.workspace` and the agent's
messages.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable

from fx_lsp.agent.messages import Target
from fx_lsp.documents.directives import directives_of
from fx_lsp.documents.name_resolution import Names
from fx_lsp.documents.parse import parsed
from fx_lsp.documents.source_size import is_oversize
from fx_lsp.targets.directive_targets import (
    DirectivesByName,
    directed_targets,
    is_skipped,
    with_directives,
    with_inputs,
)
from fx_lsp.targets.example_calls import with_examples
from fx_lsp.targets.explicit_targets import explicit_targets
from fx_lsp.targets.inferred_targets import Classes, class_targets, instance_targets
from fx_lsp.targets.prose_code import code_in_docstrings
from fx_lsp.targets.shown_calls import ShownCalls
from fx_lsp.targets.text_spans import SourceText


def find_targets(path: str, source: str) -> tuple[Target, ...] | None:
    """The targets of the file ``path`` (absolute) whose text is ``source``, in the order of the text.

    A class or function that the file traces itself gets no inferred target, and neither does a class if an instance of
    it is a target. Directives in comments (``fx_lsp/documents/directives.py``) take precedence over both. A target
    keeps its key after an edit elsewhere in the file. None if ``source`` is not valid Python (yet); empty if it is too
    large to parse.
    """
    if is_oversize(source):
        return ()
    source = source.removeprefix("\ufeff")
    tree = parsed(source)
    try:
        if tree is None:
            return None
        examples = ShownCalls(path, code_in_docstrings(source))
        return _targets(tree, directives_of(source).above, SourceText(path, source), examples)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _targets(tree: ast.Module, said: DirectivesByName, text: SourceText, examples: ShownCalls) -> tuple[Target, ...]:
    names = Names(tree)
    classes = Classes(names)
    called = with_inputs(explicit_targets(names, text), said)
    explicit = [*called, *directed_targets(names, tree, said, text, examples)]
    of_classes = list(class_targets(names, classes, text, examples))
    instances = _with_recipes_of(of_classes, _without(explicit, instance_targets(names, classes, text)))
    inferred = with_directives(instances + _without(explicit + instances, of_classes), said)
    found = [target for target in explicit + inferred if not is_skipped(target, said)]
    return tuple(sorted(with_examples(found, names), key=lambda target: (target.span.line, target.span.col)))


def _with_recipes_of(classes: Iterable[Target], instances: Iterable[Target]) -> list[Target]:
    """``instances``, for each of which its class is built if the file, as it is imported, does not define it."""
    recipes = {target.symbol: (target.recipe, *target.fallbacks) for target in classes}
    return [dataclasses.replace(target, fallbacks=recipes.get(target.symbol, ())) for target in instances]


def _without(known: list[Target], found: Iterable[Target]) -> list[Target]:
    """The targets in ``found``, except for those whose class or function already has a target in ``known``."""
    symbols = {target.symbol for target in known} - {None}
    return [target for target in found if target.symbol not in symbols]
