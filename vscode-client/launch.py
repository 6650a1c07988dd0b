"""Runs the language server from the packages that are bundled beside this file, whatever Python this is."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "bundled"))

from fx_lsp.cli.main import main  # what the line above makes importable

sys.exit(main())
