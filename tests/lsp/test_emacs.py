"""Scripted sessions in the editor Emacs with each of its two clients, where they are installed."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.scripted import MODEL, check, play

SCRIPT = Path(__file__).with_name("emacs.el")

pytestmark = pytest.mark.skipif(shutil.which("emacs") is None, reason="Emacs is not installed")


async def play_with(client: str, folder: Path, text: str) -> dict[str, Any]:
    """What Emacs has seen with one of its clients."""
    found = await play(folder, text, "emacs", "-q", "--no-site-file", "--batch", "-l", str(SCRIPT), FX_CLIENT=client)
    if "Cannot open load file" in found.get("problem", ""):
        pytest.skip(f"Emacs has no {client}")
    return found


async def test_eglot_shows_diagnostics_hover_and_applies_a_fix(folder: Path) -> None:
    check(await play_with("eglot", folder, MODEL), MODEL)


async def test_lsp_mode_shows_diagnostics_hover_lenses_and_applies_a_fix(folder: Path) -> None:
    text = MODEL.replace("😋", "")  # it takes a character for one unit, where this one is two of UTF-16
    found = await play_with("lsp-mode", folder, text)
    check(found, text)
    assert found["lenses"] == ["✓ traces · 4 nodes", "✗ 1 place"]
