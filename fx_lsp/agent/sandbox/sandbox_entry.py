"""Runs the user's code in a scratch folder, where it is allowed only what tracing needs."""

from __future__ import annotations

import io
import os
import sys

from fx_lsp.agent.processes.children import Emit, Job
from fx_lsp.agent.processes.limits import limit_resources
from fx_lsp.agent.processes.scratch_folder import move_into, scratch_folder
from fx_lsp.agent.sandbox.audit_guard import GUARD
from fx_lsp.agent.sandbox.confinement import confine


def run_confined(job: Job, emit: Emit) -> None:
    """Run the only job of this process, in a scratch folder and with all restrictions."""
    scratch = scratch_folder(os.getpid())
    move_into(scratch)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(write_through=False)  # a million lines should not take a million system calls
    limit_resources()
    GUARD.close(str(scratch))
    confine(str(scratch))
    job(emit)
