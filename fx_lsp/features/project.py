"""What is wrong in the ``pyproject.toml`` files of the open documents, shown there."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lsprotocol import types

from fx_lsp.documents import on_disk
from fx_lsp.features.diagnostics import SOURCE
from fx_lsp.features.places import ClientPlaces
from fx_lsp.project import Mistake, project_of

CODE = "setting"


class ProjectPublisher:
    """Keeps what the client shows in these files equal to what is wrong there."""

    def __init__(self, places: ClientPlaces, publish: Callable[[types.PublishDiagnosticsParams], None]) -> None:
        self._places = places
        self._publish = publish
        self._shown: dict[str, tuple[Mistake, ...]] = {}
        """By path; without the files that have nothing wrong."""

    def refresh(self, paths: Iterable[str]) -> None:
        """Look at the projects of the documents ``paths``, and publish what is new or gone."""
        projects = map(project_of, paths)
        found = {project.mistakes[0].file: project.mistakes for project in projects if project.mistakes}
        for file in sorted(found.keys() | self._shown.keys()):
            if found.get(file) != self._shown.get(file):
                diagnostics = [_diagnostic(mistake) for mistake in found.get(file, ())]
                self._publish(types.PublishDiagnosticsParams(self._places.uri(file), diagnostics))
        self._shown = found


def _diagnostic(mistake: Mistake) -> types.Diagnostic:
    """One mistake, at its line."""
    lines = on_disk(mistake.file)
    text = lines.line(mistake.line - 1) if lines else ""
    start = types.Position(mistake.line - 1, len(text) - len(text.lstrip()))
    end = types.Position(mistake.line - 1, len(text.encode("utf-16-le")) // 2)
    return types.Diagnostic(
        types.Range(start, end), mistake.reason, types.DiagnosticSeverity.Error, CODE, source=SOURCE
    )
