"""What is done to make forks cheap, by what the system says of the process."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fx_lsp.agent.processes import huge_pages

FILLED = """\
import re
from pathlib import Path

from fx_lsp.agent.processes.huge_pages import use_huge_pages

kept = [str(number) for number in range(400_000)]
use_huge_pages()
assert kept == [str(number) for number in range(400_000)]
print(re.search(r"AnonHugePages: +([0-9]+)", Path("/proc/self/smaps_rollup").read_text())[1])
"""


def test_only_whole_huge_pages_of_private_memory_are_moved() -> None:
    maps = """\
00001ff000-00004ff000 rw-p 00000000 00:00 0                              [heap]
7f0000000000-7f0000600000 rw-p 00000000 00:00 0
7f1000000000-7f1000600000 r--p 00000000 00:00 0
7f2000000000-7f2000600000 rw-p 00000000 fe:00 1234                       /usr/lib/libtorch.so
7f3000000000-7f3000600000 rw-p 00000000 00:00 0                          [stack]
7f4000001000-7f4000201000 rw-p 00000000 00:00 0
"""
    assert [*huge_pages._whole_huge_pages(maps)] == [(0x200000, 0x200000), (0x7F0000000000, 0x600000)]


@pytest.mark.parametrize(
    ("choice", "unwanted"), [("always madvise [never]\n", True), ("[always] madvise never\n", False)]
)
def test_no_memory_is_moved_where_huge_pages_are_not_wanted(
    choice: str, unwanted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "enabled"
    file.write_text(choice)
    monkeypatch.setattr(huge_pages, "_CHOICE", file)
    assert huge_pages._are_unwanted() is unwanted
    monkeypatch.setattr(huge_pages, "_CHOICE", tmp_path / "none")
    assert not huge_pages._are_unwanted()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what pages a process has")
def test_memory_keeps_its_contents_in_huge_pages() -> None:
    release = re.match(r"(\d+)\.(\d+)", Path("/proc/sys/kernel/osrelease").read_text())
    assert release
    run = subprocess.run([sys.executable, "-c", FILLED], capture_output=True, text=True, check=True)
    if (int(release[1]), int(release[2])) >= (6, 1) and not huge_pages._are_unwanted():
        assert int(run.stdout) > 0
