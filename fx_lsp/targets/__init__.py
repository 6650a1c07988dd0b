"""What to trace in a file, told from its syntax alone: nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from fx_lsp.agent.messages import Target
from fx_lsp.directives import directives_of
from fx_lsp.names import Names
from fx_lsp.source_size import is_oversize
from fx_lsp.syntax import parsed
from fx_lsp.targets.calls import explicit_targets
from fx_lsp.targets.directed import Said, directed_targets, inferred_as_said, is_skipped
from fx_lsp.targets.examples import with_examples
from fx_lsp.targets.modules import Classes, class_targets, instance_targets
from fx_lsp.targets.prose import code_in_docstrings
from fx_lsp.targets.shown import Shown
from fx_lsp.targets.text import Text


def find_targets(path: str, source: str) -> tuple[Target, ...] | None:
    """The targets of the file ``path`` (absolute) whose text is ``source``, in the order of the text.

    A class or function that the file traces itself is not inferred a second time, and neither is a class of which an
    instance is traced; what its comments say (``fx_lsp/directives.py``) goes before all that. A target's key is the
    same again after an edit elsewhere in the file. None where ``source`` is not Python (yet). A text that is too large
    to read has none.
    """
    if is_oversize(source):
        return ()
    source = source.removeprefix("\ufeff")
    tree = parsed(source)
    try:
        if tree is None:
            return None
        examples = Shown(path, code_in_docstrings(source))
        return _targets(tree, directives_of(source).above, Text(path, source), examples)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _targets(tree: ast.Module, said: Said, text: Text, examples: Shown) -> tuple[Target, ...]:
    names = Names(tree)
    classes = Classes(names)
    explicit = [*explicit_targets(names, text), *directed_targets(names, tree, said, text, examples)]
    instances = _without(explicit, instance_targets(names, classes, text))
    inferred = inferred_as_said(
        instances + _without(explicit + instances, class_targets(names, classes, text, examples)), said
    )
    found = [target for target in explicit + inferred if not is_skipped(target, said)]
    return tuple(sorted(with_examples(found, names), key=lambda target: (target.span.line, target.span.col)))


def _without(known: list[Target], found: Iterable[Target]) -> list[Target]:
    """Those of ``found`` whose class or function none of ``known`` stands for."""
    symbols = {target.symbol for target in known} - {None}
    return [target for target in found if target.symbol not in symbols]
