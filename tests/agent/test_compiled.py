"""Modules that the edited file imports are compiled once, and never taken for what they were before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fx_lsp.agent import compiled
from fx_lsp.agent.compiled import Compiled, code_of, kept

from .client import Answer, Client, text_at

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
async def test_what_is_kept_is_for_the_very_text(client: Client) -> None:
    helpers = client.write("helpers.py", "def f(x):\n    return x.cos()\n")
    file = client.write("net.py", COUNTS)
    await until_kept(client, file)
    overlay = {helpers: "def f(x):\n    return x.tan()\n"}
    assert "tan + 1" in (await client.trace(file, "model", overlays=overlay)).only.code
    client.write("helpers.py", "def f(x):\n    return x.sin()\n")
    assert "sin + 1" in (await client.trace(file, "model")).only.code
    assert "sin + 0" in (await until_kept(client, file)).only.code


@in_session
async def test_places_and_notices_are_the_same_as_when_it_was_compiled(client: Client) -> None:
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


def code_for(path: Path, text: str) -> Compiled:
    """What is kept of a file with this text, as UTF-8."""
    path.write_text(text, encoding="utf-8")
    found: list[Any] = []
    compiled._compile([str(path)], found.append)
    (only,) = found
    assert isinstance(only, Compiled)
    return only


def test_the_oldest_goes_where_it_is_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_KEPT", {})
    files = [code_for(tmp_path / f"{name}.py", f"{name} = 1\n") for name in "abc"]
    monkeypatch.setattr(compiled, "MOST", sum(len(file.code) for file in files[:2]))
    for file in [files[0], files[1], files[0], files[2]]:
        compiled._keep(file)
    assert [name for name in "abc" if kept(str(tmp_path / f"{name}.py"), f"{name} = 1\n")] == ["a", "c"]


def test_it_is_the_code_that_python_makes(tmp_path: Path) -> None:
    text = "from __future__ import annotations\ndef f(x: int):\n    'é'\n    return [y for y in x]\n"
    path = tmp_path / "m.py"
    assert code_of(code_for(path, text)) == compile(text, str(path), "exec", dont_inherit=True)


def test_what_can_not_be_compiled_is_left_to_the_request(tmp_path: Path) -> None:
    wrong, long, latin = tmp_path / "wrong.py", tmp_path / "long.py", tmp_path / "latin.py"
    wrong.write_text("def f(:\n", encoding="utf-8")
    long.write_text("#" * (compiled.LONGEST + 1), encoding="utf-8")
    latin.write_bytes("a = 'é'\n".encode("latin-1"))
    os.mkfifo(tmp_path / "pipe.py")
    found: list[Any] = []
    compiled._compile([str(path) for path in (wrong, long, latin, tmp_path / "pipe.py", tmp_path)], found.append)
    compiled._compile(["/dev/zero", "\0"], found.append)
    assert found == []
