"""``fx-lsp which`` prints the interpreter on its first line, then the reasons."""

import sys
import venv
from pathlib import Path

import pytest

from fx_lsp.cli.main import main


@pytest.fixture(autouse=True)
def _nothing_activated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_VERSION", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path)


def test_a_python_with_torch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    venv.create(tmp_path / "sub" / ".venv", symlinks=True)
    (tmp_path / "sub" / "a.py").touch()
    assert main(["which", "sub/a.py"]) == 0
    first, taken, other, *_ = capsys.readouterr().out.splitlines()
    assert first == sys.executable
    assert taken == f"taken: {sys.executable} (the Python that runs fx-lsp) has torch"
    assert other == f"not taken: {tmp_path}/sub/.venv/bin/python (.venv in {tmp_path}/sub) has no torch"


def test_no_python_with_torch(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / ".venv", symlinks=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    assert main(["which"]) == 2
    assert capsys.readouterr().out.splitlines()[0] == f"{tmp_path}/.venv/bin/python"


def test_the_projects_setting_is_taken_as_it_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.fx-lsp]\ninterpreter = ['bin/python', '-E']\n")
    assert main(["which"]) == 2
    first, taken = capsys.readouterr().out.splitlines()
    assert first == f"{tmp_path}/bin/python -E"
    assert "the setting fxLsp.interpreter" in taken


def test_a_path_through_another_project(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.py").touch()
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.fx-lsp]\ninterpreter = ['/python/of/a']\n")
    venv.create(tmp_path / "a" / ".venv", symlinks=True)
    monkeypatch.chdir(tmp_path / "a")
    main(["which", "../b/x.py"])
    said = capsys.readouterr().out
    assert f"{tmp_path}/a" not in said
    assert "/python/of/a" not in said


def test_a_command_that_runs_a_python_is_not_said_to_have_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.fx-lsp]\ninterpreter = ['/usr/bin/env', '{sys.executable}']\n")
    assert main(["which"]) == 0
    assert (
        capsys.readouterr().out.splitlines()[1].endswith("(the setting fxLsp.interpreter) was not searched for torch")
    )


def test_a_file_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["which", "gone.py"]) == 2
    assert capsys.readouterr().err == "fx-lsp: gone.py does not exist.\n"
