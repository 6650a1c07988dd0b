"""Says in words what came of the captures of a target: in short for its code lens, and in full for the hover."""

from __future__ import annotations

from collections.abc import Mapping

from fx_lsp.agent.messages import Capture, Report
from fx_lsp.analysis.results import Traced

_NAMES: Mapping[Capture, str] = {
    "fx": "`torch.fx.symbolic_trace`",
    "export": "`torch.export`",
    "compile": "`torch.compile` with `fullgraph=True`",
}
_DONE: Mapping[Capture, str] = {"fx": "traced", "export": "exported", "compile": "compiled into one graph"}
_OF_BATCH: Mapping[Capture, str] = {
    "export": "Whether the batch can be dynamic",
    "compile": "Whether each size of the batch makes torch compile it again",
}
_NOT_SHOWN = "*Your code does not use this on it, so this is not shown as a problem.*"
_NOT_REACHED = {"not-built": "it can't be built", "not-imported": "the file can't be imported"}
_ENDINGS = {"timed-out": "it took too long", "out-of-memory": "it took too much memory", "crashed": "the process died"}


def in_short(capture: Capture, report: Report, places: int) -> str:
    """One capture's verdict, e.g. ``✓ export (dynamic batch)`` or ``✗ fx: 3 places``; ``places`` is how many fail."""
    if report.outcome == "traced":
        batch = {True: " (dynamic batch)", False: " (fixed batch)", None: ""}[report.dynamic_batch]
        return f"✓ {capture}{batch}"
    if report.outcome == "failed":
        more = " or more" if report.unfinished else ""
        return f"✗ {capture}: {'1 place' if places == 1 and not more else f'{places}{more} places'}"
    if report.outcome in _ENDINGS:
        return f"✗ {capture}: {_ENDINGS[report.outcome]}"
    return f"{capture}: not checked"


def in_full(capture: Capture, captured: Traced, *, is_judged: bool) -> str:
    """One capture's verdict in a sentence, in Markdown. ``is_judged``: whether its failures are shown as problems."""
    report = captured.report
    if report is None:
        return ""
    inputs = f" for `{report.inputs}`" if report.inputs else ""
    if report.outcome == "traced":
        batch = {
            True: ", and with a batch of any size",
            False: ", but only with this size of the batch",
            None: "",
        }[report.dynamic_batch]
        unknown = f" {_OF_BATCH[capture]} is not known: {report.unfinished}." if report.unfinished else ""
        text = f"{_NAMES[capture]}: it can be {_DONE[capture]}{inputs}{batch}.{unknown}"
    elif report.outcome == "failed":
        why = f" {captured.findings[0].message}" if captured.findings else ""  # a comment may suppress them
        text = f"{_NAMES[capture]}: it can't be {_DONE[capture]}{inputs}.{why}"
    elif report.outcome in _ENDINGS:
        text = f"{_NAMES[capture]}: {_ENDINGS[report.outcome]}."
    else:
        reason = report.reason.removesuffix(".") or _NOT_REACHED.get(report.outcome, "there is nothing to capture")
        text = f"{_NAMES[capture]}: not checked: {reason}."
    is_problem = report.outcome == "failed" or report.outcome in _ENDINGS
    return f"{text} {_NOT_SHOWN}" if is_problem and not is_judged else text
