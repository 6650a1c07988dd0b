"""Publishes findings as diagnostics of the documents that contain them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from lsprotocol import types

from fx_lsp.analysis.findings import Finding, merged
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.rules import Rule, rule_for
from fx_lsp.rules.rule_pages import page_file
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.workspace.file_digests import digest

SOURCE = "fx-lsp"
"""Distinguishes fx-lsp's diagnostics from those of other servers."""

FINDING = "finding"
"""The key in a diagnostic's ``data`` whose value identifies its finding."""

_DOING = {"fx": "tracing", "export": "exporting", "compile": "compiling"}

MOST_TITLES = 3
"""How many targets with the same problem are named."""

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}


@dataclass(frozen=True)
class Shows:
    """Which optional parts of a diagnostic the client supports."""

    related: bool
    """Related places."""
    described: bool
    """A link to the rule's page."""
    data: bool
    """Data, which the client sends back when it requests code actions."""


def diagnostic(finding: Finding, found: types.Range, places: ClientPlaces, shows: Shows) -> types.Diagnostic:
    """The diagnostic for a finding, which is at the range ``found``.

    Diagnostics have no tags, because no rule reports code that is unnecessary or deprecated.
    """
    rule = rule_for(finding.failure.kind)
    tracing = f"\nWhile {_DOING[finding.capture]} {_listed(finding.targets)}." if finding.targets else ""
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
    """A digest that identifies a finding until the next trace of its target, even if its text moves."""
    return digest(repr(finding.failure))[:16]


def _listed(titles: Sequence[str]) -> str:
    named = [f"`{title}`" for title in titles[:MOST_TITLES]]
    if len(titles) > MOST_TITLES:
        named.append(f"{len(titles) - MOST_TITLES} more")
    return " and ".join((", ".join(named[:-1]), named[-1]) if len(named) > 2 else named)


def _description(rule: Rule) -> types.CodeDescription | None:
    file = page_file(rule)
    return types.CodeDescription(file.as_uri()) if file else None


def _related(finding: Finding, places: ClientPlaces) -> list[types.DiagnosticRelatedInformation] | None:
    located = [(link, places.location(link.place)) for link in finding.links]
    return [
        types.DiagnosticRelatedInformation(location, link.text[0].upper() + link.text[1:])
        for link, location in located
        if location
    ] or None


class DiagnosticsPublisher:
    """Keeps the diagnostics that the client shows up to date with the results.

    Diagnostics with a version are all that traces of that version of the document have found. Until then, earlier
    diagnostics follow their text and are replaced as reports come; these are published without a version.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        places: ClientPlaces,
        publish: Callable[[types.PublishDiagnosticsParams], None],
        shows: Shows,
    ) -> None:
        self._scheduler = scheduler
        self._places = places
        self._publish = publish
        self._shows = shows
        self._shown: dict[str, dict[str, list[types.Diagnostic]]] = {}
        """By file and document, the diagnostics that were published last; documents that have none are left out."""
        self._reached: dict[str, set[str]] = {}
        """For each file, the files that its last result concerned."""
        self._versions: dict[str, int | None] = {}
        """For each document, the version with which its diagnostics were last published."""

    def on_result(self, path: str, complete: bool) -> None:
        """Publish the changed diagnostics of all documents that this result of ``path``, or the previous one, concerns.

        If the result is ``complete``, also publish unchanged diagnostics of documents whose new version is now traced.
        """
        reached = self._scheduler.results.files_concerned(path)
        files = reached | self._reached.get(path, set())
        self._reached[path] = reached
        current = self._diagnostics(files)
        before = {uri: diagnostics for file in files for uri, diagnostics in self._shown.pop(file, {}).items()}
        self._shown |= current
        now = {uri: diagnostics for documents in current.values() for uri, diagnostics in documents.items()}
        if path not in self._scheduler.results:  # it was closed, and may be opened again with the same version
            for uri in self._places.uris(path):
                self._versions.pop(uri, None)
        traced = self._traced_versions() if complete else {}
        stale = {uri for uri in {*now, *before} if now.get(uri) != before.get(uri)}
        stale.update(uri for uri, version in traced.items() if version != self._versions.get(uri))
        for uri in sorted(stale):
            self._versions[uri] = traced.get(uri)
            self._publish(types.PublishDiagnosticsParams(uri, now.get(uri, []), self._versions[uri]))

    def current(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics of a document that are known so far, for clients that pull them."""
        path = self._places.path(uri)
        return self._diagnostics({path}).get(path, {}).get(uri, []) if path else []

    def _diagnostics(self, files: Collection[str]) -> dict[str, dict[str, list[types.Diagnostic]]]:
        """By file and document, the diagnostics in ``files``, at the current places of their text."""
        found: dict[str, dict[str, list[types.Diagnostic]]] = {}
        for finding in merged(self._scheduler.results.shown(files)):
            if location := self._places.location(finding.place):
                shown = diagnostic(finding, location.range, self._places, self._shows)
                found.setdefault(finding.place.path, {}).setdefault(location.uri, []).append(shown)
        return found

    def _traced_versions(self) -> dict[str, int | None]:
        """The version of each open document whose diagnostics were all found in the current text."""
        current = filter(self._scheduler.results.is_current, self._scheduler.documents.paths)
        return {uri: self._places.version(uri) for path in current for uri in self._places.uris(path)}
