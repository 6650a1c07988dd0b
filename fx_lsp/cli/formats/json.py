"""One array of problems; lines and UTF-16 characters count from 0, as in the Language Server Protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fx_lsp.agent.messages import Proof
from fx_lsp.check.check_files import Checked, Problem
from fx_lsp.check.shown_places import place_of, protocol_location
from fx_lsp.documents.documents import Documents
from fx_lsp.fixes import Fix


def render(checked: Checked) -> str:
    """All problems as one JSON array."""
    return json.dumps(list(objects(checked)), indent=2)


def objects(checked: Checked) -> Iterator[dict[str, Any]]:
    """Each problem as a JSON object."""
    return (_object(problem, checked.documents) for problem in checked.problems)


def _object(problem: Problem, documents: Documents) -> dict[str, Any]:
    finding = problem.finding
    return {
        **protocol_location(finding.place, documents),
        "severity": finding.severity,
        "code": finding.rule.code,
        "message": finding.message,
        "capture": finding.capture,
        "target": ", ".join(finding.targets),
        "related": [{**protocol_location(link.place, documents), "message": link.text} for link in finding.links],
        "fixes": [_fix(fix, problem.proofs.get(fix), documents) for fix in problem.fixes],
    }


def _fix(fix: Fix, proof: Proof | None, documents: Documents) -> dict[str, Any]:
    edits = [
        {**protocol_location(place_of(change.span, documents), documents), "text": change.text}
        for change in fix.changes
    ]
    tried = {"verdict": proof.verdict, "reason": proof.reason} if proof else None
    return {"title": fix.title, "edits": edits, "proof": tried}
