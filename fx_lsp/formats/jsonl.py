"""One problem a line, each an object as in the format ``json``."""

from __future__ import annotations

import json

from fx_lsp.check import Checked
from fx_lsp.formats.objects import objects


def render(checked: Checked) -> str:
    """See the module."""
    return "\n".join(map(json.dumps, objects(checked)))
