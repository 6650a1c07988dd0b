"""A scripted session in the editor Neovim (0.7 or later), where it is installed."""

import shutil
from pathlib import Path

import pytest

from tests.lsp.scripted import MODEL, check, play

SCRIPT = Path(__file__).with_name("neovim.lua")


@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
async def test_neovim_shows_diagnostics_hover_lenses_and_applies_a_fix(folder: Path) -> None:
    found = await play(folder, MODEL, "nvim", "--headless", "--clean", "-S", str(SCRIPT))
    check(found, MODEL)
    assert found["lenses"] == ["✓ traces · 4 nodes", "✗ 1 place"]
