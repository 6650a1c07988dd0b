"""What the system's own means keep a trace from, tried in a confined process."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fx_lsp.agent.processes import scratch_folder
from fx_lsp.agent.sandbox.confinement import confine, confine_alone, mechanisms

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or mechanisms().machine is None, reason="calls can't be filtered here"
)

SHARED_MEMORY, MINE_ALONE = 0o1000, 0o600
GET_FLAGS, NEW_USERS, DEATH_SIGNAL, INTERRUPT = 0x80086601, 0x10000000, 1, 2


@pytest.fixture
def other() -> Iterator[int]:
    """A process that is none of the trace's."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid


def confined(job: Callable[[], object], folder: Path) -> str:
    """What ``job`` returns or raises in a process that is confined to ``folder``, in words."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            confine(str(folder))
            confine_alone()
            said = repr(job())
        except BaseException as error:
            said = type(error).__name__
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(process, 0)
    return said


def called(name: str, *arguments: object) -> str:
    """The name of the error that a function of the C library fails with; empty where it does not fail."""
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_ulong(word) if isinstance(word, int) else word for word in arguments]
    return os.strerror(ctypes.get_errno()) if getattr(libc, name)(*words) == -1 else ""


def test_the_limits_of_other_processes_stay(other: int, tmp_path: Path) -> None:
    limit = resource.RLIMIT_CPU
    before = resource.prlimit(other, limit)
    assert confined(lambda: resource.prlimit(other, limit, (1, 1)), tmp_path) == "PermissionError"
    assert resource.prlimit(other, limit) == before
    assert confined(lambda: resource.setrlimit(limit, (60, 60)), tmp_path) == "None"


def test_the_priorities_of_other_processes_stay(other: int, tmp_path: Path) -> None:
    def lower() -> None:
        os.setpriority(os.PRIO_PROCESS, other, 19)
        os.setpriority(os.PRIO_USER, 0, 19)
        os.sched_setaffinity(other, {0})
        os.sched_setscheduler(other, os.SCHED_IDLE, os.sched_param(0))

    def seen() -> list[object]:
        priority = os.getpriority(os.PRIO_PROCESS, other)
        return [priority, os.sched_getaffinity(other), os.sched_getscheduler(other), os.getpriority(os.PRIO_PROCESS, 0)]

    before = seen()
    assert confined(lower, tmp_path) == "None"
    assert seen() == before
    assert confined(lambda: os.nice(3) - os.nice(0), tmp_path) == "0"


def test_nothing_stays_in_shared_memory(tmp_path: Path) -> None:
    refused = repr(os.strerror(13))
    assert confined(lambda: called("shmget", 0, 4096, SHARED_MEMORY | MINE_ALONE), tmp_path) == refused
    assert confined(lambda: called("msgget", 0, SHARED_MEMORY | MINE_ALONE), tmp_path) == refused


def test_file_attributes_cannot_be_changed(tmp_path: Path) -> None:
    with Path(__file__).open("rb") as file:
        request = ctypes.c_ulong(0)
        assert confined(lambda: called("ioctl", file.fileno(), GET_FLAGS, ctypes.byref(request)), tmp_path) == repr(
            os.strerror(25)
        )


def test_a_process_dies_with_its_parent_whatever_it_asks(tmp_path: Path) -> None:
    assert confined(lambda: called("prctl", DEATH_SIGNAL, 0), tmp_path) == repr(os.strerror(1))
    assert confined(lambda: called("prctl", DEATH_SIGNAL, INTERRUPT), tmp_path) == repr(os.strerror(1))
    assert confined(lambda: called("prctl", DEATH_SIGNAL, 9), tmp_path) == "''"


def test_there_are_no_other_namespaces_and_threads_work(tmp_path: Path) -> None:
    def threads() -> int:
        found: list[int] = []
        thread = threading.Thread(target=found.append, args=(1,))
        thread.start()
        thread.join()
        return len(found)

    clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    assert confined(lambda: called("syscall", clone, NEW_USERS | 17, 0, 0, 0, 0), tmp_path) == repr(os.strerror(1))
    assert confined(threads, tmp_path) == "1"


def test_a_scratch_folder_is_removed_however_deep_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    (folder / "kept.txt").symlink_to(__file__)
    before = Path.cwd()
    try:
        os.chdir(folder)
        for _ in range(3_000):
            Path("d").mkdir()
            os.chdir("d")
            Path("f").touch()
    finally:
        os.chdir(before)
    (folder / "closed").mkdir(0o300)
    scratch_folder.remove(folder)
    assert not folder.exists()
    assert Path(__file__).exists()
