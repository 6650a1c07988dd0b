"""Which value of a setting applies if both the project and the editor or the command line set it."""

from __future__ import annotations

import dataclasses

from fx_lsp.settings.settings import Settings


def override(project: Settings, given: Settings) -> Settings:
    """The project's settings, overridden by those ``given`` settings that differ from their defaults.

    ``given`` are the editor's settings, or those of the command line.
    """
    default, names = Settings(), [field.name for field in dataclasses.fields(Settings)]
    chosen = {name: getattr(given, name) for name in names if getattr(given, name) != getattr(default, name)}
    return dataclasses.replace(project, **chosen)
