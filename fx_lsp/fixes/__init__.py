"""The edits that fx-lsp offers for a failure: one file per fix, and the code that they share in ``editing/``.

Imports ``fx_lsp.rules``, ``fx_lsp.documents``, ``fx_lsp.workspace``, ``fx_lsp.targets`` and
``fx_lsp.agent.messages``. Begin with `fixes_for`, which imports a fix only when it is needed: neither the fixes nor
libcst add to start-up time.

Every place in a file is a ``messages.Span``: lines count from 1, columns are UTF-8 byte offsets from 0, and the end is
exclusive.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.fixes.editing import Fix, ReadText, TextChange
from fx_lsp.rules import rule_for

__all__ = ["Fix", "ReadText", "TextChange", "code_edits", "fixes_for"]


def fixes_for(failure: Failure, read: ReadText, calls: Sequence[Span] = ()) -> tuple[Fix, ...]:
    """The edits that may fix a failure, the most direct first; empty for a notice, or if no edit is known to help.

    Some come from the modules listed in the rule's ``fixes``; others change ``calls``, the calls in the user's code
    that trace the program. One combines the first edit that may be proven with a trace without the optional inputs.
    Each file of the failure's chain is parsed once or twice, so call this function only when its result is needed.
    """
    edits = [*code_edits(failure, read)]
    rule = rule_for(failure.kind)
    if rule.capture == "fx" and not rule.is_notice:
        concrete_args, leaf_module = _module("concrete_args"), _module("leaf_module")
        first = next((fix for fix in edits if not fix.rejects_inputs), None)
        combined = [*concrete_args.without_optional(first, failure, read, calls)] if first else []
        edits[2:2] = combined
        edits[1:1] = concrete_args.fixes(failure, read, calls, of_objects=True)
        edits[:0] = _module("autograd_call").fixes(failure, read)
        edits[:0] = concrete_args.fixes(failure, read, calls, of_objects=False)
        edits += leaf_module.fixes(failure, read, calls)
    return _distinct(edits)


def code_edits(failure: Failure, read: ReadText) -> tuple[Fix, ...]:
    """Those of the edits that change the code that fails, not how it is traced."""
    rule = rule_for(failure.kind)
    names = () if rule.is_notice else rule.fixes
    return _distinct(fix for name in names for fix in _module(name).fixes(failure, read))


def _distinct(fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    found: dict[tuple[TextChange, ...], Fix] = {}
    for fix in fixes:
        found.setdefault(fix.changes, fix)
    return tuple(found.values())


def _module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")
