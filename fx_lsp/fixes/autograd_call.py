"""Record the call of an autograd function instead of tracing into its ``forward``.

A failure in that ``forward`` could also be fixed there, but the graph would still lack the function's ``backward``.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure, Step
from fx_lsp.fixes.editing import Fix, ReadText
from fx_lsp.fixes.editing.decision_extent import deciding_part
from fx_lsp.fixes.editing.edited_source import Source, editable, source_of
from fx_lsp.fixes.move_to_helper import recorded_part
from fx_lsp.fixes.wrap_call import recordable_function


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix if the failure is in an autograd function: the call of its ``apply`` moves into a recorded function."""
    for around, inside in itertools.pairwise(failure.chain):
        if is_in_autograd_function(inside, read):
            for source, call in editable([around], read):
                yield from _recorded(source, call)
            return


def is_in_autograd_function(step: Step, read: ReadText) -> bool:
    """Whether a step is in the ``forward`` of a class that is derived from ``torch.autograd.Function``."""
    source = source_of(step.span.file, read) if step.name.endswith(".forward") else None
    if source is None or (node := source.expression(step.span)) is None:
        return False
    class_ = source.enclosing_class(node)
    return class_ is not None and any(_is_function(source, base) for base in class_.bases)


def _is_function(source: Source, base: ast.expr) -> bool:
    qualified = source.names.qualified(base) or ""
    return qualified.startswith("torch.") and qualified.endswith(".Function")


def _recorded(source: Source, call: ast.expr) -> Iterator[Fix]:
    part = deciding_part(source, call)
    # A call by the name of a function of the file can itself be recorded, which is another fix.
    if part is not None and not recordable_function(source, source.span(call)):
        fix = recorded_part(source, part)
        if fix is not None:
            yield fix
