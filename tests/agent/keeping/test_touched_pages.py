"""Which memory a process has touched, and that another one can touch it ahead."""

import ctypes
import mmap
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest

from fx_lsp.agent.keeping import touched_pages
from fx_lsp.agent.keeping.touched_pages import MOST_PAGES, count_faults, pages_touched, touch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems don't tell which pages are touched")

PAGES = 300


@pytest.fixture
def memory() -> mmap.mmap:
    """Memory of this process alone, which a forked process has to copy page by page."""
    memory = mmap.mmap(-1, PAGES * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(b"x" * len(memory))
    return memory


def write(memory: mmap.mmap) -> None:
    for number in range(PAGES):
        memory[number * mmap.PAGESIZE] = number % 256


def first_page(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory)) // mmap.PAGESIZE


def in_child(job: Callable[[], Any]) -> Any:
    """What ``job`` returns in a forked process."""
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        os.write(write, pickle.dumps(job()))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        data = file.read()
    os.waitpid(pid, 0)
    return pickle.loads(data)


def test_what_is_touched_ahead_is_at_hand(memory: mmap.mmap) -> None:
    first = first_page(memory)

    def touched() -> tuple[tuple[int, ...], ...]:
        write(memory)
        return tuple(pages for pages in pages_touched() if pages[0] < first + PAGES and first < pages[0] + pages[1])

    def faults(*ahead: tuple[int, ...]) -> int:
        touch(ahead)
        assert bytes(memory) == b"x" * len(memory)
        before = count_faults()
        write(memory)
        return count_faults() - before

    pages = in_child(touched)
    found = {page for start, count, _ in pages for page in range(start, start + count)}
    assert found >= set(range(first, first + PAGES))
    assert in_child(faults) >= PAGES
    assert in_child(lambda: faults(*pages)) < PAGES / 10


def test_what_is_not_there_is_not_touched(memory: mmap.mmap) -> None:
    touch([(1, 1, 1), (first_page(memory), PAGES, 1)])
    assert memory[0] == ord("x")


def test_only_so_many_pages_are_told() -> None:
    size = (MOST_PAGES + PAGES) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

    def count() -> int:
        memory.write(b"x" * size)
        return sum(pages[1] for pages in pages_touched())

    assert in_child(count) <= MOST_PAGES


def test_more_pages_than_an_attempt_is_known_to_touch_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(touched_pages, "_advise", lambda *args: pytest.fail("it was touched"))
    touch([(0, MOST_PAGES, 1), (1 << 30, 1, 1)])
