#!/usr/bin/env python3
"""Refuses a release that is inconsistent: ``python3 scripts/release.py [TAG]`` prints what is wrong.

The version is ``fx_lsp.__version__``, and the project's address is in ``pyproject.toml``. Everything else that names
them has to agree; ``python vscode-client/scripts/manifest.py`` copies them. With ``TAG`` (e.g. ``v0.2.0``), the commit
has to be ready to be published under that tag. The exit status is 1 if something is wrong.
"""

from __future__ import annotations

import ast
import datetime
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

PLACEHOLDER = "example.invalid"
"""Stands for the project's address until there is one; see docs/releasing.md."""

FROM_PYPI = re.compile(r"\b(?:pip install|pipx install|uvx|uv tool install|uv add)\s+(?:-\S+\s+)*[\"']?fx-lsp\b")
"""A command that takes fx-lsp from PyPI."""

VERSION = re.compile(r"\d+\.\d+\.\d+")


def version_of(root: Path) -> str:
    """The version: ``fx_lsp.__version__``, read without importing it."""
    text = (root / "fx_lsp" / "__init__.py").read_text(encoding="utf-8")
    (found,) = (node.value for node in ast.parse(text).body if isinstance(node, ast.Assign))
    version = ast.literal_eval(found)
    assert isinstance(version, str)
    return version


def problems(root: Path, tag: str | None = None) -> Iterator[str]:
    """What is wrong with the checkout in ``root``, one sentence each; with ``tag``, also what keeps it unpublished."""
    version = version_of(root)
    if not VERSION.fullmatch(version):
        yield f"The version {version} in fx_lsp/__init__.py is not MAJOR.MINOR.PATCH."
    yield from _disagreeing(root, version)
    yield from _premature(root)
    if tag is not None:
        yield from _unready(root, version, tag)


def _disagreeing(root: Path, version: str) -> Iterator[str]:
    """What names another version, or another address."""
    copy = "run: python vscode-client/scripts/manifest.py"
    client = root / "vscode-client"
    manifest, lock = _json(client / "package.json"), _json(client / "package-lock.json")
    versions = {
        "vscode-client/package.json": manifest["version"],
        "vscode-client/package-lock.json": lock["version"],
        "editors/mason/package.yaml": _found(r"pkg:pypi/fx-lsp@(\S+)", root / "editors" / "mason" / "package.yaml"),
    }
    for name, named in versions.items():
        if named != version:
            yield f"{name} has version {named}, but fx_lsp/__init__.py has {version}; {copy}."
    if (named := _found(r"rev: v(\S+)", root / "docs" / "check.md")) != version:
        yield f"docs/check.md shows the hook of version {named}, but fx_lsp/__init__.py has {version}."
    home = _found(r'^Homepage = "(.*)"', root / "pyproject.toml")
    addresses = {
        "vscode-client/package.json": manifest.get("homepage"),
        "editors/mason/package.yaml": _found(r"^homepage: (\S+)", root / "editors" / "mason" / "package.yaml"),
    }
    for name, named in addresses.items():
        if named != home:
            yield f"{name} has the address {named}, but pyproject.toml has {home}; {copy}."


def _premature(root: Path) -> Iterator[str]:
    """Pages that tell how to install fx-lsp from PyPI, before it is there."""
    if PLACEHOLDER not in _text(root / "pyproject.toml"):
        return
    for page in (*root.glob("*.md"), *root.glob("docs/**/*.md"), root / "vscode-client" / "README.md"):
        if page.exists() and FROM_PYPI.search(_text(page)):
            yield f"{page.relative_to(root)} tells how to install fx-lsp from PyPI, where it is not published."


def _unready(root: Path, version: str, tag: str) -> Iterator[str]:
    """What keeps this commit from being published under ``tag``."""
    if tag != f"v{version}":
        yield f"The tag is {tag}, but the version in fx_lsp/__init__.py is {version}."
    yield from _undated(root / "CHANGELOG.md", version)
    if not re.search(rf"^## {re.escape(version)}$", _text(root / "vscode-client" / "CHANGELOG.md"), re.MULTILINE):
        yield f"vscode-client/CHANGELOG.md has no entry '## {version}'."
    for name in ("pyproject.toml", "vscode-client/package.json", "editors/mason/package.yaml"):
        if PLACEHOLDER in _text(root / name):
            yield f"{name} has the placeholder {PLACEHOLDER} for the project's address; see docs/releasing.md."
    status = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True)
    if status.stdout.strip():
        yield "There are changes that are not committed."


def _undated(changelog: Path, version: str) -> Iterator[str]:
    """What is wrong with the changelog of a release."""
    text = _text(changelog)
    entries = dict(re.findall(r"^## \[([^\]]+)\](.*?)(?=^## \[|\Z)", text, re.MULTILINE | re.DOTALL))
    if entries.get("Unreleased", "").strip():
        yield f"CHANGELOG.md still has changes under [Unreleased]; move them to [{version}]."
    heading, _, changes = entries.get(version, "").partition("\n")
    try:
        datetime.date.fromisoformat(heading.strip(" -"))
    except ValueError:
        yield f"CHANGELOG.md has no entry '## [{version}] - YYYY-MM-DD'."
        return
    if not changes.strip():
        yield f"CHANGELOG.md names no change in [{version}]."


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _json(file: Path) -> Any:
    return json.loads(_text(file))


def _found(pattern: str, file: Path) -> str:
    """What the first group of ``pattern`` matches in a file; empty if nothing does."""
    match = re.search(pattern, _text(file), re.MULTILINE)
    return match[1] if match else ""


def main(*tags: str) -> int:
    """Print what is wrong, and return the exit status."""
    wrong = list(problems(ROOT, *tags))
    for sentence in wrong:
        print(f"release: {sentence}", file=sys.stderr)
    if not wrong:
        print(f"{version_of(ROOT)} is consistent." if not tags else f"{tags[0]} can be published.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
