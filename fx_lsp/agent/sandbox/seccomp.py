"""A seccomp filter (Linux): takes system calls away from a process and from all that it starts.

A filter is a program for the kernel's packet filter machine, which sees a call's number and arguments, but not what the
arguments point to; see ``Documentation/userspace-api/seccomp_filter.rst`` in the kernel's sources.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER_MODE = 38, 22, 2
"""Constants for ``prctl``, from <linux/prctl.h> and <linux/seccomp.h>."""

LOAD, AND, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_BITS, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
"""Operations of the machine, from <linux/bpf_common.h>."""

NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24
"""Offsets in the ``struct seccomp_data`` that the machine reads; for an argument, the offset of its low half."""

ALLOW, FAIL = 0x7FFF0000, 0x00050000
"""What a filter returns. `FAIL` is combined with an error number; with 0 the call does nothing but seems to succeed."""

THREAD = 0x00010000
"""``CLONE_THREAD``: the clone is a thread of the same process."""

NEW_NAMESPACES = 0x7E020000
"""All ``CLONE_NEW…`` flags except for ``CLONE_NEWTIME``, which `clone` doesn't accept."""

SET_DEATH_SIGNAL, KILL = 1, 9
"""``PR_SET_PDEATHSIG``, and the signal that ends a child when its parent ends."""

FILE_REQUESTS, REQUEST_TYPE = (ord("f"), ord("X"), 0x94), 0xFF00
"""The ``ioctl`` types that can change file attributes or create folders even without write permission.

`REQUEST_TYPE` is the mask of the bits that hold the type.
"""

PRIORITY_OF_PROCESS, IO_PRIORITY_OF_PROCESS = 0, 1
"""``PRIO_PROCESS`` and ``IOPRIO_WHO_PROCESS``."""

Instruction = tuple[int, int, int, int]
"""The operation, how many instructions to skip if it is true and if it is false, and the operand."""


@dataclass(frozen=True)
class Machine:
    """The numbers of the filtered system calls on one architecture."""

    architecture: int
    """``AUDIT_ARCH_…`` of <linux/audit.h>."""
    foreign: int | None
    """Where the numbers of a second interface to the kernel begin; None if there is no such interface."""
    refused: tuple[int, ...]
    """The calls that fail.

    They make sockets, execute programs, leave the process group, look into other processes, enter other namespaces,
    mount, use keys, make System V's and POSIX's queues, semaphores and memory (which would outlive the process), or
    could do such things around the filter (io_uring, bpf, …).
    """
    pretended: tuple[int, ...]
    """The system calls that are made to do nothing, but appear to succeed.

    Otherwise, they would change a file's mode, owner, times or extended attributes, which Landlock doesn't control.
    """
    clone: int
    other_forks: tuple[int, ...]
    ioctl: int
    prctl: int
    limits: int
    """``prlimit64``, which can change the limits of any process."""
    scheduling: tuple[int, ...]
    """``sched_set…``, which can change the scheduling of any process or thread."""
    priority: int
    io_priority: int


EVERYWHERE = (425, 438, *range(428, 434), 442)
"""Refused calls that have the same number on every architecture: io_uring_setup, pidfd_getfd, mounting."""

EVERYWHERE_PRETENDED = (452, 463, 466, 469)
"""Calls that only appear to succeed and have the same number on every architecture: fchmodat2, setxattrat,
removexattrat, file_setattr."""

CLONE3 = 435
"""A call that is reported as missing: it passes its flags by a pointer, and the C library can do without it."""

MACHINES = {
    "x86_64": Machine(
        architecture=0xC000003E,
        foreign=0x40000000,
        refused=(
            *(41, 59, 322, 109, 112, 101, 311, 272, 308, 165, 304, 248, 249, 250, 321, 298, 323),
            *(29, 30, 31, 64, 65, 66, 68, 69, 70, 71, 220, *range(240, 246)),
        ),
        pretended=(90, 91, 268, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199),
        clone=56,
        other_forks=(57, 58),
        ioctl=16,
        prctl=157,
        limits=302,
        scheduling=(142, 144, 203, 314),
        priority=141,
        io_priority=251,
    ),
    "aarch64": Machine(
        architecture=0xC00000B7,
        foreign=None,
        refused=(
            *(198, 221, 281, 154, 157, 117, 271, 97, 268, 40, 265, 217, 218, 219, 280, 241, 282),
            *range(180, 198),
        ),
        pretended=(52, 53, 55, 54, 88, 5, 6, 7, 14, 15, 16),
        clone=220,
        other_forks=(),
        ioctl=29,
        prctl=167,
        limits=261,
        scheduling=(118, 119, 122, 274),
        priority=140,
        io_priority=30,
    ),
}


def machine() -> Machine | None:
    """The numbers of the system calls on this machine; None if they are not known."""
    return MACHINES.get(os.uname().machine) if sys.platform == "linux" and sys.maxsize > 1 << 32 else None


