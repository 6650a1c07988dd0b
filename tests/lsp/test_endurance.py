"""A while of random edits; ``python -m tests.lsp.endurance`` goes on for longer."""

import shutil
from pathlib import Path

from tests.lsp.editor import ROOT
from tests.lsp.endurance import FILES, endure


async def test_after_many_edits_the_server_says_what_a_fresh_one_says(folder: Path) -> None:
    shutil.copytree(ROOT / "examples" / "models", folder, dirs_exist_ok=True)
    uses = await endure(folder, FILES, edits=150, seed=2, compare_every=75)
    # A trace that runs has a few open; one left open by each of them would be many.
    for files in ([use.files for use in uses.server], [use.files for use in uses.agent]):
        assert max(files) - min(files) < 15
