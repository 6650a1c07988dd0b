"""Findings as diagnostics, published to every file that one lies in."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence

from lsprotocol import types

from fx_lsp.analysis import Analysis
from fx_lsp.features.places import ClientPlaces
from fx_lsp.findings import Finding, merged
from fx_lsp.rule_pages import page_file
from fx_lsp.rules import Rule, rule_for

SOURCE = "fx-lsp"
"""How a person tells our diagnostics from those of other servers."""

MOST_TITLES = 3
"""Targets with the same problem that are named."""

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}


def diagnostic(finding: Finding, places: ClientPlaces, *, related: bool, described: bool) -> types.Diagnostic | None:
    """One finding as the client shows it.

    ``related`` says whether it can show the way there, ``described`` whether it can open a page on the code.
    """
    found = places.range(finding.place)
    if found is None:
        return None
    rule = rule_for(finding.failure.kind)
    tracing = f"\nWhile tracing {_listed(finding.targets)}." if finding.targets else ""
    return types.Diagnostic(
        range=found,
        severity=_SEVERITIES[finding.severity],
        code=rule.code,
        code_description=_description(rule) if described else None,
        source=SOURCE,
        message=f"{finding.message}{tracing}",
        related_information=_related(finding, places) if related else None,
    )


def _listed(titles: Sequence[str]) -> str:
    """The targets that have the problem, the first few by name."""
    named = [f"`{title}`" for title in titles[:MOST_TITLES]]
    if len(titles) > MOST_TITLES:
        named.append(f"{len(titles) - MOST_TITLES} more")
    return " and ".join((", ".join(named[:-1]), named[-1]) if len(named) > 2 else named)


def _description(rule: Rule) -> types.CodeDescription | None:
    """The link to the rule's page."""
    file = page_file(rule)
    return types.CodeDescription(file.as_uri()) if file else None


def _related(finding: Finding, places: ClientPlaces) -> list[types.DiagnosticRelatedInformation] | None:
    """The other places that the finding has to do with."""
    located = [(link, places.location(link.place)) for link in finding.links]
    return [
        types.DiagnosticRelatedInformation(location, link.text[0].upper() + link.text[1:])
        for link, location in located
        if location
    ] or None


class DiagnosticsPublisher:
    """Keeps what the client shows equal to what analysis knows.

    Diagnostics that name a version are all that there is to say of that version of the file; while reports are still
    coming, they name none.
    """

    def __init__(
        self,
        analysis: Analysis,
        places: ClientPlaces,
        publish: Callable[[types.PublishDiagnosticsParams], None],
        *,
        related: bool,
        described: bool,
    ) -> None:
        self._analysis = analysis
        self._places = places
        self._publish = publish
        self._shows = functools.partial(diagnostic, places=places, related=related, described=described)
        self._shown: dict[str, list[types.Diagnostic]] = {}
        """By path, what was published last; without the files that have nothing."""
        self._versions: dict[str, int | None] = {}
        """By path, the version that was last published for."""

    def on_result(self, path: str, complete: bool) -> None:
        """Publish every file whose diagnostics have changed, and ``path`` for each version that is dealt with."""
        current = self._diagnostics()
        stale = {file for file in {*current, *self._shown} if current.get(file) != self._shown.get(file)}
        if complete and self._analysis.documents.version(path) != self._versions.get(path):
            stale.add(path)
        for file in sorted(stale):
            being_traced = self._analysis.is_tracing(file) and not (complete and file == path)
            version = None if being_traced else self._analysis.documents.version(file)
            self._show(file, version, current.get(file, []))

    def current(self, path: str) -> list[types.Diagnostic]:
        """All that is known of a file, where it stands now: for clients that ask for it."""
        return self._diagnostics().get(path, [])

    def _diagnostics(self) -> dict[str, list[types.Diagnostic]]:
        by_path = defaultdict(list)
        for finding in merged(self._analysis.findings()):
            shown = self._shows(finding)
            if shown:
                by_path[finding.place.path].append(shown)
        return by_path

    def _show(self, path: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        self._versions[path] = version
        if diagnostics:
            self._shown[path] = diagnostics
        else:
            self._shown.pop(path, None)
        self._publish(types.PublishDiagnosticsParams(self._places.uri(path), diagnostics, version))
