"""Where the user's code runs: in a scratch folder, allowed nothing but what it takes to trace."""

from __future__ import annotations

import io
import os
import sys

from .children import Emit, Job
from .confinement import confine
from .guard import GUARD
from .limits import limit_resources
from .scratch import move_into, scratch_folder


def shut_in(job: Job, emit: Emit) -> None:
    """Do the job, for whose sake alone this process is there, enclosed."""
    scratch = scratch_folder(os.getpid())
    move_into(scratch)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(write_through=False)  # a million lines are not a million calls of the system
    limit_resources()
    GUARD.close(str(scratch))
    confine(str(scratch))
    job(emit)
