"""``python -m fx_lsp`` is ``fx-lsp``."""

import sys

from fx_lsp.cli.main import main

sys.exit(main())
