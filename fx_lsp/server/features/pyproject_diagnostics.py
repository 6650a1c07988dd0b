"""Diagnostics for mistakes in the ``pyproject.toml`` files that apply to the open documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lsprotocol import types

from fx_lsp.documents.documents import on_disk
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.server.features.diagnostics import SOURCE
from fx_lsp.settings.pyproject import SettingMistake, project_of

CODE = "setting"


class ProjectPublisher:
    """Publishes the mistakes in ``pyproject.toml`` files, and withdraws those that are gone."""

    def __init__(self, places: ClientPlaces, publish: Callable[[types.PublishDiagnosticsParams], None]) -> None:
        self._places = places
        self._publish = publish
        self._shown: dict[str, tuple[SettingMistake, ...]] = {}
        """By path, the mistakes that the client shows."""

    def refresh(self, paths: Iterable[str]) -> None:
        """Check the projects of the documents ``paths``, and publish the mistakes of each file if they have changed."""
        projects = map(project_of, paths)
        found = {project.mistakes[0].file: project.mistakes for project in projects if project.mistakes}
        for file in sorted(found.keys() | self._shown.keys()):
            if found.get(file) != self._shown.get(file):
                diagnostics = [_diagnostic(mistake) for mistake in found.get(file, ())]
                self._publish(types.PublishDiagnosticsParams(self._places.uri(file), diagnostics))
        self._shown = found


def _diagnostic(mistake: SettingMistake) -> types.Diagnostic:
    """The diagnostic for one mistake, at its line."""
    lines = on_disk(mistake.file)
    text = lines.line(mistake.line - 1) if lines else ""
    start = types.Position(mistake.line - 1, len(text) - len(text.lstrip()))
    end = types.Position(mistake.line - 1, len(text.encode("utf-16-le")) // 2)
    return types.Diagnostic(
        types.Range(start, end), mistake.reason, types.DiagnosticSeverity.Error, CODE, source=SOURCE
    )
