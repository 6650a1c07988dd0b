"""pygls's server and protocol, except that the session stores the documents and that errors go to the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from fx_lsp.server.session import ClientSession

log = logging.getLogger(__name__)


class FxProtocol(LanguageServerProtocol):
    """pygls's protocol, except that the session stores the texts of documents, and that handled messages are forgotten.

    pygls splits lines at form feeds and other characters that don't end a line for clients. After such a character,
    pygls would apply edits at the wrong place, and even change the range of an edit before a handler sees it.
    """

    def _execute_handler(
        self,
        msg_id: str | int,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Forget a message once it is handled: pygls would keep the future of every edit until the server ends."""

        def done(future: Future[Any]) -> None:
            self._request_futures.pop(msg_id, None)
            callback(future)

        super()._execute_handler(msg_id, handler, done, args, kwargs)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        """Leave the edit to the handler."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(
        self, params: types.DidChangeNotebookDocumentParams
    ) -> Generator[Any, Any, None]:
        """Leave the edit to the handler."""
        yield self.fm.features[types.NOTEBOOK_DOCUMENT_DID_CHANGE], (params,), None


class FxLanguageServer(LanguageServer):
    """A pygls server with a session."""

    session: ClientSession
    """Set by the handler of ``initialize``, which is the first request."""

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log an error. By default, pygls shows a message box for every handler that fails."""
        log.error("%s: %s", getattr(source, "__name__", source), error, exc_info=error)
