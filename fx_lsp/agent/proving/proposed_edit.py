"""What the texts of an edit say about it: what it changes, what it should fix, and what inputs have to reach."""

from __future__ import annotations

import itertools
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence

from fx_lsp.agent.importing.workspace_importer import lines_of
from fx_lsp.agent.messages import Failure, Prove, Span
from fx_lsp.agent.proving.added_wraps import added_wraps, called_name
from fx_lsp.agent.proving.failure_matching import (
    Owns,
    Place,
    edited_lines,
    line_of,
    place_of,
    replaced_expressions,
    span_of,
)
from fx_lsp.agent.proving.functions.changed_statements import ChangedStatements, changed_statements
from fx_lsp.agent.proving.functions.edited_function import changed_function
from fx_lsp.agent.proving.functions.function_beginning import unchanged_end
from fx_lsp.agent.proving.run_in_child import ProofEnded
from fx_lsp.agent.running.line_coverage import Part, parts_of_branch, replaced_parts


class ProposedEdit:
    """The edit of one `Prove` request."""

    def __init__(self, request: Prove) -> None:
        self._request = request

    @property
    def fixes_argument(self) -> bool:
        """Whether the edit gives an argument a fixed value.

        If no inputs are found that go with it, the program usually rejects the value, whatever its sizes are.
        """
        targets = self._request.target, self._request.edited_target
        before, after = (target.recipe.concrete_args for target in targets)
        return (before and before.source) != (after and after.source)

    def places(self, owns: Owns) -> tuple[Place, ...]:
        """The place of each of the failures that the edit should fix."""
        return tuple(place_of(failure, owns) for failure in self._request.failures)

    def lines(self, owns: Owns) -> tuple[tuple[Place, str, int], ...]:
        """The same places, each with the file and the line where it begins, if these are known."""
        return tuple(filter(None, (line_of(failure, owns) for failure in self._request.failures)))

    def edited_lines(self) -> set[tuple[str, int]]:
        """The file and number of each line of the new texts that is not in the old ones."""
        return {(path, line) for path, old, new in self._texts() for line in edited_lines(old, new)}

    def gone_lines(self) -> set[tuple[str, int]]:
        """The file and number of each line of the old texts that is not in the new ones."""
        return {(path, line) for path, old, new in self._texts() for line in edited_lines(new, old)}

    def replaced(self) -> set[Place]:
        """The expressions that the edit replaces."""
        return {place for _, old, new in self._texts() for place in replaced_expressions(old, new)}

    def changes_a_step(self) -> bool:
        """Whether the edit changes a line on the way from the traced program to one of the failures."""
        lines = {(span.file, line) for span in self._steps() for line in range(span.line, span.end_line + 1)}
        return not self.gone_lines().isdisjoint(lines)

    def largest_number(self) -> int:
        """The largest number in the lines that the edit changes, 0 if there is none: a small model may not reach it."""
        texts = (side for _, old, new in self._texts() for side in ((old, new), (new, old)))
        lines = (lines_of(text)[line - 1] for other, text in texts for line in edited_lines(other, text))
        return max((int(number) for line in lines for number in re.findall(r"\b\d{1,9}\b", line)), default=0)

    def changed_function(self) -> tuple[str, str, int]:
        """The file and the name of the only function that the edit changes, and how many statements end it unchanged.

        Raises `ProofEnded` if it changes more.
        """
        texts = [*self._texts()]
        if len(texts) == 1 and not self.fixes_argument and self._request.capture == "fx":
            ((path, old, new),) = texts
            line = next((span.line for span in reversed(self._steps()) if span.file == path), 0)
            if name := changed_function(old, new, line):
                return path, name, unchanged_end(old, new, name, line)
        raise ProofEnded("untried", "the edit changes more than one function", True)

    def changed_statements(self, path: str, name: str) -> tuple[ChangedStatements, ...]:
        """The statements of the function ``name`` that the edit changes, innermost first; see there."""
        line = next((span.line for span in reversed(self._steps()) if span.file == path), 0)
        texts = {path: (old, new) for path, old, new in self._texts()}
        return tuple(changed_statements(*texts[path], name, line))

    def watched(self, owns: Owns) -> list[Part]:
        """The parts that some input has to reach: what the edit removes to fix the failures, and what fails.

        If the edit only has the call of a function recorded in which something fails, inputs have to reach the call:
        what happens in the function is not changed. If the edit gives an argument a fixed value, the failing
        expressions don't count, since the edit may be meant to keep the program from reaching them.
        """
        failures = () if self.fixes_argument else self._request.failures
        spans = [*(span_of(failure, owns) for failure in failures), *self._request.further]
        calls = [self._recorded_call(failure) for failure in failures] + [None] * len(self._request.further)
        failing = [
            Part(span.file, range(span.line, span.end_line + 1), is_unchanged=call is not None)
            for span, call in zip(spans, calls, strict=True)
            if span
        ]
        failing += [Part(call.file, range(call.line, call.end_line + 1)) for call in calls if call]
        own_texts = self._texts(self._request.own_part or self._request.edited)
        edited = [replaced_parts(path, old, new) for path, old, new in own_texts]
        return [*failing, *itertools.chain.from_iterable(edited), *self._branches(spans)]

    def _branches(self, spans: Sequence[Span | None]) -> Iterator[Part]:
        """For a capture, both sides of the branches that it could not decide, in the files that are edited."""
        texts = {path: (old, new) for path, old, new in self._texts()} if self._request.capture != "fx" else {}
        for span in spans:
            if span is not None and span.file in texts:
                old, new = texts[span.file]
                yield from parts_of_branch(span.file, old, span.line, span.col, new)

    def _recorded_call(self, failure: Failure) -> Span | None:
        """The call on the way to a failure that the edit has recorded instead of traced, if it does nothing else."""
        texts = [*self._texts()] if self._request.capture == "fx" else []
        recorded = {path: (old, added_wraps(old, new)) for path, old, new in texts}
        if not all(names for _, names in recorded.values()):
            return None
        for step in failure.chain:
            old, names = recorded.get(step.span.file, ("", set()))
            if names and called_name(old, step.span) in names:
                return step.span
        return None

    def _steps(self) -> list[Span]:
        """The calls that lead from the traced program to the failures."""
        return [step.span for failure in self._request.failures for step in failure.chain]

    def _texts(self, edited: Mapping[str, str] | None = None) -> Iterator[tuple[str, str, str]]:
        """The path, the old text and the new text of each file that is edited, or of those in ``edited``."""
        for path, new in (self._request.edited if edited is None else edited).items():
            old = self._request.overlays.get(path)
            if old is None:
                with tokenize.open(path) as disk:
                    old = disk.read()
            yield path, old, new
