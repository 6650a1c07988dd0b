"""A scripted session in the editor Neovim (0.7 or later), where it is installed."""

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.lsp.editor import PATIENCE, ROOT

MODEL = """\
import torch.fx


class Net(torch.nn.Module):
    def forward(self, x):
        s = "é😋"; y = x.abs()
        return y + 1


def broken(x):
    s = "é😋"; return x / len(x)


torch.fx.symbolic_trace(broken)
"""

pytestmark = pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")


async def test_neovim_shows_diagnostics_hover_lenses_and_applies_a_fix(folder: Path) -> None:
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    seen = folder.parent / "seen.json"
    server = f"import os, runpy, sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv = ['fx-lsp']; "
    command = [sys.executable, "-c", server + "runpy.run_module('fx_lsp', run_name='__main__')"]
    environment = {
        "FX_FILE": str(folder / "model.py"),
        "FX_SERVER": json.dumps(command),
        "FX_OPTIONS": json.dumps({"interpreter": [sys.executable]}),
        "FX_SEEN": str(seen),
        "XDG_STATE_HOME": str(folder.parent / "state"),
    }
    editor = await asyncio.create_subprocess_exec(
        *("nvim", "--headless", "--clean", "-S", str(Path(__file__).with_name("neovim.lua"))),
        env={**os.environ, **environment},
        stdin=asyncio.subprocess.DEVNULL,
    )
    await asyncio.wait_for(editor.wait(), 2 * PATIENCE)
    found = json.loads(seen.read_text(encoding="utf-8"))
    assert found.get("problem") is None
    assert found["diagnostics"] == [["len", "len(x)"]]
    assert "`Net` can be traced: 4 nodes." in found["hover"]
    assert found["lenses"] == ["✓ traces · 4 nodes", "✗ 1 place"]
    assert found["fixed"].startswith(MODEL.partition("return x / len(x)")[0])
    assert "return x / len(x)" not in found["fixed"]
