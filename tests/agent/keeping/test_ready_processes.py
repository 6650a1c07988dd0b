"""What becomes of an attempt whose process does not get it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from fx_lsp.agent.keeping.ready_processes import ReadyProcesses, RunAttempt
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

    def fork(self, job: Any, **kwargs: Any) -> ForkedChild:
        self.ends.append(kwargs["gone"])
        self.readers.append(os.dup(job.args[0]))
        return cast("ForkedChild", self)

    def keep_private(self, fd: int) -> None:
        pass

    def close_private(self, fd: int) -> None:
        os.close(fd)

    def resume(self, seconds: float) -> None:
        pass

    def kill(self) -> None:
        pass


@pytest.mark.parametrize(("size", "told"), [(1, "gone"), (1 << 21, "unfit")])
def test_what_a_process_does_not_get_is_not_its_end(tmp_path: Path, size: int, told: str) -> None:
    target = target_of(str(tmp_path / "net.py"), "Net()")
    trace = Trace("net.py", (target,), {"net.py": "#" * size}, (str(tmp_path),))
    children, said = Children(), []
    ready = ReadyProcesses(
        cast("ForkedChildren", children), cast("Stage", None), cast("ImportedFile", None), trace, lambda *_: None
    )
    ready.prepare()
    ready.start(
        RunAttempt(1, target, trace), lambda _: None, lambda: said.append("unfit"), lambda _: said.append("gone")
    )
    children.ends[0](cast("ChildProcess", children))
    assert said == [told]
