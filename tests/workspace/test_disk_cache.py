"""What is kept on disk, and when it still holds."""

import asyncio
import dataclasses
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.messages import Done, Limits, Recipe, Report, Snippet, Span, Target, Trace
from fx_lsp.cli.main import main
from fx_lsp.supervisor.cached_agent import CachedAgent
from fx_lsp.workspace.disk_cache import Cache, cache_folder
from tests.analysis.fake_agent import FakeAgent

KEY = "ab" * 32


class TestCacheFolder:
    @pytest.mark.skipif(sys.platform != "linux", reason="the folder of Linux")
    def test_it_is_where_linux_keeps_caches(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("FX_LSP_CACHE", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        assert cache_folder() == Path.home() / ".cache" / "fx-lsp"
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_folder() == tmp_path / "fx-lsp"
        monkeypatch.setenv("FX_LSP_CACHE", str(tmp_path / "chosen"))
        assert cache_folder() == tmp_path / "chosen"


class TestCache:
    def test_an_entry_can_be_read_by_another_cache(self, tmp_path: Path) -> None:
        Cache(tmp_path / "new").put(KEY, b"one")
        Cache(tmp_path / "new").put(KEY, b"two")
        assert Cache(tmp_path / "new").get(KEY) == b"two"
        assert Cache(tmp_path / "new").get("cd" * 32) is None

    @pytest.mark.parametrize("damage", [lambda old: b"", lambda old: old[:-1], lambda old: old[:40] + b"x" + old[41:]])
    def test_a_damaged_entry_counts_as_missing(self, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
        cache = Cache(tmp_path)
        cache.put(KEY, b"some content")
        (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
        file.write_bytes(damage(file.read_bytes()))
        assert cache.get(KEY) is None

    def test_the_least_recently_used_entries_are_removed_first(self, tmp_path: Path) -> None:
        keys = [f"{number:064x}" for number in range(20)]
        cache = Cache(tmp_path, largest=1000)
        for key in keys:
            cache.put(key, b"")  # 40 bytes and a few
        assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 1000
        assert cache.get(keys[-1]) == b""
        for number in range(20, 40):
            cache.get(keys[-1])
            cache.put(f"{number:064x}", b"")
        assert cache.get(keys[0]) is None

    def test_a_folder_that_cannot_be_created_is_not_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        cache = Cache(tmp_path / "file" / "cache")
        cache.put(KEY, b"")
        assert cache.get(KEY) is None
        assert cache.clear() == 0

    def test_it_is_cleared_by_a_command(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("FX_LSP_CACHE", str(tmp_path))
        Cache(tmp_path).put(KEY, b"one")
        assert main(["cache", "clear"]) == 0
        assert str(tmp_path) in capsys.readouterr().out
        assert Cache(tmp_path).get(KEY) is None


class Remembered:
    """A remembering agent with a fake one behind it, and two files, of which one imports the other."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.cache = cache
        self.model, self.helper = folder / "model.py", folder / "helper.py"
        self.model.write_text("from helper import f\n")
        self.helper.write_text("def f(x): return x\n")
        span = Span(str(self.model), 1, 0, 1, 1)
        self.target = Target("f", "f", span, Recipe(Snippet("f", 1)))
        self.request = Trace(str(self.model), (self.target,), roots=(str(folder),))
        self.behind = FakeAgent()
        self.agent = self.anew()

    def anew(self) -> CachedAgent:
        """As in a process that is started later."""
        return CachedAgent(self.behind, Cache(self.cache), [sys.executable], {}, start_early=False)

    async def is_known(self, request: Trace | None = None, answer: Report | None = None) -> bool:
        """Ask, and whether the answer came without asking the agent; if not, it answers."""
        asked: list[Report | Done] = []

        async def ask() -> None:
            async for item in self.agent.trace(request or self.request):
                asked.append(item)

        asking = asyncio.create_task(ask())
        behind = asyncio.create_task(self.behind.asked())
        await asyncio.wait([asking, behind], return_when=asyncio.FIRST_COMPLETED)
        if known := not behind.done():
            behind.cancel()
        else:
            answers = (await behind).answers
            answers.put_nowait(answer or Report(1, "f", "traced", nodes=3, code="é"))
            answers.put_nowait(Done(1, (str(self.model), str(self.helper))))
            await asking
        assert [dataclasses.replace(item, id=0) for item in asked] == [
            answer or Report(0, "f", "traced", nodes=3, code="é"),
            Done(0, (str(self.model), str(self.helper))),
        ]
        return known


@pytest_asyncio.fixture
async def remembered(tmp_path: Path) -> AsyncIterator[Remembered]:
    (tmp_path / "work").mkdir()
    remembered = Remembered(tmp_path / "work", tmp_path / "cache")
    yield remembered
    await remembered.agent.close()


async def test_what_was_traced_is_known_and_so_it_is_later(remembered: Remembered) -> None:
    assert not await remembered.is_known()
    assert await remembered.is_known()
    remembered.agent = remembered.anew()
    assert await remembered.is_known()


async def test_what_is_forgotten_is_traced_and_known_again(remembered: Remembered) -> None:
    assert not await remembered.is_known()
    remembered.agent.forget(str(remembered.model))
    assert not await remembered.is_known()
    assert await remembered.is_known()


def rewrite_model(remembered: Remembered) -> None:
    remembered.model.write_text("from helper import f  # as g\n")


def rewrite_helper(remembered: Remembered) -> None:
    remembered.helper.write_text("def f(x): return -x\n")


def delete_helper(remembered: Remembered) -> None:
    remembered.helper.unlink()


def add_module(remembered: Remembered) -> None:
    remembered.model.with_name("another.py").touch()


def other_target(remembered: Remembered) -> None:
    recipe = Recipe(Snippet("f", 1), tracer=Snippet("T()", 1))
    target = dataclasses.replace(remembered.target, recipe=recipe)
    remembered.request = dataclasses.replace(remembered.request, targets=(target,))


def other_limits(remembered: Remembered) -> None:
    remembered.request = dataclasses.replace(remembered.request, limits=Limits(seconds=1))


def unsaved_helper(remembered: Remembered) -> None:
    overlays = {str(remembered.helper): "def f(x): return -x\n"}
    remembered.request = dataclasses.replace(remembered.request, overlays=overlays)


def other_variables(remembered: Remembered) -> None:
    remembered.agent = CachedAgent(
        remembered.behind, Cache(remembered.cache), [sys.executable], {"A": "B"}, start_early=False
    )


@pytest.mark.parametrize(
    "change",
    [
        *(rewrite_model, rewrite_helper, delete_helper, add_module, other_target, other_limits, unsaved_helper),
        other_variables,
    ],
)
async def test_what_may_come_out_otherwise_is_traced(
    remembered: Remembered, change: Callable[[Remembered], None]
) -> None:
    assert not await remembered.is_known()
    change(remembered)
    assert not await remembered.is_known()


async def test_an_edit_that_was_undone_is_known(remembered: Remembered) -> None:
    assert not await remembered.is_known()
    before = remembered.request
    unsaved_helper(remembered)
    assert not await remembered.is_known()
    assert not await remembered.is_known(), "unsaved text is not kept"
    overlays = {str(remembered.helper): remembered.helper.read_text()}
    assert await remembered.is_known(dataclasses.replace(before, overlays=overlays))


WAITED = Report(0, "f", "timed-out", processor_seconds=0.5 * Limits().seconds)
COMPUTED = Report(0, "f", "timed-out", processor_seconds=Limits().seconds)


@pytest.mark.parametrize("answer", [WAITED, Report(0, "f", "crashed"), Report(0, "f", "out-of-memory")])
async def test_what_depends_on_the_machine_is_not_kept(remembered: Remembered, answer: Report) -> None:
    assert not await remembered.is_known(answer=answer)
    assert not await remembered.is_known(answer=answer)


async def test_what_computed_until_its_time_was_over_would_do_so_again(remembered: Remembered) -> None:
    assert not await remembered.is_known(answer=COMPUTED)
    assert await remembered.is_known(answer=COMPUTED)
    other_limits(remembered)
    assert not await remembered.is_known(answer=COMPUTED)


async def test_where_python_can_not_be_run_nothing_is_kept(remembered: Remembered) -> None:
    remembered.agent = CachedAgent(remembered.behind, Cache(remembered.cache), ["/no/python"], {}, start_early=False)
    assert not await remembered.is_known()
    assert not await remembered.is_known()


async def test_a_forgotten_file_is_traced_and_captured_again(remembered: Remembered) -> None:
    exported = dataclasses.replace(remembered.request, capture="export")
    for request in (remembered.request, exported):
        assert not await remembered.is_known(request)
        assert await remembered.is_known(request)
    remembered.agent.forget(str(remembered.model))
    for request in (exported, remembered.request):
        assert not await remembered.is_known(request)
        assert await remembered.is_known(request)
