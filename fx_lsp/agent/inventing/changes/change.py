"""One change of the arguments that fx-lsp invents."""

from __future__ import annotations

from dataclasses import dataclass

from fx_lsp.agent.inventing.argument_kinds import ArgumentKind

MOST_OPTIONS = 4
"""How many options (strings that an error names, keys of a table) are tried."""


@dataclass(frozen=True)
class Change:
    """A change to try: another kind for the value at a path, or arguments for parameters that had none so far."""

    path: str = ""
    kind: ArgumentKind | None = None
    extra: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    """Names that the settings at the path have from the start, in addition to those that they have already."""
    is_of_all: bool = False
    """Whether the kind applies to all items of the list that contains the value at the path."""
    others: tuple[str, ...] = ()
    """Further paths that the kind, or the settings, apply to."""
    also: tuple[tuple[str, ArgumentKind], ...] = ()
    """Further paths with other kinds, which have to change at the same time."""
    is_due: bool = False
    """Whether the error shows that the arguments are lacking, so that to give them may end in an earlier error."""


def is_choice(change: Change) -> bool:
    """Whether a change sets one of the strings that a program knows: the keys of a table, the names in an error."""
    return change.kind is not None and isinstance(change.kind.value, str)
