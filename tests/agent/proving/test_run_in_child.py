"""A process that prepares something once, and runs jobs with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial

import pytest

from fx_lsp.agent.proving.run_in_child import ChildRunner, JobProcess, ProofEnded


class Runners:
    """The runner of each process."""

    def __init__(self) -> None:
        self._known: dict[int, ChildRunner] = {}

    def __call__(self) -> ChildRunner:
        return self._known.setdefault(os.getpid(), ChildRunner(seconds=2, memory_mb=2000))


class Prepared:
    """What the jobs share."""

    def __init__(self, failing: str = "") -> None:
        self.pid = os.getpid()
        if failing == "raises":
            raise ValueError("no")
        while failing == "never ends":
            pass

    def where(self, _: bytes = b"") -> tuple[int, int]:
        """The process that prepared this, and the one of the job."""
        return self.pid, os.getpid()

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def loop(self) -> None:
        while True:
            pass


@pytest.fixture
def process() -> Iterator[JobProcess[Prepared]]:
    process = JobProcess(Runners(), Prepared)
    yield process
    process.close()


def test_each_job_has_a_process_of_its_own_with_what_was_prepared(process: JobProcess[Prepared]) -> None:
    (prepared, first), (same, second) = process(Prepared.where), process(Prepared.where)
    assert prepared == same
    assert len({prepared, first, second, os.getpid()}) == 4


@pytest.mark.parametrize(
    ("job", "reason"),
    [(Prepared.die, "terminated by SIGKILL"), (Prepared.loop, "takes too long")],
    ids=["dies", "loops"],
)
def test_a_job_that_does_not_end_well_costs_only_itself(
    process: JobProcess[Prepared], job: object, reason: str
) -> None:
    prepared, _ = process(Prepared.where)
    with pytest.raises(ProofEnded, match=reason):
        process(job)  # type: ignore[arg-type]
    assert process(Prepared.where)[0] == prepared


def test_a_process_that_was_killed_while_it_waited_starts_again(process: JobProcess[Prepared]) -> None:
    prepared, _ = process(Prepared.where)
    os.kill(prepared, signal.SIGKILL)
    assert process(Prepared.where)[0] != prepared


@pytest.mark.parametrize(("failing", "reason"), [("raises", "ValueError: no"), ("never ends", "takes too long")])
def test_what_can_not_be_prepared_ends_each_job_however_large_it_is(failing: str, reason: str) -> None:
    process = JobProcess(Runners(), partial(Prepared, failing))
    for _ in range(2):
        with pytest.raises(ProofEnded, match=reason):  # and the parent does not wait until it can write the job
            process(partial(Prepared.where, _=bytes(1 << 20)))
