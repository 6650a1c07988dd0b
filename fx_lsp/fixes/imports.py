"""How a module is called in a file, and the import that it takes where the file has none."""

from __future__ import annotations

from dataclasses import dataclass

from fx_lsp.fixes import TextChange
from fx_lsp.fixes.changes import changes_between
from fx_lsp.fixes.source import Source


@dataclass(frozen=True)
class Imported:
    """A module that the code of a file can use."""

    name: str
    """How it is written there: ``torch``, or what it was imported as."""
    changes: tuple[TextChange, ...]
    """The import that is missing."""


def imported(source: Source, module: str) -> Imported:
    """``module`` under the name that the file imports it by at module level, or else with an import of it."""
    names = source.names
    local = {name: local for local, name in names.imported.items() if local in names.module.bindings}
    parent, _, last = module.rpartition(".")
    if module in local:
        return Imported(local[module], ())
    if parent in local:
        return Imported(f"{local[parent]}.{last}", ())
    return Imported(module, _import(source, module))


def _import(source: Source, module: str) -> tuple[TextChange, ...]:
    from fx_lsp.fixes.insertion import importing  # libcst takes a while to load, and few files need it

    text = importing(source.text, module)
    return changes_between(source.path, source.text, text) if text is not None else ()
