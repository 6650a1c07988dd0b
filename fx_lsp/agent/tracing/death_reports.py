"""The report for a target whose child died before it could send one."""

from __future__ import annotations

import linecache
import re
import signal
from pathlib import Path

from fx_lsp.agent.importing.workspace_importer import lines_of
from fx_lsp.agent.messages import Failure, Report, Span, Step, Trace
from fx_lsp.agent.processes.limits import seconds_in_words
from fx_lsp.agent.processes.watchdog import ChildProcess
from fx_lsp.agent.traceback_steps import is_outside_python

FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)
"""A line of a stack that `faulthandler` writes."""

ESCAPED = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
"""How `faulthandler` writes a character that is not ASCII."""


LARGEST = 8_000_000
"""The largest size, in bytes, of a file whose lines are looked up."""


_CRASHED_ON_WINDOWS = 0xC0000000
"""The lowest status of a process that Windows ends for an error, e.g. 0xC0000005 for a wrong address."""


def death_report(request: Trace, key: str, child: ChildProcess) -> Report:
    """The report for the target ``key`` of ``request``, whose child is dead."""
    chain = _chain(child.stack, request)
    if child.overdue:
        limit = seconds_in_words(request.limits.seconds)
        error = f"the trace took longer than {limit} and was stopped in code outside Python"
        failure = Failure("time-limit", error, chain)
        return Report(request.id, key, "timed-out", (failure,), processor_seconds=child.processor_seconds)
    error = f"the process that was tracing it {describe_exit(child.status)}"
    return Report(request.id, key, "crashed", (Failure("crash", error, chain),))


def death_of_search(request: Trace, child: ChildProcess) -> str:
    """How a child died that was making another run after it had reported on a capture: the end of a sentence."""
    if child.overdue:
        return f"took longer than {seconds_in_words(request.limits.seconds)}"
    return f"ended because its process {describe_exit(child.status)}"


def describe_exit(status: int) -> str:
    """Describe how a process ended; ``status`` is its exit status, or minus the number of the signal that ended it."""
    if status >= _CRASHED_ON_WINDOWS:
        return f"crashed with Windows' status 0x{status:X}"
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was terminated by {signal.Signals(-status).name}"
    except ValueError:
        return f"was terminated by signal {-status}"


def _chain(stack: str, request: Trace) -> tuple[Step, ...]:
    """The steps of the main thread, whose stack comes last, innermost frame first."""
    main_thread = stack.rpartition("(most recent call first):")[2]
    try:
        frames = [tuple(map(_unescape, found)) for found in FRAME.findall(main_thread)]
        return tuple(
            Step(name, _line_span(file, int(line), request))
            for file, line, name in reversed(frames)
            if is_outside_python(file)
        )
    except (ValueError, OverflowError, OSError):  # not a stack, but something that the user's code has written there
        return ()


def _line_span(file: str, line: int, request: Trace) -> Span:
    """A line of the text that was traced, without its indentation: the stack of a dying process has no columns."""
    overlay = request.overlays.get(file)
    lines = _saved_lines(file) if overlay is None else lines_of(overlay)
    text = lines[line - 1].rstrip() if 0 < line <= len(lines) else ""
    indent = len(text) - len(text.lstrip())
    return Span(file, line, indent, line, len(text.encode()))


def _saved_lines(file: str) -> list[str]:
    """The lines of a file; none unless it is a regular file and not too large.

    The path comes from a process that has run the user's code, so it can be anything.
    """
    path = Path(file)
    return linecache.getlines(file) if path.is_file() and path.stat().st_size <= LARGEST else []


def _unescape(text: str) -> str:
    return ESCAPED.sub(lambda found: chr(int(found[0][2:], 16)), text)
