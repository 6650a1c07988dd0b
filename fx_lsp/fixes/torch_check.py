"""Replace a check that depends on the values in a tensor with one that ``torch.export`` puts into its graph.

``if bad: raise E(message)`` and ``assert good, message`` become ``torch._check(good, lambda: message)`` if the
condition is about a number, and ``torch._check_tensor_all(good, lambda: message)`` if it is about a tensor. Both raise
a ``RuntimeError``.
"""

from __future__ import annotations

from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText
from fx_lsp.fixes.editing.edited_source import editable
from fx_lsp.fixes.editing.expression_values import Values
from fx_lsp.fixes.torch_assert import checking_fixes
from fx_lsp.rules import rule_for

_FUNCTIONS = ("_check", "_check_tensor_all")


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """Two fixes if the failing expression is (a part of) the condition of a guard or of an ``assert``.

    The text does not always show whether the condition is a number or a tensor; the likelier fix comes first. The
    message of a compiled check may not read anything but constants, not even from ``self``.
    """
    fills_in = rule_for(failure.kind).capture != "compile"
    for source, node in editable(failure.chain[-1:], read):
        is_tensor = Values(source).reads_elements(node)
        for function in reversed(_FUNCTIONS) if is_tensor else _FUNCTIONS:
            of_tensors = function == "_check_tensor_all"
            yield from checking_fixes(source, node, function, "lambda: {0}", of_tensors=of_tensors, fills_in=fills_in)
