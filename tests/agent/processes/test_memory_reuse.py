"""A process keeps what it frees, by how many pages the system has to give it."""

import platform
import subprocess
import sys

import pytest

FAULTS = """\
import resource

from fx_lsp.agent.processes.memory_reuse import reuse_freed_memory


def faults(size):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    b"x" * size
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


reuse_freed_memory()
print(faults(16 << 20), faults(16 << 20))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the C library of GNU can keep what is freed")
def test_the_second_large_value_takes_the_memory_of_the_first() -> None:
    run = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    first, second = map(int, run.stdout.split())
    assert second * 20 < first
