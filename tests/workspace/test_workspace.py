from pathlib import Path

import pytest

from fx_lsp.settings.settings import Settings
from fx_lsp.workspace.workspace import Workspace


def test_the_innermost_folder_holds_a_file() -> None:
    workspace = Workspace(["/work", "/work/inner/", "/other"])
    assert workspace.folders == ("/work", "/work/inner", "/other")
    assert workspace.folder_of("/work/inner/a.py") == "/work/inner"
    assert workspace.folder_of("/work/innermost/a.py") == "/work"
    assert workspace.folder_of("/else/where/a.py") == "/else/where"
    assert workspace.roots_of("/work/a.py") == ("/work", "/work/inner", "/other")
    assert workspace.roots_of("/else/where/a.py") == ("/work", "/work/inner", "/other", "/else/where")


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta/history"])
def test_packages_installed_in_the_workspace_are_not_the_users_own(tmp_path: Path, mark: str) -> None:
    environment = tmp_path / "any name"
    (environment / mark).parent.mkdir(parents=True, exist_ok=True)
    (environment / mark).touch()
    workspace = Workspace([str(tmp_path)])
    assert not workspace.owns(str(environment / "lib" / "a.py"))
    assert not workspace.owns(str(tmp_path / "lib" / "site-packages" / "a.py"))
    assert not workspace.owns("/elsewhere/a.py")
    assert workspace.owns(str(tmp_path / "lib" / "a.py"))


def test_a_package_that_is_the_open_folder_is_the_users_own() -> None:
    workspace = Workspace(["/usr/lib/python3/site-packages/mine"])
    assert workspace.owns("/usr/lib/python3/site-packages/mine/a.py")
    assert workspace.traces("/usr/lib/python3/site-packages/mine/a.py")
    assert not workspace.traces("/usr/lib/python3/site-packages/other/a.py")


@pytest.mark.parametrize(
    ("pattern", "path", "excluded"),
    [
        ("scripts", "scripts/a.py", True),
        ("scripts/**", "scripts/deep/er/a.py", True),
        ("scripts/*.py", "scripts/a.py", True),
        ("scripts/*.py", "scripts/deep/a.py", False),
        ("**/test_*.py", "test_a.py", True),
        ("**/test_*.py", "a/b/test_a.py", True),
        ("**/test_*.py", "a/b/a_test.py", False),
        ("a?.py", "ab.py", True),
        ("./a.py", "a.py", True),
        ("b.py", "a/b.py", False),
        ("", "a.py", False),
    ],
)
def test_patterns_exclude_files(pattern: str, path: str, excluded: bool) -> None:
    settings = Settings(exclude=(pattern,)).anchored("/work é [1]")
    assert settings.includes(f"/work é [1]/{path}") is not excluded


def test_only_what_is_included_is_traced_and_what_is_excluded_is_not() -> None:
    settings = Settings(include=("models",), exclude=("models/old.py",)).anchored("/work")
    assert [settings.includes(f"/work/{name}") for name in ("models/net.py", "models/old.py", "net.py")] == [
        True,
        False,
        False,
    ]
