"""Makes ``python -m fx_lsp`` run the command ``fx-lsp``."""

import sys

from fx_lsp.cli.main import main

sys.exit(main())
