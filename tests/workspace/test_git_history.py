import subprocess
from pathlib import Path

from fx_lsp.workspace.git_history import earlier_texts


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Someone", "-c", "user.email=someone@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def commit(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    git(path.parent, "add", path.name)
    git(path.parent, "commit", "-m", "Change a file")


async def texts(path: Path, most: int = 20) -> list[str]:
    return [text async for _, text in earlier_texts(str(path), most)]


async def test_the_latest_text_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "some folder" / "model.py"
    path.parent.mkdir()
    git(tmp_path, "init")
    for text in (b"x = 1\r\n", b"x = 2\n", "# -*- coding: latin-1 -*-\nx = 'ü'\n".encode("latin-1")):
        commit(path, text)
    commit(path.with_name("other.py"), b"y = 1\n")
    path.write_text("x = 4\n")
    assert await texts(path) == ["# -*- coding: latin-1 -*-\nx = 'ü'\n", "x = 2\n", "x = 1\n"]
    assert len(await texts(path, most=2)) == 2


async def test_without_a_repository_there_are_no_texts(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("x = 1\n")
    assert await texts(path) == []
    assert await texts(tmp_path / "missing" / "model.py") == []


async def test_a_repository_runs_no_programs(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / ".gitattributes").write_text("*.py diff=own\n")
    path, ran = tmp_path / "model.py", tmp_path / "ran"
    commit(path, b"x = 1\n")
    program = f"touch '{ran}'; cat"
    for name in ("diff.own.textconv", "diff.own.command", "core.fsmonitor", "core.pager", "core.sshCommand"):
        git(tmp_path, "config", name, program)
    ran.unlink(missing_ok=True)
    assert await texts(path) == ["x = 1\n"]
    assert not ran.exists()
