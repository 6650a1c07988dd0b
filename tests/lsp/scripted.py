"""Sessions in real editors, without a screen: each plays a script and writes what it has seen to a file, as JSON."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

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

SERVER = f"""\
import os, runpy, sys
sys.path.insert(0, {str(ROOT)!r})
sys.argv = ["fx-lsp"]
runpy.run_module("fx_lsp", run_name="__main__")
"""
"""That of this checkout, from whichever folder."""


async def play(folder: Path, text: str, *command: str, **environment: str) -> dict[str, Any]:
    """What an editor, started with ``command``, has seen of a file with this text."""
    file, seen = folder / "model.py", folder.parent / "seen.json"
    file.write_text(text, encoding="utf-8")
    told = {
        "FX_FILE": str(file),
        "FX_SERVER": json.dumps([sys.executable, "-c", SERVER]),
        "FX_OPTIONS": json.dumps({"interpreter": [sys.executable]}),
        "FX_SEEN": str(seen),
        "FX_ROOT": str(ROOT),
        "HOME": str(folder.parent),
        "XDG_STATE_HOME": str(folder.parent / "state"),
    }
    editor = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, **told, **environment}, stdin=asyncio.subprocess.DEVNULL
    )
    await asyncio.wait_for(editor.wait(), 2 * PATIENCE)
    found: dict[str, Any] = json.loads(seen.read_text(encoding="utf-8"))
    return found


def check(found: dict[str, Any], text: str) -> None:
    """Raise AssertionError unless the editor has shown `MODEL`, or a text like it, as it is, and applied the fix."""
    assert found.get("problem") is None
    ((message, marked),) = found["diagnostics"]
    assert "len" in message
    assert marked == "len(x)"
    assert "`Net` can be traced: 4 nodes." in found["hover"]
    assert found["fixed"].rstrip() == text.replace("len(x)", "x.size(0)").rstrip()
