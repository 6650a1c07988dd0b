"""One array of problems; lines and UTF-16 characters count from 0, as in the Language Server Protocol."""

from __future__ import annotations

import json

from fx_lsp.check import Checked
from fx_lsp.formats.objects import objects


def render(checked: Checked) -> str:
    """See the module."""
    return json.dumps(list(objects(checked)), indent=2)
