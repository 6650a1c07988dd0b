"""Determines how a file can refer to a module, and the import to add if the file does not import the module yet."""

from __future__ import annotations

from dataclasses import dataclass

from fx_lsp.fixes.editing import TextChange
from fx_lsp.fixes.editing.edited_source import Source
from fx_lsp.fixes.editing.line_changes import changes_between


@dataclass(frozen=True)
class Imported:
    """A module, or a name in a module, that the code of a file can use."""

    name: str
    """How the file refers to it: ``torch``, or the name that it was imported as."""
    changes: tuple[TextChange, ...]
    """The import to add, if it is missing."""


def imported(source: Source, module: str) -> Imported:
    """How ``source`` can refer to ``module``: as it imports the module at module level, or else with a new import."""
    names = source.names
    local = {name: local for local, name in names.imported.items() if local in names.module.bindings}
    parent, _, last = module.rpartition(".")
    if module in local:
        return Imported(local[module], ())
    if parent in local:
        return Imported(f"{local[parent]}.{last}", ())
    return Imported(module, _import(source, module))


def _import(source: Source, module: str) -> tuple[TextChange, ...]:
    from fx_lsp.fixes.editing.insertion_points import importing  # libcst takes a while to load, and few files need it

    text = importing(source.text, module)
    return changes_between(source.path, source.text, text) if text is not None else ()
