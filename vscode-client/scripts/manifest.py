"""Brings what repeats the version or the project's address up to date: ``python scripts/manifest.py``.

The version is ``fx_lsp.__version__``, and the addresses are those of ``pyproject.toml``. package.json,
package-lock.json and the package file for mason repeat them; the first group of settings in package.json is that of
``fx_lsp.settings.settings``. The rest of these files is written by hand.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

MANIFEST = Path(__file__).resolve().parents[1] / "package.json"
LOCK = MANIFEST.with_name("package-lock.json")
PROJECT = MANIFEST.parents[1] / "pyproject.toml"
MASON = MANIFEST.parents[1] / "editors" / "mason" / "package.yaml"
sys.path.insert(0, str(MANIFEST.parents[1]))

from fx_lsp import __version__  # noqa: E402  (found beside this directory, installed or not)
from fx_lsp.settings.settings import vscode_properties  # noqa: E402


def address(name: str) -> str:
    """One of the addresses under [project.urls], read as text, since Python 3.10 has no TOML reader."""
    match = re.search(rf'^{name} = "(.*)"$', PROJECT.read_text("utf-8"), re.MULTILINE)
    assert match, name
    return match[1]


def up_to_date(manifest: str) -> str:
    """The text of package.json with the server's version and settings, and the project's address, in their places."""
    content = json.loads(manifest)
    content["version"] = __version__
    content["homepage"] = address("Homepage")
    content["repository"] = {"type": "git", "url": address("Homepage")}
    content["bugs"] = {"url": address("Issues")}
    content["contributes"]["configuration"][0]["properties"] = vscode_properties()
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def with_version(lock: str) -> str:
    """The text of package-lock.json with the server's version."""
    content = json.loads(lock)
    content["version"] = content["packages"][""]["version"] = __version__
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def for_mason(package: str) -> str:
    """The text of mason's package file with the server's version and the project's address."""
    package = re.sub(r"(?<=^homepage: )\S+", address("Homepage"), package, flags=re.MULTILINE)
    return re.sub(r"(?<=pkg:pypi/fx-lsp@)\S+", __version__, package)


if __name__ == "__main__":
    MANIFEST.write_text(up_to_date(MANIFEST.read_text("utf-8")), "utf-8")
    LOCK.write_text(with_version(LOCK.read_text("utf-8")), "utf-8")
    MASON.write_text(for_mason(MASON.read_text("utf-8")), "utf-8")
