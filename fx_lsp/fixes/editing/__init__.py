"""The building blocks of fixes: they read a file's syntax, values and data flow, and make small changes to its text.

Imports ``fx_lsp.documents``, ``fx_lsp.targets`` and ``fx_lsp.agent.messages``, never a fix. Begin with
``edited_source.py``: a file's text, its syntax tree, and how to get from one to the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fx_lsp.agent.messages import Span


@dataclass(frozen=True)
class TextChange:
    """Replaces the text at ``span`` with ``text``; an empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True)
class Fix:
    """One edit that a user can apply: all of its changes, or none."""

    title: str
    """In the imperative, e.g. ``Insert torch.fx.wrap("len")``."""
    changes: tuple[TextChange, ...]
    """The changes do not overlap, and each refers to the text before any of them is applied."""
    adds_operator: bool = False
    """Whether the program gets an operator of its own, which other runtimes do not have."""
    rejects_inputs: bool = False
    """Whether it leaves out code of the program, and has the inputs rejected that lead there: it can't be proven, since
    such an input would refute it, and without one nothing shows that there is none."""

    @property
    def is_directive(self) -> bool:
        """Whether it only adds comments that say how to trace a target; the code of the program stays the same."""
        return all(change.text.lstrip().startswith("# fx:") for change in self.changes)


ReadText = Callable[[str], "str | None"]
"""Absolute path -> the text that was traced, unsaved edits included; None for a file that must not be edited."""
