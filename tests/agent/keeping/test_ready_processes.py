"""What becomes of an attempt whose process does not get it, or does not make it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from fx_lsp.agent.keeping.ready_processes import IsUnfit, ReadyAttempt, ReadyProcesses, RunAttempt
from fx_lsp.agent.keeping.stage import Stage
from fx_lsp.agent.messages import Trace
from fx_lsp.agent.processes.children import ForkedChild, ForkedChildren
from fx_lsp.agent.processes.watchdog import ChildProcess
from fx_lsp.agent.tracing.trace_target import ImportedFile
from tests.agent.client import target_of


class Children:
    """Stands for children that are never forked, and do not read their pipes."""

    def __init__(self) -> None:
        self.ends: list[Callable[[ChildProcess], object]] = []
        self.readers: list[int] = []
        self.hears: list[Callable[[object], object]] = []
        self.kills = 0

    def fork(self, job: Any, **kwargs: Any) -> ForkedChild:
        self.ends.append(kwargs["gone"])
        self.hears.append(kwargs["hear"])
        self.readers.append(os.dup(job.args[0]))
        return cast("ForkedChild", self)

    def keep_private(self, fd: int) -> None:
        pass

    def close_private(self, fd: int) -> None:
        os.close(fd)

    def resume(self, seconds: float) -> None:
        pass

    def park(self) -> None:
        pass

    def kill(self) -> None:
        self.kills += 1


def started(children: Children, folder: Path, said: list[str], size: int = 1) -> tuple[ReadyProcesses, ReadyAttempt]:
    """The start of an attempt at a text of some length; what becomes of it is ``said``."""
    target = target_of(str(folder / "net.py"), "Net()")
    trace = Trace("net.py", (target,), {"net.py": "#" * size}, (str(folder),))
    ready = ReadyProcesses(
        cast("ForkedChildren", children), cast("Stage", None), cast("ImportedFile", None), trace, lambda *_: None
    )
    ready.prepare()
    attempt = ready.start(
        RunAttempt(1, target, trace), lambda _: None, lambda: said.append("unfit"), lambda _: said.append("gone")
    )
    return ready, attempt


@pytest.mark.parametrize(("size", "told"), [(1, "gone"), (1 << 21, "unfit")])
def test_what_a_process_does_not_get_is_not_its_end(tmp_path: Path, size: int, told: str) -> None:
    children, said = Children(), list[str]()
    started(children, tmp_path, said, size)
    children.ends[0](cast("ChildProcess", children))
    assert said == [told]


def test_a_process_that_waits_again_is_not_ended_with_the_attempt_that_it_refused(tmp_path: Path) -> None:
    children, said = Children(), list[str]()
    ready, attempt = started(children, tmp_path, said)
    children.hears[0](IsUnfit())
    attempt.end()
    assert (said, ready.is_one_waiting, children.kills) == (["unfit"], True, 0)


def test_a_process_that_has_ended_is_not_ended_again(tmp_path: Path) -> None:
    children = Children()
    _, attempt = started(children, tmp_path, [])
    children.ends[0](cast("ChildProcess", children))
    attempt.end()
    assert children.kills == 0
