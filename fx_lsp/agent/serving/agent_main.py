"""Starts the agent: claims its channel to the server, says hello, and serves."""

from __future__ import annotations

import gc
import os
import platform
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fx_lsp.agent.messages import Urgency


def claim_channel() -> tuple[int, int]:
    """Reserve standard input and output for messages, and put /dev/null and standard error in their place.

    Afterwards, nothing that is printed, from whatever language, can garble the messages. Only the agent knows the two
    descriptors returned (to read from, to write to), and they are closed in the programs that the agent executes.
    """
    read, write = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return read, write


def main(fxcore_folder: str, scratch: str, urgency: Urgency, last_words: str | None = None) -> None:
    """Answer the server at the other end of standard input and output until it hangs up.

    ``scratch`` is a folder that the server will remove. ``urgency`` says whether other processes come first. If
    ``last_words``, a path, is given, this process is a worker that an agent has started for one job (see
    ``worker.py``).
    """
    read, write = claim_channel()
    # Only now may anything be loaded that could print.
    from fx_lsp.agent.messages import PROTOCOL, Hello
    from fx_lsp.agent.processes.framing import write_all
    from fx_lsp.agent.processes.priority import give_way
    from fx_lsp.agent.processes.rare_collections import rare_collections
    from fx_lsp.agent.processes.scratch_folder import keep_caches_in
    from fx_lsp.agent.serving.warmup import load_torch
    from fx_lsp.agent.wire import encode

    if urgency == "background":
        give_way()
    keep_caches_in(scratch)
    with rare_collections():
        torch_version, problem = load_torch(fxcore_folder)
    if last_words is not None:
        from fx_lsp.agent.serving.worker import run_worker

        run_worker(read, write, last_words)
    hello = Hello(PROTOCOL, platform.python_version(), sys.executable, torch_version, problem)
    write_all(write, encode(hello))
    if problem is None:
        serve(read, write)


def serve(read: int, write: int) -> None:
    """Answer requests, in forked children if the system can fork."""
    from fx_lsp.agent.processes.rare_collections import rare_collections
    from fx_lsp.agent.running.compiler_delay import spare_compiler
    from fx_lsp.agent.sandbox.confinement import can_fork
    from fx_lsp.agent.serving.service import Service

    with rare_collections():
        service: Service[Any]
        if can_fork():
            from fx_lsp.agent.serving.fork_service import ForkService

            service = ForkService(read, write)
        else:
            from fx_lsp.agent.serving.spawn_service import SpawnService

            service = SpawnService(read, write)
    spare_compiler()  # what the service imports has defined functions that would load it
    gc.freeze()  # the children's garbage collection would copy what it only looks through
    service.serve()
