"""A client's session without a client."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.progress import Progress

from fx_lsp.server.language_server import FxLanguageServer
from fx_lsp.server.session import ClientSession


def session_of(
    capabilities: types.ClientCapabilities,
    options: Mapping[str, Any],
    folders: Sequence[Path] = (),
    publish: Callable[[types.PublishDiagnosticsParams], None] = lambda params: None,
) -> ClientSession:
    """The session of a client with these capabilities, options and workspace folders. It hears what is published."""
    return ClientSession(
        types.InitializeParams(
            capabilities,
            initialization_options=dict(options),
            workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders],
        ),
        "utf-16",
        publish=publish,
        notify=lambda method, params: None,
        ask=lambda method: None,
        log_to_client=lambda message: None,
        progress=Progress(FxLanguageServer("test", "0").protocol),
    )
