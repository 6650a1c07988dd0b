"""Modules that the edited file imports are compiled once, and never taken for what they were before."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fx_lsp.agent.importing import bytecode_cache
from fx_lsp.agent.importing.bytecode_cache import BackgroundCompiler, CompiledFile, cached_bytecode, compile_files
from fx_lsp.agent.processes.children import ForkedChildren
from fx_lsp.agent.processes.watchdog import ChildProcess, Gone
from tests.agent.client import Answer, Client, text_at

in_session = pytest.mark.asyncio(loop_scope="session")

COUNTS = """\
import builtins
compiled, compile = [], builtins.compile
def counting(source, path, *args, **kwargs):
    compiled.append(path)
    return compile(source, path, *args, **kwargs)
builtins.compile = counting
from helpers import f
builtins.compile = compile

def model(x):
    return f(x) + sum(path.endswith("helpers.py") for path in compiled)
"""
"""Its graph adds how many times `helpers.py` was compiled to import it."""


async def until_kept(client: Client, file: str) -> Answer:
    """The answer of the first request for which nothing was compiled."""
    for _ in range(50):
        answer = await client.trace(file, "model")
        if "+ 1" not in answer.only.code:
            return answer
    raise AssertionError("helpers.py is compiled each time")


@in_session
async def test_a_module_is_compiled_for_the_first_requests_alone(client: Client) -> None:
    client.write("helpers.py", "def f(x):\n    return x.cos()\n")
    file = client.write("net.py", COUNTS)
    assert "cos + 1" in (await client.trace(file, "model")).only.code
    assert "cos + 0" in (await until_kept(client, file)).only.code


@in_session
async def test_cached_bytecode_is_only_for_the_same_text(client: Client) -> None:
    helpers = client.write("helpers.py", "def f(x):\n    return x.cos()\n")
    file = client.write("net.py", COUNTS)
    await until_kept(client, file)
    overlay = {helpers: "def f(x):\n    return x.tan()\n"}
    assert "tan + 1" in (await client.trace(file, "model", overlays=overlay)).only.code
    client.write("helpers.py", "def f(x):\n    return x.sin()\n")
    assert "sin + 1" in (await client.trace(file, "model")).only.code
    assert "sin + 0" in (await until_kept(client, file)).only.code


@in_session
async def test_cached_bytecode_keeps_places_and_notices(client: Client) -> None:
    scripted = client.write("scripted.py", "import time\ntime.sleep(9)\n\ndef f(x):\n    return x\n")
    client.write("plain.py", "def g(x):\n    é = 1; return len(x)\n")
    file = client.write("net.py", "from plain import g\nfrom scripted import f\n\ndef model(x):\n    return g(f(x))\n")
    told = []
    for _ in range(6):  # what is imported is compiled after the first, at the latest after the second
        report = (await client.trace(file, "model")).only
        assert [(notice.kind, notice.chain[-1].span.file) for notice in report.notices] == [
            ("definitions-only", scripted)
        ]
        told.append([[(step.name, text_at(step)) for step in failure.chain] for failure in report.failures])
    assert told[0][0][-1] == ("g", "len(x)")
    assert told == [told[0]] * 6


def code_for(path: Path, text: str) -> CompiledFile:
    """What is kept of a file with this text, as UTF-8."""
    path.write_text(text, encoding="utf-8")
    found: list[Any] = []
    compile_files([str(path)], found.append)
    (only,) = found
    assert isinstance(only, CompiledFile)
    return only


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty one, for this process."""
    store = bytecode_cache._BytecodeCache()
    monkeypatch.setattr(bytecode_cache, "_CACHE", store)
    monkeypatch.setattr(bytecode_cache, "limit_memory", lambda mebibytes: None)  # this process lives on
    return store


def test_a_full_bytecode_cache_drops_the_oldest_entry(
    tmp_path: Path, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [code_for(tmp_path / f"{name}.py", f"{name} = 1\n") for name in "abc"]
    store.put(files[0])
    found = cached_bytecode(files[0].path, "a = 1\n")
    assert found is not None
    monkeypatch.setattr(bytecode_cache, "MOST", 2 * found.size)
    for file in [files[1], files[0], files[2]]:
        store.put(file)
    assert [name for name in "abc" if cached_bytecode(str(tmp_path / f"{name}.py"), f"{name} = 1\n")] == ["a", "c"]


def test_cached_bytecode_equals_pythons_own_and_is_made_once(tmp_path: Path, store: Any) -> None:
    text = "from __future__ import annotations\ndef f(x: int):\n    'é'\n    return [y for y in x]\n"
    path = tmp_path / "m.py"
    store.put(code_for(path, text))
    found = cached_bytecode(str(path), text)
    assert found is not None
    assert found.code == compile(text, str(path), "exec", dont_inherit=True)
    again: list[object] = []
    compile_files([str(path)], again.append)
    assert again == []


@pytest.mark.usefixtures("store")
def test_files_that_do_not_compile_are_left_to_the_request(tmp_path: Path) -> None:
    wrong, long, latin = tmp_path / "wrong.py", tmp_path / "long.py", tmp_path / "latin.py"
    rot13, last = tmp_path / "rot13.py", tmp_path / "last.py"
    wrong.write_text("def f(:\n", encoding="utf-8")
    long.write_text("#" * (bytecode_cache.LONGEST + 1), encoding="utf-8")
    latin.write_bytes("a = 'é'\n".encode("latin-1"))
    rot13.write_text("# coding: rot13\n", encoding="utf-8")
    last.write_text("a = '\\d'\n", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.py")
    paths = [wrong, long, latin, rot13, tmp_path / "pipe.py", tmp_path, Path("/dev/zero"), Path("\0"), last]
    found: list[Any] = []
    compile_files(map(str, paths), found.append)
    assert [each.path for each in found] == [str(last)]


class FakeChildren:
    """Children that do nothing."""

    def __init__(self) -> None:
        self.gone: list[Gone] = []

    def fork(self, job: Any, *, gone: Gone, **options: Any) -> None:
        self.gone.append(gone)


def test_repeated_compilation_makes_background_compiling_due() -> None:
    children = FakeChildren()
    compilation = BackgroundCompiler(cast(ForkedChildren, children))
    due = []

    def want(*paths: str) -> None:
        compilation.want(paths)
        due.append(compilation.is_due)

    want("a.py", "b.py")
    want("b.py")
    compilation.proceed()
    want("b.py")
    want("b.py")
    compilation.proceed()
    assert len(children.gone) == 1
    children.gone[0](cast(ChildProcess, SimpleNamespace(pid=-1)))
    assert [*due, compilation.is_due] == [False, True, False, False, True]
