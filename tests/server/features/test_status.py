from pathlib import Path

import pytest

from fx_lsp.agent.messages import Hello
from fx_lsp.interpreters.interpreter_choice import Interpreter
from fx_lsp.server.features.status import AgentLog, AgentStates, status
from fx_lsp.supervisor.supervised_agent import AgentState

PYTHON = Interpreter(("/v/bin/python", "-E"), "$VIRTUAL_ENV")
HELLO = Hello(1, "3.11.7", "/v/bin/python", "2.13.0")
NO_TORCH = AgentState("no-torch", Hello(1, "3.11.7", "/v/bin/python", None, "There is no torch."), "There is no torch.")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (AgentState("starting"), "Starting /v/bin/python -E"),
        (AgentState("ready", HELLO), "torch 2.13.0 · Python 3.11.7"),
        (AgentState("busy", HELLO), "Tracing · torch 2.13.0 · Python 3.11.7"),
        (AgentState("stopped"), "Nothing to trace"),
    ],
)
def test_a_status_is_one_line(state: AgentState, message: str) -> None:
    assert status(state, PYTHON)["phase"] == state.phase
    assert status(state, PYTHON)["message"] == message


def test_a_paused_server_says_so_unless_it_works_or_something_is_wrong() -> None:
    phases = [
        status(AgentState(phase, HELLO), PYTHON, paused=True)["phase"]
        for phase in ("stopped", "ready", "busy", "failed")
    ]
    assert phases == ["paused", "paused", "busy", "failed"]
    assert "Resume Tracing" in status(AgentState("ready", HELLO), PYTHON, paused=True)["message"]


def test_a_loaded_machine_is_why_diagnostics_take_longer() -> None:
    assert "the computer is busy" in status(AgentState("ready", HELLO), PYTHON, loaded=True)["message"]


def test_the_versions_travel_on_their_own() -> None:
    shown = status(AgentState("ready", HELLO), PYTHON)
    assert (shown["python"], shown["torch"]) == ("3.11.7", "2.13.0")
    assert status(AgentState("starting"), PYTHON)["torch"] is None


def test_a_python_that_cannot_trace_is_named_with_what_to_do_once() -> None:
    said: list[str] = []
    log = AgentLog(said.append)
    for _ in range(2):
        log.note(NO_TORCH, PYTHON)
    log.note(AgentState("ready", HELLO), PYTHON)
    (message,) = said
    for part in ("/v/bin/python -E", "$VIRTUAL_ENV", "There is no torch.", "Install torch", "fxLsp.interpreter"):
        assert part in message
    log.note(AgentState("failed", problem="It crashed."), PYTHON)
    assert "It crashed." in said[-1]
    assert len(said) == 2


A, B, C = Path("/w/a"), Path("/w/b"), Path("/w/c")
OTHER = Interpreter(("/w/b/bin/python",), ".venv in /w/b")


def test_of_several_agents_the_one_with_most_to_say_is_told() -> None:
    states = AgentStates()
    assert (states.status()["phase"], states.status()["reasons"]) == ("stopped", [])
    states.note(A, PYTHON, AgentState("ready", HELLO))
    states.note(B, OTHER, AgentState("starting"))
    assert states.status()["message"] == "Starting /w/b/bin/python"
    states.note(A, PYTHON, AgentState("busy", HELLO))
    states.note(B, OTHER, NO_TORCH)
    told = states.status()
    assert told["phase"] == "no-torch"
    assert told["message"].startswith("b: Nothing is traced: /w/b/bin/python")
    assert told["reasons"] == [*OTHER.reasons, *PYTHON.reasons]
    states.note(C, PYTHON, AgentState("failed", problem="It crashed."))
    assert "It crashed." in states.status()["message"]
    states.note(C, PYTHON, AgentState("stopped"))
    assert states.status()["phase"] == "no-torch"
    states.note(B, OTHER, AgentState("stopped"))
    assert states.status()["phase"] == "busy"
    states.note(A, PYTHON, AgentState("stopped"))
    assert (states.status()["phase"], states.status()["reasons"]) == ("stopped", [*PYTHON.reasons])


def test_of_agents_in_one_phase_the_last_is_told() -> None:
    states = AgentStates()
    states.note(A, PYTHON, AgentState("ready", HELLO))
    states.note(B, OTHER, AgentState("ready", Hello(1, "3.12.1", "/w/b/bin/python", "2.4.0")))
    assert states.status()["python"] == "3.12.1"
    states.note(A, PYTHON, AgentState("ready", HELLO))
    assert states.status()["python"] == "3.11.7"


def test_a_problem_is_told_without_its_folder_if_there_is_no_other() -> None:
    states = AgentStates()
    states.note(A, PYTHON, NO_TORCH)
    assert states.status(paused=True)["message"].startswith("Nothing is traced: ")
