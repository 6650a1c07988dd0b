"""Gets the client's settings: from its answer to a request, its notification, or its initialization options."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from lsprotocol import types

from fx_lsp.server.language_server import FxLanguageServer
from fx_lsp.settings.settings import SECTION, Settings, camel_case

log = logging.getLogger(__name__)

CONFIGURATION_SECONDS = 5.0
"""How long the client may take to send its settings; after that, the server goes on with those that it knows."""

_NAMES = frozenset(camel_case(field.name) for field in dataclasses.fields(Settings))


async def configure(ls: FxLanguageServer, pushed: Any = None) -> None:
    """Apply the client's settings; ``pushed`` are those that a notification contains.

    If the client is asked and is slow to answer, this returns before the answer has come, which is applied then.
    """
    if not ls.session.can("workspace.configuration"):
        said = _own_section(pushed)
        if said is not None or not ls.session.configured:
            _apply(ls, (), [{**ls.session.options, **said} if isinstance(said, Mapping) else said])
        return
    asked = ls.session.asked_settings = asyncio.create_task(_ask(ls))
    await asyncio.wait([asked], timeout=CONFIGURATION_SECONDS)
    if asked.done():
        asked.result()
        return
    log.warning("the client has not sent its settings for %g seconds", CONFIGURATION_SECONDS)
    if not ls.session.configured:
        _apply(ls, (), [None])


async def _ask(ls: FxLanguageServer) -> None:
    """Ask the client for its settings, and apply its answer unless it was asked again meanwhile."""
    folders = ls.session.engine.workspace.folders
    items = [types.ConfigurationItem(scope, SECTION) for scope in (None, *map(ls.session.places.uri, folders))]
    values: list[Any] = []
    try:
        values = list(await ls.workspace_configuration_async(types.ConfigurationParams(items)))
    except Exception as error:
        log.warning("the client did not send its settings: %r", error)
    if ls.session.asked_settings is asyncio.current_task() and (values or not ls.session.configured):
        _apply(ls, folders, [*values, *[None] * len(items)][: len(items)])


def _own_section(pushed: Any) -> Any:
    """What a notification says of the server's own settings; None if it says nothing of them."""
    if not isinstance(pushed, Mapping):
        return None
    return pushed.get(SECTION, None if _NAMES.isdisjoint(pushed) else pushed)


def _apply(ls: FxLanguageServer, folders: Sequence[str], values: Sequence[Any]) -> None:
    """Apply settings for the window and for each of ``folders``; None means that the client has said nothing."""
    of_window, *of_folders = map(Settings.read, [ls.session.options if values[0] is None else values[0], *values[1:]])
    for problem in dict.fromkeys(problem for _, problems in (of_window, *of_folders) for problem in problems):
        ls.window_show_message(types.ShowMessageParams(types.MessageType.Warning, problem))
    said = zip(folders, of_folders, values[1:], strict=False)
    ls.session.configure(of_window[0], {folder: settings for folder, (settings, _), value in said if value is not None})
