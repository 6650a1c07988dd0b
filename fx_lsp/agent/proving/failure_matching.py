"""The failures of a program before and after an edit, identified by the failing expression, since an edit moves lines.

A failure in a library is identified by the expression in the workspace that leads there, since how the library fails
may depend on earlier calls to the library.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import linecache
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from fx_lsp.agent.building.build import Built
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.importing.workspace_importer import lines_of
from fx_lsp.agent.messages import Failure, Span, Target
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.proving.failed_builds import FailedBuilds, NotBuilt
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.proving.trial_programs import build_traceable
from fx_lsp.agent.random_seeds import seed
from fx_lsp.agent.traceback_steps import to_failure
from fx_lsp.agent.tracing.trace_target import DOUBTFUL, ImportedFile
from fxcore.explore import explore
from fxcore.failures import FailureKind, TraceFailure
from fxcore.source import SourceSpan

Place = str
"""The source text of the expression that failed, normalized so that its layout does not matter."""

Owns = Callable[[str], bool]
"""Whether a file is part of the workspace."""

_Stop = tuple[FailureKind, "SourceSpan | None"]
"""A failure's kind and where it is in the workspace."""

Places = Counter[Place]
"""How many failures there are at each place."""

AnySpan = TypeVar("AnySpan", Span, SourceSpan)

LONGEST_SHOWN = 60
"""The maximum number of characters of an expression in a reason."""


@dataclass(frozen=True)
class FoundFailures:
    """The places where tracing a target breaks."""

    places: Places
    certain: Places
    """``places``, except for those where the program itself raises an exception after the first failure: an earlier
    assumption may have caused the exception."""
    lines: frozenset[tuple[Place, str, int]]
    """Each place, with the file and the line where it begins."""
    complete: bool
    """Whether the program was explored to its end."""
    doubtful: bool
    """Whether tensors without memory may have caused the first failure."""
    raised: Place = ""
    """Where the program itself raises an exception before anything else fails: whatever its inputs are, since nothing
    has been assumed yet. Empty if it does not."""
    reported: tuple[tuple[Place, Failure], ...] = ()
    """Each failure with its place, in the order in which the program gets there."""
    needs_cpu: bool = False
    """Whether the program had to be built on the CPU: on the meta device it can't be, or its first failure there may be
    due to tensors without memory."""
    files: tuple[str, ...] = ()
    """The workspace files that were imported to find them, if that is known."""

    def include(self, mended: Places, lines: Collection[tuple[Place, str, int]]) -> bool:
        """Whether all failures ``mended`` are among these.

        ``lines``: where each of them begins. If an expression fails only in other lines, it is another one that has the
        same text.
        """
        failing = {place for place, _, _ in self.lines}
        elsewhere = {place for place, _, _ in lines if place in failing}
        elsewhere -= {place for place, _, _ in self.lines.intersection(lines)}
        return not (mended - self.places or elsewhere)

    def first_at(self, places: Collection[Place]) -> Failure | None:
        """The first failure at one of ``places``."""
        return next((failure for place, failure in self.reported if place in places), None)


NOWHERE = FoundFailures(Counter(), Counter(), frozenset(), complete=True, doubtful=False)
"""The result for a program that can be traced."""


def explored_failures(
    apart: Callable[[], ChildRunner],
    file: ImportedFile,
    target: Target,
    failed: FailedBuilds | None = None,
    *,
    needs_cpu: bool = False,
) -> FoundFailures:
    """The places where ``target`` fails, with guessed inputs. Raises `ProofEnded` if they can't be found.

    ``apart`` returns the runner of the process that calls it.
    ``failed``: what is known about builds of ``target``; what this finds out is added.
    ``needs_cpu``: whether a build on the meta device is known to be no use.
    """
    failed = failed or FailedBuilds()

    def guessed(*, on_meta: bool) -> FoundFailures:
        return failed.unless_known(
            lambda: apart()(partial(_guessed, apart, file, target, on_meta=on_meta)), on_meta=on_meta
        )

    if not needs_cpu:
        with suppress(ProofEnded):
            found = guessed(on_meta=True)
            if not found.doubtful:
                return found
    return dataclasses.replace(guessed(on_meta=False), needs_cpu=True)


def failures_met(
    apart: ChildRunner, built: Built, owns: Owns, examples: Mapping[str, Any] | None = None
) -> FoundFailures:
    """The failures that the program meets on ``examples``, a value for each parameter, by default on guessed inputs.

    Raises `ProofEnded` if they can't be found.
    """
    traceable = dataclasses.replace(built, tracer=tracer_for(built.tracer))
    first = apart(partial(_first_failure, traceable, owns))
    return NOWHERE if first is None else apart(partial(_explored, traceable, owns, first, examples))


def place_of(failure: Failure, owns: Owns) -> Place:
    """The place of a failure that was reported for the text that this process has imported."""
    return expression_at(span_of(failure, owns))


def line_of(failure: Failure, owns: Owns) -> tuple[Place, str, int] | None:
    """The place of such a failure, with the file and the line where it begins; None if that is not known."""
    span = span_of(failure, owns)
    return None if span is None else (expression_at(span), span.file, span.line)


