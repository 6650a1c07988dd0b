import pytest

from fx_lsp.agent.messages import Hello
from fx_lsp.interpreters.interpreter_choice import Interpreter
from fx_lsp.server.features.status import AgentLog, status
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
