"""Shows the state of the tracing process in the client's status item and, if something is wrong, once in the log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fx_lsp.analysis import machine_load
from fx_lsp.interpreters.interpreter_choice import Interpreter
from fx_lsp.supervisor.supervised_agent import AgentState, Phase, why_not

STATUS = "fxLsp/status"
"""The notification's method. It is sent to clients whose ``initializationOptions`` contain ``"status": true``."""

PAUSED = "Tracing is paused. To continue, run the command fx-lsp: Resume Tracing"


_MOST_TELLING: tuple[Phase, ...] = ("failed", "no-torch", "starting", "busy", "ready", "stopped")
"""The phases, from the one that the status shows first if there are several agents: problems, then work, then rest."""


class AgentStates:
    """The states of the agents that run or can't be run: one for each folder and Python."""

    def __init__(self) -> None:
        self._states: dict[tuple[Path, Interpreter], AgentState] = {}
        """In the order in which they were last reported."""
        self._latest = Interpreter((), "")
        """The Python of the agent that was last reported; at first, there is none."""

    def note(self, folder: Path, interpreter: Interpreter, state: AgentState) -> None:
        """Note the state of the agent that traces files of ``folder`` in ``interpreter``."""
        self._latest = interpreter
        self._states.pop((folder, interpreter), None)
        if state.phase != "stopped":
            self._states[folder, interpreter] = state

    def status(self, *, paused: bool = False, loaded: bool = False) -> dict[str, Any]:
        """The status to show for all agents: that of the one with most to report, and the reasons for each Python."""
        if not self._states:
            return status(AgentState("stopped"), self._latest, paused=paused, loaded=loaded)
        latest_first = reversed(self._states.items())
        (folder, interpreter), state = min(latest_first, key=lambda item: _MOST_TELLING.index(item[1].phase))
        told = status(state, interpreter, paused=paused, loaded=loaded)
        reasons = [*interpreter.reasons, *(reason for _, other in self._states for reason in other.reasons)]
        is_problem = complaint(state, interpreter) is not None
        prefix = f"{folder.name}: " if is_problem and len(self._states) > 1 else ""
        return {**told, "message": f"{prefix}{told['message']}", "reasons": list(dict.fromkeys(reasons))}


def status(
    state: AgentState, interpreter: Interpreter, *, paused: bool = False, loaded: bool = False
) -> dict[str, Any]:
    """The notification's parameters: ``phase``, a readable ``message``, the versions ``python`` and ``torch``, and the
    ``reasons`` for the choice of the Python: one line for each that was found.

    ``paused``: the user has paused tracing. ``loaded``: other programs keep the computer busy.
    """
    hello, is_idle = state.hello, state.phase in ("ready", "stopped")
    return {
        "phase": "paused" if paused and is_idle else state.phase,
        "paused": paused,
        "message": PAUSED if paused and is_idle else _message(state, interpreter, loaded),
        "python": hello.python if hello else None,
        "torch": hello.torch if hello else None,
        "reasons": list(interpreter.reasons) if interpreter.command else [],
    }


def complaint(state: AgentState, interpreter: Interpreter) -> str | None:
    """What to log while an agent can't trace; None while it can."""
    reason = why_not(state, interpreter, "choose your project's Python in the setting fxLsp.interpreter")
    return reason and f"Nothing is traced: {reason}"


def _message(state: AgentState, interpreter: Interpreter, loaded: bool) -> str:
    if problem := complaint(state, interpreter):
        return problem
    if state.phase == "starting":
        return f"Starting {' '.join(interpreter.command)}"
    if state.phase == "stopped":
        return "Nothing to trace"
    versions = f"torch {state.hello.torch} · Python {state.hello.python}" if state.hello else ""
    parts = ("Tracing" if state.phase == "busy" else "", versions, machine_load.NOTE if loaded else "")
    return " · ".join(filter(None, parts))


class AgentLog:
    """Logs what is wrong with an agent once for each Python and reason, not for every file."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._said: set[str] = set()

    def note(self, state: AgentState, interpreter: Interpreter) -> None:
        """Log what is wrong with an agent in this state, if anything is."""
        problem = complaint(state, interpreter)
        if problem and problem not in self._said:
            self._said.add(problem)
            self._write(problem)
