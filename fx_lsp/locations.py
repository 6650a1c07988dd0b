"""The locations of the installed parts. All code takes these paths from here, so that files can be moved."""

from __future__ import annotations

from pathlib import Path

SERVER_FOLDER = Path(__file__).parent
"""The package ``fx_lsp``. A digest of its sources is part of the keys of the results that the server itself caches."""

AGENT_FOLDER = SERVER_FOLDER / "agent"
"""The code that runs in the user's Python."""

FXCORE_FOLDER = SERVER_FOLDER.parent / "fxcore"

RULE_PAGES = (SERVER_FOLDER / "pages", SERVER_FOLDER.parent / "docs" / "rules")
"""The folders that may hold the pages about rules: the first in an installed package, the second in a checkout."""
