"""Edits that mend a failure.

``fixes_for`` is the one way in. Every place is a ``messages.Span``, as in the failures themselves: lines count from 1,
columns are UTF-8 byte offsets from 0, the end is exclusive; whoever shows a fix converts its spans as it converts
those. Only the modules beside this one import libcst, and only when a fix is asked for: nothing here costs start-up.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

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


def fixes_for(failure: Failure, read: ReadText, calls: Sequence[Span] = ()) -> tuple[Fix, ...]:
    """The edits that may mend a failure, the most direct first; none where no edit is known to help.

    They are those of the failure's rule, and those of the ``calls`` by which the files themselves trace the program.
    Costs a parse or two of each file of the chain, so call it when a person asks.
    """
    found: dict[tuple[TextChange, ...], Fix] = {}
    rule = rule_for(failure.kind)
    offered: list[Iterable[Fix]] = [_module("concrete").fixes(failure, read, calls)]
    offered += [_module(name).fixes(failure, read) for name in rule.fixes]
    offered += [_module("leaf").fixes(failure, read, calls)]
    for fix in itertools.chain.from_iterable(offered if not rule.is_notice else ()):
        found.setdefault(fix.changes, fix)
    return tuple(found.values())


def _module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")
