"""Replace a check that depends on the values in a tensor with one that ``torch.export`` puts into its graph.

``if bad: raise E(message)`` and ``assert good, message`` become ``torch._check(good, lambda: message)`` if the
condition is about a number, and ``torch._check_tensor_all(good, lambda: message)`` if it is about a tensor. Both raise
a ``RuntimeError``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.torch_assert import checking_fixes

_FUNCTIONS = ("_check", "_check_tensor_all")


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """Two fixes if the failing expression is (a part of) the condition of a guard or of an ``assert``.

    The text does not always tell whether the condition is a number or a tensor; the likelier fix comes first.
    """
    is_tensor = Values(source).reads_elements(node)
    for function in reversed(_FUNCTIONS) if is_tensor else _FUNCTIONS:
        yield from checking_fixes(source, node, function, "lambda: {0}", of_tensors=function == "_check_tensor_all")
