"""Adds to the reports what the guard denied to the user's code."""

from __future__ import annotations

import dataclasses
from types import FrameType

from fx_lsp.agent.messages import Failure, Report, Span
from fx_lsp.agent.processes.children import Emit
from fx_lsp.agent.sandbox.audit_guard import GUARD
from fx_lsp.agent.traceback_steps import Belongs, chain_of_frame

MOST = 100
"""The maximum number of denials that are reported for one file or target; its code may keep trying forever."""

_MAY_BE_DUE = frozenset({"import", "build", "exception"})
"""The kinds of failures that may be due to what a package was denied while it was imported."""


def reporting_denials(emit: Emit, belongs: Belongs) -> Emit:
    """``emit``, with what is denied to this process from now on added to the reports.

    ``belongs`` returns whether a file is the workspace's. A denial is reported only if code in such a file led to it.
    What a package tries while it is imported is reported only with an error that it may have caused: many packages can
    do without.
    """
    denials = _Denials(belongs)
    GUARD.on_denial(denials.note)
    return lambda item: emit(denials.added_to(item) if isinstance(item, Report) else item)


class _Denials:
    def __init__(self, belongs: Belongs) -> None:
        self._belongs = belongs
        self._found: dict[Failure, None] = {}
        self._in_packages: dict[Failure, None] = {}
        """What was denied while a package was being imported."""

    def note(self, what: str, frame: FrameType) -> None:
        """Record that ``what``, which ``frame`` asked for, was denied."""
        chain = chain_of_frame(frame, self._belongs)
        found = self._in_packages if self._imports_package(frame) else self._found
        if chain and len(found) < MOST:
            found[Failure("denied", what, chain)] = None

    def added_to(self, report: Report) -> Report:
        """``report`` with all denials, as notices; a denial replaces the failure that it has caused at its place."""
        places = {self._place(notice) for notice in report.notices}
        may_matter = report.outcome != "traced" and any(one.kind in _MAY_BE_DUE for one in report.failures)
        of_packages = [one for one in self._in_packages if may_matter or one.chain[-1].span in places]
        denied: dict[Span | None, Failure] = {denial.chain[-1].span: denial for denial in (*of_packages, *self._found)}
        failures = []
        for failure in report.failures:
            denial = denied.pop(self._place(failure), None)
            failures.append(failure if denial is None else dataclasses.replace(denial, subject=report.outcome))
        others = [notice for notice in report.notices if self._place(notice) not in denied]
        return dataclasses.replace(report, failures=tuple(failures), notices=(*others, *denied.values()))

    def _imports_package(self, frame: FrameType) -> bool:
        """Whether ``frame`` runs on behalf of an import that code of the workspace has made of other code."""
        at: FrameType | None = frame
        while at is not None and not self._belongs(at.f_code.co_filename):
            if at.f_code.co_name == "<module>":
                return True
            at = at.f_back
        return False

    def _place(self, failure: Failure) -> Span | None:
        """The innermost place of the failure in the workspace."""
        own = [step.span for step in failure.chain if self._belongs(step.span.file)]
        return own[-1] if own else None
