"""Edits that mend a failure.

``fixes_for`` is the one way in. Every place is a ``messages.Span``, as in the failures themselves: lines count from 1,
columns are UTF-8 byte offsets from 0, the end is exclusive; whoever shows a fix converts its spans as it converts
those. Only the modules beside this one import libcst, and only when a fix is asked for: nothing here costs start-up.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.rules import rule_for


@dataclass(frozen=True)
class TextChange:
    """Replace what stands at ``span`` by ``text``; an empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True)
class Fix:
    """One edit that a person can take: all of its changes, or none."""

    title: str
    """In the imperative, e.g. ``Insert torch.fx.wrap("len")``."""
    changes: tuple[TextChange, ...]
    """They don't overlap, and each refers to the text before any of them."""


ReadText = Callable[[str], "str | None"]
"""Absolute path -> the text that was traced, unsaved edits included; None for a file that must not be edited."""


def fixes_for(failure: Failure, read: ReadText) -> tuple[Fix, ...]:
    """The edits that the failure's rule offers, the most direct first; none where no edit is known to help.

    Pure but for ``read``; costs a parse or two of each file of the chain, so call it when a person asks.
    """
    found: dict[tuple[TextChange, ...], Fix] = {}
    for name in rule_for(failure.kind).fixes:
        for fix in importlib.import_module(f"fx_lsp.fixes.{name}").fixes(failure, read):
            found.setdefault(fix.changes, fix)
    return tuple(found.values())
