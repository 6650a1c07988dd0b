import os
import sys
from pathlib import Path

import pytest

from fx_lsp.interpreters.environment_layout import python_of
from fx_lsp.interpreters.interpreter_choice import choose, expanded
from fx_lsp.interpreters.torch_presence import has_torch


def test_what_a_person_says_is_taken_in_this_order_without_checks(tmp_path: Path) -> None:
    said = choose(tmp_path, given=["given"], setting=["py"], selected=["sel"])
    assert (said.command, said.origin, said.has_torch) == (("given",), "--python", False)
    assert choose(tmp_path, setting=["py"], selected=["sel"]).command == ("py",)
    assert choose(tmp_path, selected=["sel", "-E"]).command == ("sel", "-E")
    assert choose(tmp_path, selected=[sys.executable]).has_torch


def test_the_python_of_these_tests_has_torch_and_one_without_packages_has_not() -> None:
    assert has_torch(Path(sys.executable))
    assert not has_torch(Path(os.__file__))


@pytest.mark.parametrize("name", ["bin/python", "bin/python3", "Scripts/python.exe", "python.exe"])
def test_the_interpreter_of_an_environment_of_any_system(tmp_path: Path, name: str) -> None:
    assert python_of(tmp_path) is None
    python = tmp_path / name
    python.parent.mkdir(exist_ok=True)
    python.touch(mode=0o755)
    assert python_of(tmp_path) == python


def test_torch_is_seen_where_windows_keeps_packages_and_in_pythonpath(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "env" / "Scripts" / "python.exe"
    python.parent.mkdir(parents=True)
    python.touch()
    (tmp_path / "env" / "pyvenv.cfg").write_text("home = C:\\Python311\nversion = 3.11.7\n")
    assert not has_torch(python)
    package = tmp_path / "env" / "Lib" / "site-packages" / "torch"
    package.mkdir(parents=True)
    assert not has_torch(python), "what is left of a torch that was removed is no torch"
    (package / "__init__.py").touch()
    assert has_torch(python)
    (package / "__init__.py").rename(package / "other.py")
    (tmp_path / "more" / "torch").mkdir(parents=True)
    (tmp_path / "more" / "torch" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'none'}{os.pathsep}{tmp_path / 'more'}")
    assert has_torch(python)


def test_a_description_alone_is_torch_only_if_it_says_that_torch_is_in_its_checkout(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    described = tmp_path / "lib" / "python3.11" / "site-packages" / "torch-2.13.0.dist-info"
    described.mkdir(parents=True)
    (described / "RECORD").touch()
    assert not has_torch(python)
    for editable in ('"editable": true', '"editable":true'):
        (described / "direct_url.json").write_text(f'{{"dir_info": {{{editable}}}, "url": "file:///pytorch"}}')
        assert has_torch(python)


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
