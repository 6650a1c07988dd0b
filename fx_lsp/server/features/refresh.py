"""Asks the client to request lenses, hints and diagnostics again after they have changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lsprotocol import types

TOGETHER_SECONDS = 0.05
"""Changes within this time cause a single refresh."""

REFRESHES = {
    types.WORKSPACE_CODE_LENS_REFRESH: "workspace.code_lens.refresh_support",
    types.WORKSPACE_INLAY_HINT_REFRESH: "workspace.inlay_hint.refresh_support",
    types.WORKSPACE_DIAGNOSTIC_REFRESH: "workspace.diagnostics.refresh_support",
}
"""Method -> the client capability that it requires."""


class Refresher:
    """Sends the refresh requests that a client supports. Must be used from one event loop."""

    def __init__(self, methods: list[str], ask: Callable[[str], object]) -> None:
        self._methods = methods
        self._ask = ask
        self._timer: asyncio.TimerHandle | None = None

    def refresh(self) -> None:
        """Make the client refresh soon, because something that it shows may have changed."""
        if self._timer is None and self._methods:
            self._timer = asyncio.get_running_loop().call_later(TOGETHER_SECONDS, self._send)

    def close(self) -> None:
        """Send no more requests."""
        self._methods = []
        if self._timer:
            self._timer.cancel()

    def _send(self) -> None:
        self._timer = None
        for method in self._methods:
            self._ask(method)
