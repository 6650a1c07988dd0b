"""Runs the server on a connection (stdin and stdout, or a socket) until the client is gone."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from typing import Any

from pygls.io_ import StdinAsyncReader, StdoutWriter, run_async

from fx_lsp.server.handlers import server

log = logging.getLogger(__name__)


def serve(tcp: tuple[str, int] | None) -> None:
    """Serve one client on stdin and stdout, or the first client that connects to host and port ``tcp``; then return.

    Raises SystemExit on the protocol's ``exit``: with status 0 after ``shutdown``, otherwise 1.
    """
    # At INFO, pygls logs every message; only its warnings matter here.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("fx_lsp").setLevel(logging.INFO)
    asyncio.run(_serve_tcp(*tcp) if tcp else _serve_stdio())


async def _serve_stdio() -> None:
    await _serve(StdinAsyncReader(sys.stdin.buffer, server.thread_pool), StdoutWriter(sys.stdout.buffer))


async def _serve_tcp(host: str, port: int) -> None:
    connected: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
    connected = asyncio.get_running_loop().create_future()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if connected.done():
            writer.close()
        else:
            connected.set_result((reader, writer))

    async with await asyncio.start_server(accept, host, port) as listening:
        log.info("listening on %s:%s", *listening.sockets[0].getsockname()[:2])
        await _serve(*await connected)


async def _serve(reader: Any, writer: Any) -> None:
    """Handle messages until the client sends ``exit`` or disconnects; then end all tracing processes."""
    server.protocol.set_writer(writer)
    try:
        await run_async(
            stop_event=threading.Event(),
            reader=reader,
            protocol=server.protocol,
            logger=log,
            error_handler=server.report_server_error,
        )
    finally:
        if hasattr(server, "session"):
            await server.session.close()
        server.shutdown()  # type: ignore[no-untyped-call]
