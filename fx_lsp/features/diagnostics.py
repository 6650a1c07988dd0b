"""Findings as diagnostics, published to every file that one lies in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lsprotocol import types

from fx_lsp.analysis import Analysis
from fx_lsp.contents import digest
from fx_lsp.features.places import ClientPlaces
from fx_lsp.findings import Finding, merged
from fx_lsp.rule_pages import page_file
from fx_lsp.rules import Rule, rule_for

SOURCE = "fx-lsp"
"""How a person tells our diagnostics from those of other servers."""

FINDING = "finding"
"""The entry of a diagnostic's ``data`` that names its finding."""

MOST_TITLES = 3
"""Targets with the same problem that are named."""

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}


@dataclass(frozen=True)
class Shows:
    """What of a diagnostic the client can show, beyond what all can."""

    related: bool
    """The way there."""
    described: bool
    """A page on the code."""
    data: bool
    """It gives back what a diagnostic carries for us, when it asks what can be done about it."""


def diagnostic(finding: Finding, found: types.Range, places: ClientPlaces, shows: Shows) -> types.Diagnostic:
    """One finding as the client shows it, at its range.

    None has a tag: of no rule it is so that the code is unnecessary, or deprecated.
    """
    rule = rule_for(finding.failure.kind)
    tracing = f"\nWhile tracing {_listed(finding.targets)}." if finding.targets else ""
    return types.Diagnostic(
        range=found,
        severity=_SEVERITIES[finding.severity],
        code=rule.code,
        code_description=_description(rule) if shows.described else None,
        source=SOURCE,
        message=f"{finding.message}{tracing}",
        related_information=_related(finding, places) if shows.related else None,
        data={FINDING: identity(finding)} if shows.data else None,
    )


def identity(finding: Finding) -> str:
    """What names a finding as long as the trace that brought it is the last one, wherever its text moves."""
    return digest(repr(finding.failure))[:16]


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
        shows: Shows,
    ) -> None:
        self._analysis = analysis
        self._places = places
        self._publish = publish
        self._shows = shows
        self._shown: dict[str, list[types.Diagnostic]] = {}
        """By document, what was published last; without those that have nothing."""
        self._versions: dict[str, int | None] = {}
        """By document, the version that was last published for."""

    def on_result(self, path: str, complete: bool) -> None:
        """Publish every document whose diagnostics have changed, and those of ``path`` for each version that is dealt
        with."""
        current = self._diagnostics()
        stale = {uri for uri in {*current, *self._shown} if current.get(uri) != self._shown.get(uri)}
        dealt_with = self._places.uris(path) if complete else []
        stale.update(uri for uri in dealt_with if self._places.version(uri) != self._versions.get(uri))
        for uri in sorted(stale):
            is_settled = uri in dealt_with or not self._is_being_traced(uri)
            self._show(uri, self._places.version(uri) if is_settled else None, current.get(uri, []))

    def current(self, uri: str) -> list[types.Diagnostic]:
        """All that is known of a document, where it stands now: for clients that ask for it."""
        return self._diagnostics().get(uri, [])

    def _diagnostics(self) -> dict[str, list[types.Diagnostic]]:
        by_document = defaultdict(list)
        for finding in merged(self._analysis.findings()):
            if found := self._places.location(finding.place):
                by_document[found.uri].append(diagnostic(finding, found.range, self._places, self._shows))
        return by_document

    def _is_being_traced(self, uri: str) -> bool:
        path = self._places.path(uri)
        return path is not None and self._analysis.is_tracing(path)

    def _show(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        self._versions[uri] = version
        if diagnostics:
            self._shown[uri] = diagnostics
        else:
            self._shown.pop(uri, None)
        self._publish(types.PublishDiagnosticsParams(uri, diagnostics, version))
