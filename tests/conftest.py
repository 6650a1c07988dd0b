"""What all tests share: they leave the user's cache alone, and pytest-xdist shares them out file by file."""

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

SLOW = [
    "tests/agent/proving/test_fix_all.py",
    "tests/core/test_random_programs.py",
    "tests/lsp/test_hostile.py",
    "tests/analysis/test_capture_fixes.py",
    "tests/rules/test_rules.py",
    "tests/agent/serving/test_spawn_service.py",
    "tests/cli/test_cli.py",
    "tests/cli/test_check_scale.py",
    "tests/core/explore/test_soft_calls.py",
    "tests/lsp/test_views.py",
    "tests/cli/test_check_fix.py",
    "tests/mcp_server/test_mcp.py",
    "tests/cli/test_check_captures.py",
    "tests/supervisor/test_supervised_agent.py",
]
"""These files start first, so that no process is left with a long one at the end."""

ONE_BY_ONE = {
    "tests/agent/proving/test_fix_all.py",
    "tests/cli/test_check_scale.py",
    "tests/cli/test_cli.py",
    "tests/core/test_random_programs.py",
    "tests/mcp_server/test_mcp.py",
}
"""Any process may run any test of these slow files. The tests of every other file share what the first one starts."""


# Also if one process runs all tests: beside other work, threads that wait for each other can take minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of `SLOW` files first if several processes run the tests."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: SLOW.index(file) if (file := file_of(item.nodeid)) in SLOW else len(SLOW))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let Python's garbage collector pass over all that is there before the first test.

    That is torch and thousands of tests: without this, each full collection takes as long as a hundred small tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A scheduler that gives whole files to the processes, except those of `ONE_BY_ONE`."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    config.option.loadscopereorder = False
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = lambda nodeid: nodeid if file_of(nodeid) in ONE_BY_ONE else file_of(nodeid)
    return scheduler


def file_of(nodeid: str) -> str:
    """The file that a test is in."""
    return nodeid.partition("::")[0]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of these tests' own, for every process that they start."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["FX_LSP_CACHE"] = str(folder)
    yield folder
    del os.environ["FX_LSP_CACHE"]


@pytest.fixture(autouse=True)
def leaves_no_finder() -> Iterator[None]:
    """Fail the test that leaves one of the agent's finders in this process, rather than a later one that imports."""
    yield
    left = [finder for finder in sys.meta_path if type(finder).__module__.startswith("fx_lsp.")]
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in left]
    assert not left
