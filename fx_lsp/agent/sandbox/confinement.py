"""The operating system's own protections against malicious code, and which of them this system has.

A child gives up its rights before the user's code runs, for itself and for every process that it starts, and can't get
them back. Where the system lacks a protection, only the audit hook in Python (``audit_guard.py``) is left.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fx_lsp.agent.sandbox import landlock, seccomp

WITHOUT = "FX_LSP_WITHOUT"
"""The environment variable that lists what not to use, separated by commas: ``landlock``, ``seccomp``, ``fork``."""

READING = 1 << 2
"""``CAP_DAC_READ_SEARCH``: a superuser may continue to read every file."""

CAPABILITIES_VERSION = 0x20080522
"""``_LINUX_CAPABILITY_VERSION_3`` of <linux/capability.h>."""


@dataclass(frozen=True)
class Mechanisms:
    """The means of confinement that the system offers."""

    landlock: int
    """The version of Landlock; 0 if there is none."""
    machine: seccomp.Machine | None
    """The system calls to filter; None if they can't be filtered."""


@functools.cache
def mechanisms() -> Mechanisms:
    """The mechanisms of this system, except for those that the environment variable excludes."""
    return Mechanisms(
        landlock.version() if sys.platform == "linux" and _is_wanted("landlock") else 0,
        seccomp.machine() if _is_wanted("seccomp") else None,
    )


def can_fork() -> bool:
    """Whether the system can fork processes and the environment variable does not exclude that."""
    return hasattr(os, "fork") and _is_wanted("fork")


def _is_wanted(name: str) -> bool:
    return name not in os.environ.get(WITHOUT, "").split(",")


def missing_protections() -> Iterator[str]:
    """A sentence for each protection that is not available, and one if processes can't be forked."""
    if not can_fork():
        yield "This system cannot fork processes, so fx-lsp starts one for each trace (slower) and does not try fixes."
    known = mechanisms().landlock
    if not known:
        yield "Landlock is not available, so only Python's audit hook protects files outside the scratch folder."
    elif known < landlock.SCOPE_VERSION:
        yield f"Landlock has version {known}, so only Python's audit hook keeps traces from signaling other processes."
    if mechanisms().machine is None:
        yield "seccomp is not available, so only Python's audit hook keeps traces off the network."


def confine(scratch: str) -> None:
    """Give up all rights that importing, building and tracing don't need, except for forking."""
    if mechanisms() == Mechanisms(0, None):
        return
    _try(seccomp.give_up_new_privileges)
    _try(_drop_capabilities)
    if mechanisms().landlock:
        _try(lambda: landlock.give_up(scratch))
    if this := mechanisms().machine:
        _try(lambda: seccomp.refuse(this))


def confine_alone() -> None:
    """Also give up the rights to fork, and to signal the process that forked this one."""
    if mechanisms().landlock:
        _try(landlock.give_up_signals)
    if this := mechanisms().machine:
        _try(lambda: seccomp.refuse_processes(this))


def _try(step: Callable[[], object]) -> None:
    try:
        step()
    except OSError as error:
        sys.stderr.write(f"A protection of the sandbox could not be enabled, so this trace runs without it: {error}\n")


def _drop_capabilities() -> None:
    """Give up the superuser's capabilities, except for reading, in case a superuser runs the agent. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = struct.pack("=Ii", CAPABILITIES_VERSION, 0)
    held = ctypes.create_string_buffer(24)
    libc.capget(header, held)
    effective, permitted, *_ = struct.unpack("=6I", held.raw)
    if libc.capset(header, struct.pack("=6I", effective & READING, permitted & READING, 0, 0, 0, 0)) != 0:
        raise OSError(ctypes.get_errno(), "capabilities could not be dropped")
