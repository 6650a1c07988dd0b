"""Landlock (Linux 5.13 and later): a process permanently gives up rights, for itself and for all that it starts.

The system calls are reached through `ctypes`; their interface is described in ``<linux/landlock.h>``.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Numbers of the system calls, which are the same on every architecture."""

EXECUTE, WRITE_FILE = 1 << 0, 1 << 1
READ_FILE, READ_DIR = 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15

FILE_RIGHTS = ((1, (1 << 13) - 1), (2, 1 << 13), (3, TRUNCATE), (5, IOCTL_DEV))
"""The rights to files, by the version that introduced them."""

NETWORK_VERSION, TCP = 4, 0b11
"""The version that introduced rights to the network, and the rights to bind and to connect."""

SCOPE_VERSION, ABSTRACT_SOCKETS, SIGNALS = 6, 0b01, 0b10
"""The version that introduced scopes, and what they can confine to processes with the same restrictions."""

BENEATH_PATH = 1


def version() -> int:
    """The version of Landlock that the system has; 0 if there is none."""
    try:
        found: int = _syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0
    return found


def give_up(scratch: str) -> None:
    """Give up the right to change files outside ``scratch``, and rights that concern other programs.

    The latter are the rights to execute programs, use TCP, and send signals to processes outside the sandbox. TCP and
    signals are restricted only if this version of Landlock supports that. The restrictions apply to the calling thread
    and to what it starts afterwards. Raises OSError if the system refuses.
    """
    known = version()
    rights = sum(rights for since, rights in FILE_RIGHTS if since <= known) & ~(READ_FILE | READ_DIR)
    network = TCP if known >= NETWORK_VERSION else 0
    scope = ABSTRACT_SOCKETS | SIGNALS if known >= SCOPE_VERSION else 0
    inside = rights & ~(EXECUTE | MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)
    _enter(rights, network, scope, {scratch: inside, os.devnull: inside & (WRITE_FILE | TRUNCATE)})


def give_up_signals() -> None:
    """Give up the right to signal the processes that started this one, if Landlock supports that. Raises OSError."""
    if version() >= SCOPE_VERSION:
        _enter(0, 0, SIGNALS, {})


def _enter(rights: int, network: int, scope: int, allowed: dict[str, int]) -> None:
    size = 8 if version() < NETWORK_VERSION else 16 if version() < SCOPE_VERSION else 24
    attributes = struct.pack("=QQQ", rights, network, scope)[:size]
    ruleset = _syscall(CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path, kept in allowed.items():
            _allow(ruleset, path, kept)
        _syscall(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    if sys.platform == "linux":  # no other system comes here, or has these names
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rule = struct.pack("=Qi", rights, beneath)
            _syscall(ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(BENEATH_PATH), rule, ctypes.c_uint32(0))
        finally:
            os.close(beneath)


def _syscall(number: int, *args: object) -> int:
    """Make a system call. Raises OSError if it fails."""
    result: int = _LIBC.syscall(ctypes.c_long(number), *args)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"Landlock: {os.strerror(error)}")
    return result


_LIBC = ctypes.CDLL(None, use_errno=True)
