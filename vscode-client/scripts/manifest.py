"""Brings package.json and package-lock.json up to date with the server: ``python scripts/manifest.py``.

Their version is ``fx_lsp.__version__``; the first group of settings is that of ``fx_lsp.settings.settings``. The rest
of package.json is written by hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

MANIFEST = Path(__file__).resolve().parents[1] / "package.json"
LOCK = MANIFEST.with_name("package-lock.json")
sys.path.insert(0, str(MANIFEST.parents[1]))

from fx_lsp import __version__  # noqa: E402  (found beside this directory, installed or not)
from fx_lsp.settings.settings import vscode_properties  # noqa: E402


def up_to_date(manifest: str) -> str:
    """The text of package.json with the server's version and settings in their places."""
    content = json.loads(manifest)
    content["version"] = __version__
    content["contributes"]["configuration"][0]["properties"] = vscode_properties()
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def with_version(lock: str) -> str:
    """The text of package-lock.json with the server's version."""
    content = json.loads(lock)
    content["version"] = content["packages"][""]["version"] = __version__
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    MANIFEST.write_text(up_to_date(MANIFEST.read_text("utf-8")), "utf-8")
    LOCK.write_text(with_version(LOCK.read_text("utf-8")), "utf-8")