def refuse(this: Machine) -> None:
    """Refuse the system calls that no trace needs. Raises OSError if the system can't filter system calls."""
    _install(
        _program(
            this,
            _failing(this.refused + EVERYWHERE, errno.EACCES),
            _failing([CLONE3], errno.ENOSYS),
            _failing(this.pretended + EVERYWHERE_PRETENDED, 0),
            _no_namespaces(this),
            _no_attributes(this),
            _dies_with_parent(this),
            _own_alone(this),
        )
    )


def refuse_processes(this: Machine) -> None:
    """Refuse to start processes; threads can still be started. Raises OSError."""
    _install(_program(this, _failing(this.other_forks, errno.EPERM), _failing([CLONE3], errno.ENOSYS), _no_fork(this)))


def give_up_new_privileges() -> None:
    """Keep programs that this process executes from gaining rights; seccomp and Landlock require this."""
    _prctl(NO_NEW_PRIVILEGES, 1, 0)


def _program(this: Machine, *parts: Iterable[Instruction]) -> list[Instruction]:
    """A filter that refuses calls through other interfaces to the kernel, applies ``parts``, and allows other calls."""
    missing = FAIL | errno.ENOSYS
    start = [(LOAD, 0, 0, ARCHITECTURE), (JUMP_IF_EQUAL, 1, 0, this.architecture), (RETURN, 0, 0, missing)]
    start.append((LOAD, 0, 0, NUMBER))
    if this.foreign is not None:
        start += [(JUMP_IF_AT_LEAST, 0, 1, this.foreign), (RETURN, 0, 0, missing)]
    return [*start, *(step for part in parts for step in part), (RETURN, 0, 0, ALLOW)]


def _failing(numbers: Iterable[int], error: int) -> Iterator[Instruction]:
    for number in numbers:
        yield JUMP_IF_EQUAL, 0, 1, number
        yield RETURN, 0, 0, FAIL | error


def _judged(number: int, *steps: Instruction) -> Iterator[Instruction]:
    """Apply ``steps``, which may load an argument in place of the number, to the calls with this number."""
    yield JUMP_IF_EQUAL, 0, len(steps) + 1, number
    yield from steps
    yield LOAD, 0, 0, NUMBER


def _unless(number: int, argument: int, value: int, error: int) -> Iterator[Instruction]:
    """Make calls with this number fail with ``error``, unless ``argument`` has this value."""
    return _judged(number, (LOAD, 0, 0, argument), (JUMP_IF_EQUAL, 1, 0, value), (RETURN, 0, 0, FAIL | error))


def _own_alone(this: Machine) -> Iterator[Instruction]:
    """Let a process or thread change only its own limits and priorities; calls that concern others are ineffective."""
    yield from _unless(this.limits, FIRST_ARGUMENT, 0, errno.EPERM)
    for number in this.scheduling:  # ignored, not refused: the C library names this process's threads by number
        yield from _unless(number, FIRST_ARGUMENT, 0, 0)
    for number, own in ((this.priority, PRIORITY_OF_PROCESS), (this.io_priority, IO_PRIORITY_OF_PROCESS)):
        yield from _unless(number, FIRST_ARGUMENT, own, 0)
        yield from _unless(number, SECOND_ARGUMENT, 0, 0)


def _no_namespaces(this: Machine) -> Iterator[Instruction]:
    refusal = RETURN, 0, 0, FAIL | errno.EPERM
    return _judged(this.clone, (LOAD, 0, 0, FIRST_ARGUMENT), (JUMP_IF_BITS, 0, 1, NEW_NAMESPACES), refusal)


def _no_attributes(this: Machine) -> Iterator[Instruction]:
    refusals = _failing((kind << 8 for kind in FILE_REQUESTS), errno.ENOTTY)
    return _judged(this.ioctl, (LOAD, 0, 0, SECOND_ARGUMENT), (AND, 0, 0, REQUEST_TYPE), *refusals)


def _dies_with_parent(this: Machine) -> Iterator[Instruction]:
    """Keep a process from replacing the signal that ends it when its parent ends."""
    return _judged(
        this.prctl,
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (JUMP_IF_EQUAL, 0, 3, SET_DEATH_SIGNAL),
        (LOAD, 0, 0, SECOND_ARGUMENT),
        (JUMP_IF_EQUAL, 1, 0, KILL),
        (RETURN, 0, 0, FAIL | errno.EPERM),
    )


def _no_fork(this: Machine) -> Iterator[Instruction]:
    refusal = RETURN, 0, 0, FAIL | errno.EPERM
    return _judged(this.clone, (LOAD, 0, 0, FIRST_ARGUMENT), (JUMP_IF_BITS, 1, 0, THREAD), refusal)


def _install(program: list[Instruction]) -> None:
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    header = struct.pack("@HP", len(program), ctypes.addressof(code))
    _prctl(SET_SECCOMP, FILTER_MODE, ctypes.c_char_p(header))


def _prctl(option: int, *args: object) -> None:
    words = [ctypes.c_ulong(word) if isinstance(word, int) else word for word in (*args, 0, 0, 0, 0)[:4]]
    if ctypes.CDLL(None, use_errno=True).prctl(option, *words) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"seccomp: {os.strerror(error)}")
