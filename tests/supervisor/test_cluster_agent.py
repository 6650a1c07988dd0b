"""``fx-lsp check --cluster``: real workers in processes of their own, and one that is killed in the middle."""

import contextlib
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fx_lsp.agent.messages import Done, Recipe, Report, Snippet, Span, Target, Trace
from fx_lsp.agent.wire import decode, encode
from fx_lsp.supervisor.cluster_worker import SentWorkspace, answered
from tests.cli.test_cli import ROOT, check

pytest.importorskip("distributed", reason="dask.distributed is not installed")

MODEL = """\
import torch
from common import scale

class Net(torch.nn.Module):
    def forward(self, x):
        return scale(x) / len(x) if {number} % 2 else scale(x)
"""
SLOW = """\
import pathlib, torch

class Net(torch.nn.Module):
    def forward(self, x):
        pipe = pathlib.Path({pipe!r})
        if pipe.is_fifo():
            pipe.read_text()
        return x + 1
"""
"""Its trace lasts as long as somebody could write to the pipe."""


class Cluster:
    """A scheduler and workers, each of one thread."""

    def __init__(self, folder: Path, workers: int) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        self._folder = folder
        options = ("--host", "127.0.0.1", "--no-dashboard")
        self.processes = [self._start("scheduler", "--port", port, *options)]
        for _ in range(workers):
            self.processes.append(
                self._start("worker", self.address, "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")
            )

    def _start(self, what: str, *arguments: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments],
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def wait_for_workers(self) -> None:
        from distributed import Client

        with Client(self.address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(len(self.processes) - 1, timeout=60)

    def close(self) -> None:
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    cluster = Cluster(folder, workers=2)
    try:
        cluster.wait_for_workers()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project é"
    folder.mkdir()
    (folder / "common.py").write_text("def scale(x):\n    return x * 2\n", encoding="utf-8")
    for number in range(5):
        (folder / f"net{number}.py").write_text(MODEL.format(number=number), encoding="utf-8")
    return folder


def told(project: Path, *arguments: str) -> tuple[str, str, list[dict[str, Any]]]:
    """What is printed, what is said, and what is written of each model but for its seconds."""
    done = check(".", *arguments, "--no-cache", "--format", "json", "--report", "../report.jsonl", cwd=project)
    rows = [json.loads(line) for line in (project.parent / "report.jsonl").read_text("utf-8").splitlines()]
    return done.stdout, done.stderr, [{**row, "seconds": 0} for row in rows]


def test_a_cluster_finds_the_same_as_one_job(cluster: Cluster, project: Path) -> None:
    alone = told(project, "--jobs", "1")
    assert [row["verdict"] for row in alone[2]] == ["ok", "fails", "ok", "fails", "ok"]
    assert told(project, "--cluster", cluster.address) == alone


def test_a_killed_worker_costs_one_retry(cluster: Cluster, project: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (project / "slow.py").write_text(SLOW.format(pipe=str(pipe)), encoding="utf-8")
    running = subprocess.Popen(
        [
            *(sys.executable, "-m", "fx_lsp", "check", ".", "--python", sys.executable),
            *("--cluster", cluster.address, "--report", "../report.jsonl", "--time-limit", "600"),
        ],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        with opened_by_a_reader(pipe):
            worker = worker_at_work(cluster)
            pipe.unlink()
            os.kill(worker, signal.SIGKILL)
        out, error = running.communicate(timeout=300)
    finally:
        running.kill()
    assert (running.returncode, error) == (1, b""), out
    rows = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text("utf-8").splitlines()]
    assert [(row["path"], row["verdict"]) for row in rows][-1] == ("slow.py", "ok")
    assert told(project, "--jobs", "1")[2] == [{**row, "seconds": 0} for row in rows]


def test_a_workspace_that_the_worker_does_not_see_is_sent_to_it(project: Path) -> None:
    file, root = str(project / "net1.py"), str(project)
    span = Span(file, 4, 6, 4, 9)
    request = Trace(file, (Target("Net", "Net", span, Recipe(Snippet("Net()", 4))),), roots=(root,))
    tree = SentWorkspace("name", (root,), {str(path): path.read_bytes() for path in project.iterdir()})
    shutil.move(project, project.with_name("gone"))
    for _ in range(2):
        report, done = (decode(body) for body in answered([sys.executable], root, encode(request), tree)[-2:])
        assert isinstance(report, Report)
        assert isinstance(done, Done)
        assert (report.outcome, report.failures[0].chain[-1].span.file) == ("failed", file)
        assert done.dependencies == (str(project / "common.py"), file)


def test_a_missing_scheduler_is_an_error(project: Path) -> None:
    done = check(".", "--cluster", "nonsense://x", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("fx-lsp: no Dask scheduler could be reached at nonsense://x")


@contextlib.contextmanager
def opened_by_a_reader(pipe: Path) -> Iterator[None]:
    """Waits for somebody to read from ``pipe``, and keeps it open for writing meanwhile."""
    deadline = time.monotonic() + 120
    while True:
        try:
            end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError as error:  # as long as nobody reads
            if error.errno != errno.ENXIO or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    try:
        yield
    finally:
        os.close(end)


def worker_at_work(cluster: Cluster) -> int:
    """The process of the only worker that still has something to do, as soon as that is so."""
    from distributed import Client

    with Client(cluster.address, timeout=60, set_as_default=False) as client:
        deadline = time.monotonic() + 120
        while True:
            busy = {address: tasks for address, tasks in client.processing().items() if tasks}
            if len(busy) == 1:
                (process,) = client.run(os.getpid, workers=list(busy)).values()
                return int(process)
            assert time.monotonic() < deadline, f"at work is not one worker, but {busy}"
            time.sleep(0.05)
