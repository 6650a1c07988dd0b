"""Where the workspace itself traces a program: the calls that an edit can change, as it can the program's own code."""

from __future__ import annotations

from collections.abc import Mapping

from fx_lsp.agent.messages import Failure, Span
from fx_lsp.analysis import FileResult


def calls_with(failure: Failure, results: Mapping[str, FileResult]) -> tuple[Span, ...]:
    """The calls that were reported to have ``failure``, among the results of all files."""
    return tuple(
        traced.target.span
        for result in results.values()
        for traced in result.traced.values()
        if traced.target.intent == "explicit" and traced.report is not None and failure in traced.report.failures
    )
