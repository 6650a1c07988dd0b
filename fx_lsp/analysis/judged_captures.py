"""Decides which captures count for a target, and how severe their failures are."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import get_args

from fx_lsp.agent.messages import Capture, Intent
from fx_lsp.analysis.findings import Finding, severity_of
from fx_lsp.settings.settings import AUTO, Settings
from fx_lsp.targets.capture_uses import CaptureUse

OF_NO_CAPTURE = frozenset({"import", "build", "denied", "missing-package", "definitions-only", "directive"})
"""The kinds of failure and notice that concern all captures: a model that can't be built can't be captured either."""


def judged_captures(chosen: Collection[str], use: CaptureUse) -> tuple[Capture, ...]:
    """The captures whose failures are problems of a target that the workspace uses so.

    ``chosen`` is the setting ``captures``. If it is ``auto``, these are the captures that the workspace uses on the
    target and, if it uses none, symbolic tracing.
    """
    counting = (use.captures or {"fx"}) if AUTO in chosen else chosen
    return tuple(capture for capture in get_args(Capture) if capture in counting)


def judged(finding: Finding, intent: Intent, use: CaptureUse, settings: Settings) -> Finding | None:
    """The finding with its severity; None if it concerns a capture that does not count. ``intent``: its target's.

    A failure of a capture that the workspace itself uses on the target is as severe as its rule says, unless fx-lsp
    invented the target's arguments. A graph break is an error where the workspace asks for a single graph.
    """
    capture, selection = finding.capture, settings.selection
    if finding.failure.kind not in OF_NO_CAPTURE and capture not in judged_captures(settings.captures, use):
        return None
    if finding.rule.code == "graph-break" and use.is_whole and finding.rule.code not in selection.severities:
        return dataclasses.replace(finding, severity="error")
    if AUTO in settings.captures and capture in use.captures and intent == "inferred":
        return dataclasses.replace(finding, severity=severity_of(finding, "explicit", selection))
    return finding
