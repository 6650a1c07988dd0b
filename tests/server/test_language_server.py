"""What the server keeps of the messages that it has dealt with."""

import gc
from concurrent.futures import Future

from lsprotocol import types

from fx_lsp.server.language_server import FxLanguageServer, FxProtocol


def futures() -> int:
    """How many there are."""
    gc.collect()
    return sum(isinstance(item, Future) for item in gc.get_objects())


def test_nothing_is_kept_of_a_handled_edit() -> None:
    server = FxLanguageServer("test", "0", protocol_cls=FxProtocol)
    versions = []

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        versions.append(params.text_document.version)

    before = futures()
    for version in (1, 2, 3):
        edit = {"textDocument": {"uri": "file:///f.py", "version": version}, "contentChanges": [{"text": "x"}]}
        message = {"jsonrpc": "2.0", "method": types.TEXT_DOCUMENT_DID_CHANGE, "params": edit}
        server.protocol.handle_message(server.protocol.structure_message(message))
    assert versions == [1, 2, 3]
    assert futures() == before
