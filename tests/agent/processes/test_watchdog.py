"""What is kept of a process that was ended."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fx_lsp.agent.messages import Heartbeat
from fx_lsp.agent.processes import watchdog
from fx_lsp.agent.processes.watchdog import ChildProcess
from fx_lsp.agent.serving.worker_pool import Worker
from fx_lsp.agent.wire import encode


def test_of_a_long_stack_only_the_end_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LAST_WORDS", 5)
    last_words = tmp_path / "last.stack"
    last_words.write_bytes(b"what user code wrote, then the stack")
    process = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.wait()
    worker = Worker(process, last_words)
    worker.close()
    assert (worker.stack, worker.status, last_words.exists()) == ("stack", 0, False)


class Recorded(ChildProcess):
    """Starts nothing, and records what would be done to it."""

    leads_group = False

    def __init__(self, seconds: float) -> None:
        super().__init__(-1, seconds)
        self.signals: list[int] = []

    def hear(self, item: Any) -> None:
        raise AssertionError(item)

    def send_signal(self, number: int) -> None:
        self.signals.append(number)


def test_a_process_is_asked_for_its_stack_before_it_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LAST_WORDS_SECONDS", 0.0)
    process = Recorded(0.0)
    for _ in range(2):
        process.enforce_time_limits()
    assert process.overdue
    assert process.signals == [signal.SIGABRT, watchdog.KILL]


def test_a_process_that_is_not_late_is_left_alone() -> None:
    process = Recorded(60.0)
    process.enforce_time_limits()
    assert (process.overdue, process.signals) == (False, [])


def test_a_process_that_sends_nonsense_is_killed(capfd: pytest.CaptureFixture[str]) -> None:
    process = Recorded(60.0)
    process.receive(b"\0\0\0\2{}")
    assert process.signals == [watchdog.KILL]
    assert "could not be decoded" in capfd.readouterr().err


def test_after_nonsense_a_process_is_not_heard_any_more() -> None:
    process = Recorded(60.0)  # it would fail if it heard something
    process.receive(b"\0\0\0\2{}" + encode(Heartbeat(1)))
    process.receive(encode(Heartbeat(2)))
    assert process.signals == [watchdog.KILL]
