"""In every layout the interpreter is taken that a person would expect, and every other is accounted for."""

import os
import sys
from pathlib import Path

import pytest

from fx_lsp.interpreters.interpreter_choice import Interpreter, choose
from tests.interpreters.layouts import LAYOUTS, OWN, PAGE, Home, Layout, with_table


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty home folder, with nothing activated and nothing on the PATH."""
    folder = tmp_path / "home é x"
    (folder / "work").mkdir(parents=True)
    for name in list(os.environ):
        if name.startswith(("XDG_", "PYTHON", "POETRY", "PYENV", "HATCH", "UV_", "CONDA", "VIRTUAL_ENV", "WORKON")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", "")
    own = folder / "own"
    Home(folder).environment("own", torch=False)
    monkeypatch.setattr(sys, "executable", str(own / "bin" / "python"))
    return Home(folder)


def chosen(home: Home, layout: Layout, monkeypatch: pytest.MonkeyPatch) -> Interpreter:
    layout.make(home)
    if layout.own_has_torch:
        home.torch("own/lib/python3.11/site-packages")
    for name, value in layout.environ.items():
        monkeypatch.setenv(name, value.replace("~", str(home.path)))
    file = home.write(layout.file)
    return choose(file, home.path / "work", setting=layout.setting, in_editor=layout.in_editor)


@pytest.mark.parametrize("layout", LAYOUTS, ids=[layout.name for layout in LAYOUTS])
def test_the_interpreter_that_a_person_expects(home: Home, layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter = chosen(home, layout, monkeypatch)
    expected = layout.expected.replace("DIGEST", home.digest("work"))
    (command,) = interpreter.command
    assert command == (sys.executable if layout.expected == OWN else str(home.path / expected))
    first, *others = interpreter.reasons
    assert command in first
    assert len({command, *(other.python for other in interpreter.passed_over)}) == 1 + len(others)
    assert all(" has no torch" in line or " comes later in the order" in line for line in others)


def test_the_manual_has_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page, "run python -m tests.interpreters.layouts"


def test_why_each_interpreter_was_not_taken(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = next(layout for layout in LAYOUTS if layout.about == "`.venv` without torch, conda with")
    interpreter = chosen(home, layout, monkeypatch)
    assert interpreter.reasons == (
        f"taken: {home.path}/conda/envs/torch/bin/python ($CONDA_PREFIX) has torch",
        f"not taken: {home.path}/work/.venv/bin/python (.venv in {home.path}/work) has no torch",
        f"not taken: {sys.executable} (the Python that runs fx-lsp) has no torch",
    )
    assert interpreter.has_torch


def test_torch_that_is_installed_later_is_seen(home: Home) -> None:
    home.environment("work/.venv", torch=False)
    work = home.path / "work"
    assert not choose(work, work).has_torch
    home.torch("work/.venv/lib/python3.11/site-packages")
    assert choose(work, work).has_torch


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_above_the_workspace_a_folder_that_anybody_may_write_to_is_not_searched(home: Home) -> None:
    home.environment(".venv")
    work = home.path / "work"
    own = choose(work, work)
    assert own.command == (str(home.path / ".venv" / "bin" / "python"),)
    home.path.chmod(0o777)
    assert choose(work, work).command != own.command


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.pyright\n"),
        ("pyproject.toml", "tool = 1\n"),
        ("pyproject.toml", "[tool]\npyright = 3\nty = {environment = {python = 7}}\npyrefly = []\n"),
        ("pyproject.toml", "[tool.pyright]\nvenvPath = 1\nvenv = []\n"),
        ("pyrightconfig.json", "[1, 2"),
        ("pyrightconfig.json", "[1, 2]"),
        (".venv", "\0\0\n"),
        (".venv", ""),
        (".venv", ".venv"),
        (".pdm-python", "\0"),
        (".python-version", "../../../usr\n*\n\0\n"),
        ("Pipfile", "\udcff"),
        ("hatch.toml", "[envs]\ndefault = 3\n"),
        ("poetry.toml", "cache-dir = 3\n[virtualenvs]\npath = 3\n"),
        ("poetry.toml", '[virtualenvs]\npath = "a\\u0000b"\n'),
        ("poetry.toml", f"number = {'1' * 5000}\n"),
        ("poetry.toml", '[virtualenvs]\npath = "~nosuchuser/envs"\n'),
        ("ty.toml", '[environment]\npython = "~nosuchuser/env"\n'),
        ("pyrightconfig.json", '{"venvPath": "~nosuchuser/envs", "venv": "a"}'),
        (".venv", "a" * 300),
        (".pdm-python", "a" * 300),
        (".python-version", "3" * 300),
        (".venv/lib/python3.11/site-packages/a.pth", "a" * 300),
        (".venv/lib/python3.11/site-packages/a.pth", "~nosuchuser/a"),
    ],
)
def test_files_that_make_no_sense_say_nothing(home: Home, name: str, text: str) -> None:
    work = home.path / "work"
    file = home.write(f"work/{name}")
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    if name != "pyproject.toml":
        home.write("work/pyproject.toml")
    interpreter = choose(work, work)
    assert (interpreter.command, interpreter.has_torch) == ((sys.executable,), False)


def test_a_shortened_version_names_the_newest_release(home: Home) -> None:
    home.write("work/.python-version", "3\n")
    for version in ("3.9.18", "3.12.1", "3.13-dev"):
        home.python(f".pyenv/versions/{version}", torch=True)
    work = home.path / "work"
    assert choose(work, work).command == (f"{home.path}/.pyenv/versions/3.12.1/bin/python3",)


def test_the_packages_of_the_system_are_those_of_the_environments_own_version(home: Home) -> None:
    home.environment("work/.venv", torch=False)
    home.python("usr")
    configured = f"home = {home.path}/usr/bin\ninclude-system-site-packages = true\nversion = 3.12.1\n"
    home.write("work/.venv/pyvenv.cfg", configured)
    work = home.path / "work"
    home.torch("usr/lib/python3.11/site-packages")
    assert not choose(work, work).has_torch
    home.torch("usr/lib/python3.12/site-packages")
    assert choose(work, work).has_torch


def test_an_odd_file_does_not_hide_an_environment_of_another_tool(home: Home) -> None:
    home.write("work/ty.toml", '[environment]\npython = "~nosuchuser/env"\n')
    home.write("work/.python-version", "3" * 300)
    home.environment("work/venv", torch=False)
    home.write("work/venv/lib/python3.11/site-packages/a.pth", f"{'a' * 300}\n{home.path}/packages\n")
    home.write("packages/torch/__init__.py")
    assert choose(home.path / "work", home.path / "work").has_torch


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
@pytest.mark.parametrize(
    "name",
    [".venv", ".pdm-python", ".python-version", "poetry.toml", "pyrightconfig.json", "own/pyvenv.cfg", "own/lib/a.pth"],
)
def test_a_pipe_in_place_of_a_file_is_not_read(home: Home, name: str) -> None:
    work = home.path / "work"
    home.write("work/pyproject.toml")
    home.write("own/lib/python3.11/site-packages/keep")
    file = home.path / name.replace("lib", "lib/python3.11/site-packages") if "/" in name else work / name
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    assert choose(work, work).command == (sys.executable,)
