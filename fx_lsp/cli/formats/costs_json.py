"""One array with an object for each target that can be traced: what it, its submodules and its nodes cost.

Numbers of FLOPs and bytes are exact, and ``null`` if they are not known.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from fx_lsp.analysis.costs.cost_texts import is_lower_bound
from fx_lsp.check.check_files import Checked
from fx_lsp.check.shown_places import ends, shown_path


def render(checked: Checked) -> str:
    """All targets as one JSON array."""
    return json.dumps(list(_objects(checked)), indent=2)


def _objects(checked: Checked) -> Iterator[dict[str, Any]]:
    for path, by_key in checked.costs.items():
        for key, traced in checked.results[path].traced.items():
            if key not in by_key:
                continue
            costs = by_key[key]
            yield {
                "path": shown_path(path),
                "qualname": traced.target.symbol or traced.target.title,
                "target": traced.target.title,
                "line": ends(traced.place, checked.documents)[0][0],
                "input": costs.input,
                "reason": costs.reason,
                "at_least": is_lower_bound(costs),
                "modules": list(map(dataclasses.asdict, costs.modules)),
                "nodes": list(map(dataclasses.asdict, costs.nodes)),
                "uncounted": list(map(dataclasses.asdict, costs.uncounted)),
                "unknown": list(costs.unknown),
            }
