"""``scripts/release.py`` refuses each thing that does not agree."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.release import PLACEHOLDER, problems, version_of
from tests.source_tree import ROOT

FILES = (
    "fx_lsp/__init__.py",
    "pyproject.toml",
    "CHANGELOG.md",
    "docs/check.md",
    "editors/mason/package.yaml",
    "vscode-client/package.json",
    "vscode-client/package-lock.json",
    "vscode-client/CHANGELOG.md",
)

VERSION = version_of(ROOT)


def change(file: Path, pattern: str, text: str) -> None:
    """Replace the one place that matches."""
    changed, times = re.subn(pattern, text, file.read_text(encoding="utf-8"), count=1, flags=re.MULTILINE)
    assert times == 1, f"{pattern} is not in {file}"
    file.write_text(changed, encoding="utf-8")


def git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout that is ready to be published."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace(PLACEHOLDER, "fx-lsp.example"), encoding="utf-8")
    change(tmp_path / "CHANGELOG.md", r"^## \[Unreleased\]$", f"## [Unreleased]\n\n## [{VERSION}] - 2026-11-30")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "A release")
    return tmp_path


def test_this_checkout_agrees() -> None:
    assert list(problems(ROOT)) == []
    done = subprocess.run([sys.executable, "scripts/release.py"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{VERSION} is consistent.\n")


def test_a_checkout_that_is_ready(root: Path) -> None:
    assert list(problems(root, f"v{VERSION}")) == []


@pytest.mark.parametrize(
    ("name", "pattern", "text", "named"),
    [
        ("vscode-client/package.json", '"version": ".*"', '"version": "9.9.9"', "package.json has version 9.9.9"),
        ("vscode-client/package-lock.json", '"version": ".*"', '"version": "9.9.9"', "lock.json has version 9.9.9"),
        ("editors/mason/package.yaml", r"fx-lsp@\S+", "fx-lsp@9.9.9", "package.yaml has version 9.9.9"),
        ("docs/check.md", r"rev: v\S+", "rev: v9.9.9", "check.md shows the hook of version 9.9.9"),
        ("vscode-client/package.json", '"homepage": ".*"', '"homepage": "https://a"', "has the address https://a"),
        ("editors/mason/package.yaml", "^homepage: .*", "homepage: https://a", "has the address https://a"),
        ("CHANGELOG.md", r"^## \[Unreleased\]$", "## [Unreleased]\n\n- more", "still has changes under"),
        ("CHANGELOG.md", r"2026-11-30", "soon", "no entry '## "),
        ("CHANGELOG.md", r"2026-11-30(?s:.*)", "2026-11-30\n", "names no change"),
        ("vscode-client/CHANGELOG.md", r"^## .*", "## next", "vscode-client/CHANGELOG.md has no entry"),
        ("pyproject.toml", "^keywords = ", f"# {PLACEHOLDER}\nkeywords = ", "pyproject.toml has the placeholder"),
        ("CHANGELOG.md", "^# Changelog$", "# Changes", "not committed"),
    ],
)
def test_what_does_not_agree(root: Path, name: str, pattern: str, text: str, named: str) -> None:
    change(root / name, pattern, text)
    if "not committed" not in named:
        git(root, "commit", "-qam", "A mistake")
    (problem,) = problems(root, f"v{VERSION}")
    assert named in problem


def test_another_tag_and_an_odd_version(root: Path) -> None:
    (problem,) = problems(root, "v9.9.9")
    assert problem == f"The tag is v9.9.9, but the version in fx_lsp/__init__.py is {VERSION}."
    change(root / "fx_lsp" / "__init__.py", '__version__ = ".*"', '__version__ = "1.2"')
    assert next(problems(root)) == "The version 1.2 in fx_lsp/__init__.py is not MAJOR.MINOR.PATCH."


@pytest.mark.parametrize(
    "command", ["pip install fx-lsp", "pip install -U 'fx-lsp[mcp]'", "pipx install fx-lsp", "uvx fx-lsp check ."]
)
def test_no_page_tells_to_install_what_is_not_published(root: Path, command: str) -> None:
    (root / "docs" / "start.md").write_text(f"Run `{command}`.\n", encoding="utf-8")
    assert list(problems(root)) == []
    change(root / "pyproject.toml", "^keywords = ", f"# {PLACEHOLDER}\nkeywords = ")
    (problem,) = problems(root)
    assert problem == "docs/start.md tells how to install fx-lsp from PyPI, where it is not published."


def test_how_to_install_from_a_checkout_may_be_told(root: Path) -> None:
    change(root / "pyproject.toml", "^keywords = ", f"# {PLACEHOLDER}\nkeywords = ")
    (root / "README.md").write_text("pip install . && uvx --from dist/*.whl fx-lsp check\n", encoding="utf-8")
    assert list(problems(root)) == []
