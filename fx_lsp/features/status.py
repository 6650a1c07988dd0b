"""How the tracing process is doing, for a status item and, once, for the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fx_lsp.agents import AgentState
from fx_lsp.interpreter import Interpreter

STATUS = "fxLsp/status"
"""The notification's method. Sent to clients whose ``initializationOptions`` say ``"status": true``."""


def status(state: AgentState, interpreter: Interpreter) -> dict[str, Any]:
    """The notification's parameters: ``phase``, ``message`` for people, and the versions ``python`` and ``torch``."""
    hello = state.hello
    return {
        "phase": state.phase,
        "message": _message(state, interpreter),
        "python": hello.python if hello else None,
        "torch": hello.torch if hello else None,
    }


def complaint(state: AgentState, interpreter: Interpreter) -> str | None:
    """What the log says of an agent that can't work: which Python it is, and what to do. None while it can."""
    python = f"{' '.join(interpreter.command)} (from {interpreter.origin})"
    if state.phase == "no-torch":
        return (
            f"Nothing is traced: {python} has no PyTorch that can be used. {state.problem or ''} Install torch "
            "there, or choose your project's Python in the setting fxLsp.interpreter."
        )
    if state.phase == "failed":
        return f"Nothing is traced: the tracing process of {python} does not run. {state.problem or ''}"
    return None


def _message(state: AgentState, interpreter: Interpreter) -> str:
    """One line on the state."""
    if problem := complaint(state, interpreter):
        return problem
    if state.phase == "starting":
        return f"Starting {' '.join(interpreter.command)}"
    if state.phase == "stopped":
        return "Nothing to trace"
    versions = f"torch {state.hello.torch} · Python {state.hello.python}" if state.hello else ""
    return f"Tracing · {versions}" if state.phase == "busy" else versions


class AgentLog:
    """Says what is wrong with an agent to the log, once for each Python and reason, not for every file."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._said: set[str] = set()

    def note(self, state: AgentState, interpreter: Interpreter) -> None:
        """Take notice of an agent's state."""
        problem = complaint(state, interpreter)
        if problem and problem not in self._said:
            self._said.add(problem)
            self._write(problem)