def span_of(failure: Failure, owns: Owns) -> Span | None:
    """The innermost span of a failure that is in the workspace; if there is no such span, the innermost of all."""
    return innermost([step.span for step in failure.chain], owns)


def comparable(
    before: FoundFailures,
    after: FoundFailures,
    mended: Places,
    edited: Collection[tuple[str, int]],
    gone: Collection[tuple[str, int]],
) -> Places:
    """Those of the failures ``mended`` by an edit that are not gone if their expressions still fail ``after`` it.

    If the program was not explored to its end before the edit, the same expression may fail again further on: that
    failure is another one if the line of the first is ``gone``, and it does not begin in a line that is ``edited``.
    """
    in_edit = {place for place, file, line in after.lines if (file, line) in edited}
    kept = {place for place, file, line in before.lines if (file, line) not in gone}
    return Counter({place: count for place, count in mended.items() if before.complete or place in in_edit | kept})


def check_mended(before: FoundFailures, after: FoundFailures, mended: Places) -> None:
    """Raises `ProofEnded` unless the failures ``mended``, a part of ``before``, are gone ``after`` the edit."""
    still = [place for place, count in mended.items() if after.places[place] > before.places[place] - count]
    if still:
        unmended = tuple(place for place in still if after.places[place] >= before.places[place])
        raise ProofEnded("refuted", f"tracing still fails at {_shown(still[0])}", unmended=unmended)


def check_raised(before: FoundFailures, after: FoundFailures) -> None:
    """Raises `ProofEnded` if the program itself raises an exception ``after`` an edit, whatever its inputs are."""
    if after.raised and not before.places[after.raised]:
        raise ProofEnded("refuted", f"after the edit, tracing fails at {_shown(after.raised)}")


def check_places(
    before: FoundFailures,
    after: FoundFailures,
    mended: Places,
    edited: Collection[tuple[str, int]],
    gone: Collection[tuple[str, int]],
    replaced: Collection[Place],
) -> None:
    """Raises `ProofEnded` unless the failures ``mended`` of a trace are gone ``after`` the edit and no failure is new.

    ``mended`` is a part of ``before``. If the program was not explored to its end before the edit, a failure counts as
    new only if it begins in a line that is ``edited``. A failure there is not new if, apart from what was mended, its
    expression is one of those that the edit ``replaced``: ``len(x) != 2`` could not be evaluated even before
    ``len(x)`` became ``x.dim()``, and ``x.dim() != 2`` needs another fix. ``gone``: as for `comparable`.
    """
    check_mended(before, after, comparable(before, after, mended, edited, gone))
    in_edit = {place for place, file, line in after.lines if (file, line) in edited}
    new = set(after.certain - before.places)
    elsewhere = {place for place, file, line in after.lines if (file, line) not in edited}
    if not before.complete:
        new &= in_edit
    around = {place for place in new & in_edit - elsewhere if _contained(place, mended, replaced)}
    new -= around
    if new:
        reason = f"after the edit, tracing fails at {_shown(min(new))}"
        raise ProofEnded("refuted", reason, moved_to=after.first_at(new))


def check_capture_places(
    before: FoundFailures, after: FoundFailures, mended: Places, edited: Collection[tuple[str, int]]
) -> None:
    """Raises `ProofEnded` unless the failures ``mended`` of a capture are gone ``after`` the edit and none is new.

    A capture may go on until another place, which uses the same value, stops it: then the edit has only moved the
    failure. Behind a failure that ended the search, there may also have been others, so a new failure outside the
    lines that are ``edited`` may be an old one.
    """
    check_mended(before, after, mended)
    new = after.certain - (before.places - mended)
    if not new:
        return
    moved_to = after.first_at(new)
    in_edit = {place for place, file, line in after.lines if (file, line) in edited}
    place = min(new, key=lambda place: (place not in in_edit, place))
    if before.complete or place in in_edit:
        raise ProofEnded("refuted", f"after the edit, the capture fails at {_shown(place)}", moved_to=moved_to)
    reason = f"after the edit, the capture fails at {_shown(place)}, perhaps as before"
    raise ProofEnded("untried", reason, moved_to=moved_to)


def replaced_expressions(old: str, new: str) -> set[Place]:
    """The expressions of ``old`` that begin in lines that are not in ``new``, including nested ones."""
    gone = edited_lines(new, old)
    nodes = (node for node in ast.walk(ast.parse(old)) if isinstance(node, ast.expr) and node.lineno in gone)
    return {ast.unparse(node) for node in nodes}


def _contained(place: Place, mended: Collection[Place], replaced: Collection[Place]) -> bool:
    """Whether ``place`` is one of the ``replaced`` expressions, apart from parts of it that were mended."""
    new = _parsed(place)
    olds = [_parsed(old) for old in replaced if old not in mended]
    return new is not None and any(old is not None and _mended_parts(old, new, mended) for old in olds)


