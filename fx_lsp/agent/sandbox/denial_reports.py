"""What the guard denied to the user's code, as something to tell."""

from __future__ import annotations

import dataclasses
from types import FrameType

from fx_lsp.agent.messages import Failure, Report, Span
from fx_lsp.agent.processes.children import Emit
from fx_lsp.agent.sandbox.audit_guard import GUARD
from fx_lsp.agent.traceback_steps import Belongs, chain_of_frame

MOST = 100
"""The most denials that are reported of one file or target; its code may try for ever."""


def reporting_denials(emit: Emit, belongs: Belongs) -> Emit:
    """``emit``, but that the reports tell, as notices, of what is denied to this process from now on.

    ``belongs`` says which files are the workspace's: elsewhere there is no place to tell anything at.
    """
    denials = _Denials(belongs)
    GUARD.on_denial(denials.note)
    return lambda item: emit(denials.added_to(item) if isinstance(item, Report) else item)


class _Denials:
    def __init__(self, belongs: Belongs) -> None:
        self._belongs = belongs
        self._found: dict[Failure, None] = {}

    def note(self, what: str, frame: FrameType) -> None:
        """Remember that ``what``, which ``frame`` asked for, was denied."""
        chain = chain_of_frame(frame, self._belongs)
        if chain and len(self._found) < MOST:
            self._found[Failure("denied", what, chain)] = None

    def added_to(self, report: Report) -> Report:
        """``report`` with them all. What went wrong at the place of a denial, went wrong because of it."""
        denied: dict[Span | None, Failure] = {denial.chain[-1].span: denial for denial in self._found}
        failures = []
        for failure in report.failures:
            denial = denied.pop(self._place(failure), None)
            failures.append(failure if denial is None else dataclasses.replace(denial, subject=report.outcome))
        others = [notice for notice in report.notices if self._place(notice) not in denied]
        return dataclasses.replace(report, failures=tuple(failures), notices=(*others, *denied.values()))

    def _place(self, failure: Failure) -> Span | None:
        """Where it is in the workspace."""
        own = [step.span for step in failure.chain if self._belongs(step.span.file)]
        return own[-1] if own else None
