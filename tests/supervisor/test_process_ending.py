import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fx_lsp.supervisor import process_ending

AGENT = """
import os, sys, time
if os.fork() == 0:
    os.setpgid(0, 0)
    print("started", flush=True)
time.sleep(600)
"""
"""Like an agent: its child leads a process group of its own. Both hold stdout open."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no process groups")
@pytest.mark.parametrize("listed_by", ["Linux", "pgrep"])
def test_an_agent_ends_with_its_traces(listed_by: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if listed_by == "pgrep":
        monkeypatch.setattr(process_ending, "PROCESSES", tmp_path)
    agent = subprocess.Popen([sys.executable, "-c", AGENT], stdout=subprocess.PIPE, start_new_session=True)
    assert agent.stdout is not None
    assert agent.stdout.readline() == b"started\n"
    process_ending.end_agent(agent.pid)
    assert agent.stdout.read() == b"", "it ends only when neither process is left"
    assert agent.wait() == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        process_ending.end_agent(agent.pid)


def test_on_windows_one_signal_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    process_ending.end_agent(7)
    assert sent == [(7, signal.SIGTERM)]