def _mended_parts(old: Any, new: Any, mended: Collection[Place]) -> int | None:
    """How many parts differ between two nodes of syntax trees, or fields of nodes; None if one of them was not mended.

    All that differs counts as one part if the expression ``old`` was mended.
    """
    if isinstance(old, ast.AST) and isinstance(new, ast.AST) and ast.dump(old) == ast.dump(new):
        return 0
    if isinstance(old, ast.expr) and ast.unparse(old) in mended:
        return 1
    if type(old) is not type(new):
        return None
    if isinstance(old, ast.AST):
        inner = [(value, getattr(new, name, None)) for name, value in ast.iter_fields(old)]
    elif isinstance(old, list) and len(old) == len(new):
        inner = [*zip(old, new, strict=True)]
    else:
        return 0 if old == new else None
    counts = [_mended_parts(one, other, mended) for one, other in inner]
    return None if None in counts else sum(filter(None, counts))


def _parsed(place: Place) -> ast.expr | None:
    try:
        return ast.parse(place, mode="eval").body
    except SyntaxError:
        return None


def edited_lines(old: str, new: str) -> set[int]:
    """The lines of ``new`` (from 1) that are not in ``old``."""
    matcher = difflib.SequenceMatcher(None, lines_of(old), lines_of(new), autojunk=False)
    return {
        line + 1 for kind, _, _, start, end in matcher.get_opcodes() if kind != "equal" for line in range(start, end)
    }


def _shown(place: Place) -> str:
    cut = place if len(place) <= LONGEST_SHOWN else f"{place[: LONGEST_SHOWN - 1]}…"
    return f"`{cut}`"


def _guessed(apart: Callable[[], ChildRunner], file: ImportedFile, target: Target, *, on_meta: bool) -> FoundFailures:
    owns = file.workspace.owns
    built = _built(file, target, on_meta)
    first = apart()(partial(_first_failure, built, owns))  # the trace may modify what it runs
    found = NOWHERE if first is None else _explored(built, owns, first)
    files = tuple(file.workspace.dependencies)
    return dataclasses.replace(found, doubtful=on_meta and found.doubtful, files=files)


def _explored(built: Built, owns: Owns, first: _Stop, examples: Mapping[str, Any] | None = None) -> FoundFailures:
    """The failures that exploring finds. As in a report, the first one has the kind that a plain trace gives it."""
    exploration = explore(built.root, built.concrete_args, examples=examples, tracer=built.tracer)
    stops = [_stop(site.failure, owns) for site in exploration.sites]
    if stops and stops[0][1] == first[1]:
        stops[0] = first
    placed = [(expression_at(span), kind, span) for kind, span in stops]
    failures = [
        dataclasses.replace(to_failure(site.failure), kind=kind.value)
        for site, (kind, _) in zip(exploration.sites, stops, strict=True)
    ]
    return FoundFailures(
        Counter(place for place, _, _ in placed),
        Counter(place for at, (place, kind, _) in enumerate(placed) if at == 0 or kind is not FailureKind.EXCEPTION),
        frozenset((place, span.file, span.line) for place, _, span in placed if span),
        complete=exploration.graph is not None,
        doubtful=bool(stops) and stops[0][0] in DOUBTFUL,
        raised=placed[0][0] if placed and placed[0][1] is FailureKind.EXCEPTION else "",
        reported=tuple((place, failure) for (place, _, _), failure in zip(placed, failures, strict=True)),
    )


def _built(file: ImportedFile, target: Target, on_meta: bool) -> Built:
    seed()
    try:
        built = build_traceable(file, target, on_meta=on_meta)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise NotBuilt.because_of(error) from None
    return dataclasses.replace(built, tracer=tracer_for(built.tracer))


def _first_failure(built: Built, owns: Owns) -> _Stop | None:
    """Where and how a plain trace fails; None if it does not fail."""
    try:
        built.tracer.trace(built.root, built.concrete_args)
    except TraceFailure as failure:
        return _stop(failure, owns)
    except Exception:
        return FailureKind.EXCEPTION, None
    return None


def _stop(failure: TraceFailure, owns: Owns) -> _Stop:
    return failure.kind, innermost([frame.span for frame in failure.frames], owns)


def innermost(spans: Sequence[AnySpan], owns: Owns) -> AnySpan | None:
    """The last of a failure's spans that is in the workspace; if there is no such span, the last one."""
    own = [span for span in spans if owns(span.file)]
    return next(reversed(own or spans), None)


def expression_at(span: Span | SourceSpan | None) -> Place:
    """The place of a failure whose expression is at ``span``; empty if that is not known."""
    if span is None:
        return ""
    lines = [line.encode() for line in linecache.getlines(span.file)[span.line - 1 : span.end_line]]
    if not lines:
        return ""
    lines[-1] = lines[-1][: span.end_col]
    lines[0] = lines[0][span.col :]
    text = b"".join(lines).decode(errors="replace")
    try:
        return ast.unparse(ast.parse(f"({text})", mode="eval"))
    except (SyntaxError, ValueError):
        return " ".join(text.split())
