import sys
from pathlib import Path

import pytest

from fx_lsp.supervisor.interpreter_choice import choose, expanded


def make_python(path: Path) -> str:
    path.parent.mkdir(parents=True)
    path.touch(mode=0o755)
    return str(path)


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """One interpreter in every place where one is looked for."""
    return {
        "VIRTUAL_ENV": make_python(tmp_path / "active" / "bin" / "python"),
        ".venv": make_python(tmp_path / "work é" / ".venv" / "bin" / "python"),
        "venv": make_python(tmp_path / "work é" / "venv" / "bin" / "python"),
        "PATH": make_python(tmp_path / "path" / "python3"),
    }


def test_the_first_place_with_an_interpreter_wins(tmp_path: Path, places: dict[str, str]) -> None:
    folder = tmp_path / "work é"
    environ = {"VIRTUAL_ENV": str(tmp_path / "active"), "PATH": str(tmp_path / "path")}
    assert choose(folder, setting=["py"], selected=["sel"], environ=environ).command == ("py",)
    assert choose(folder, selected=["sel", "-E"], environ=environ).command == ("sel", "-E")
    assert choose(folder, environ=environ).command == (places["VIRTUAL_ENV"],)
    del environ["VIRTUAL_ENV"]
    assert choose(folder, environ=environ).command == (places[".venv"],)
    Path(places[".venv"]).unlink()
    assert choose(folder, environ=environ).command == (places["venv"],)
    assert choose(None, environ=environ).command == (places["PATH"],)
    assert choose(None, environ={"PATH": str(tmp_path)}).command == (sys.executable,)


def test_an_active_environment_that_is_gone_is_passed_over(tmp_path: Path, places: dict[str, str]) -> None:
    environ = {"VIRTUAL_ENV": str(tmp_path / "gone"), "PATH": str(tmp_path / "path")}
    chosen = choose(None, environ=environ)
    assert (chosen.command, chosen.origin) == ((places["PATH"],), "the PATH")


@pytest.mark.parametrize("name", ["Scripts/python.exe", "python.exe"])
def test_the_interpreter_is_found_in_environments_of_windows_and_conda(tmp_path: Path, name: str) -> None:
    python = make_python(tmp_path / ".venv" / name)
    assert choose(tmp_path, environ={"PATH": ""}).command == (python,)


def test_variables_of_the_setting_are_filled_in(tmp_path: Path) -> None:
    environ = {"HOME": "/home/a", "NAME": "n"}
    assert expanded(["${workspaceFolder}/v/python", "-X${env:NAME}", "${env:NONE}"], tmp_path, environ) == (
        f"{tmp_path}/v/python",
        "-Xn",
        "",
    )
    assert expanded(["~/python", "${userHome}", "a~"], None, environ) == ("/home/a/python", "/home/a", "a~")


def test_a_relative_path_is_relative_to_the_folder_and_a_bare_name_is_not(tmp_path: Path) -> None:
    assert expanded([".venv/bin/python"], tmp_path, {}) == (str(tmp_path / ".venv/bin/python"),)
    assert expanded(["python3"], tmp_path, {}) == ("python3",)
    assert expanded(["/usr/bin/python3"], tmp_path, {}) == ("/usr/bin/python3",)
