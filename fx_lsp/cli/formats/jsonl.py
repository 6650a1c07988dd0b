"""One problem per line, each an object as in the ``json`` format."""

from __future__ import annotations

import json

from fx_lsp.check.check_files import Checked
from fx_lsp.cli.formats.json import objects


def render(checked: Checked) -> str:
    """One line for each problem."""
    return "\n".join(map(json.dumps, objects(checked)))
