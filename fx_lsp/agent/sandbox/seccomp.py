"""A seccomp filter (Linux): system calls that a process, and all that it starts, can't make any more.

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
"""For ``prctl``: <linux/prctl.h> and <linux/seccomp.h>."""

LOAD, AND, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_BITS, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
"""Operations of the machine: <linux/bpf_common.h>."""

NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24
"""Offsets in the ``struct seccomp_data`` that it reads; of an argument, the half that counts in what is filtered."""

ALLOW, FAIL = 0x7FFF0000, 0x00050000
"""What it returns; to fail, plus the error's number. With 0 the call does nothing and says that it succeeded."""

THREAD = 0x00010000
"""``CLONE_THREAD``: what is cloned is a thread of the same process."""

NEW_NAMESPACES = 0x7E020000
"""``CLONE_NEW…`` but for that of time, which `clone` doesn't know."""

SET_DEATH_SIGNAL, KILL = 1, 9
"""``PR_SET_PDEATHSIG``, and the signal by which a child goes with its parent."""

FILE_REQUESTS, REQUEST_TYPE = (ord("f"), ord("X"), 0x94), 0xFF00
"""Types of ``ioctl`` that change attributes of files, or make folders, without the right to write; and their bits."""

PRIORITY_OF_PROCESS, IO_PRIORITY_OF_PROCESS = 0, 1
"""``PRIO_PROCESS`` and ``IOPRIO_WHO_PROCESS``."""

Instruction = tuple[int, int, int, int]
"""Operation, instructions to jump over where it is true and where it is not, operand."""


@dataclass(frozen=True)
class Machine:
    """The numbers that an architecture has for what is filtered."""

    architecture: int
    """``AUDIT_ARCH_…`` of <linux/audit.h>."""
    foreign: int | None
    """Where the numbers of a second interface to the kernel begin."""
    refused: tuple[int, ...]
    """Making sockets; executing; leaving the process group; looking into other processes; other namespaces; mounting;
    keys; System V's and POSIX's queues, semaphores and memory, which stay; what would do such things around the filter
    (io_uring, bpf, …)."""
    pretended: tuple[int, ...]
    """Changing a file's mode, owner, times and extended attributes, which Landlock doesn't know of."""
    clone: int
    other_forks: tuple[int, ...]
    ioctl: int
    prctl: int
    limits: int
    """``prlimit64``, of any process."""
    scheduling: tuple[int, ...]
    """``sched_set…``, of any process or thread."""
    priority: int
    io_priority: int


EVERYWHERE = (425, 438, *range(428, 434), 442)
"""io_uring_setup, pidfd_getfd, mounting: refused."""

EVERYWHERE_PRETENDED = (452, 463, 466, 469)
"""fchmodat2, setxattrat, removexattrat, file_setattr."""

CLONE3 = 435
"""It keeps its flags behind a pointer. The C library does without where it seems not to exist."""

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
    """This machine, if its numbers are known."""
    return MACHINES.get(os.uname().machine) if sys.platform == "linux" and sys.maxsize > 1 << 32 else None


def refuse(this: Machine) -> None:
    """Refuse what a trace has no business with. Raises OSError where the system doesn't filter."""
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
    """Refuse to start processes; threads go on working. Raises OSError."""
    _install(_program(this, _failing(this.other_forks, errno.EPERM), _failing([CLONE3], errno.ENOSYS), _no_fork(this)))


def give_up_new_privileges() -> None:
    """Keep programs that this process executes from gaining rights, which filters and Landlock require."""
    _prctl(NO_NEW_PRIVILEGES, 1, 0)


def _program(this: Machine, *parts: Iterable[Instruction]) -> list[Instruction]:
    """Refuse calls in another interface's numbers; judge the number by ``parts``; allow what none of them ends."""
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
    """Judge the calls of this number by ``steps``, which may load an argument in the number's place."""
    yield JUMP_IF_EQUAL, 0, len(steps) + 1, number
    yield from steps
    yield LOAD, 0, 0, NUMBER


def _unless(number: int, argument: int, value: int, error: int) -> Iterator[Instruction]:
    """End the calls of this number whose ``argument`` has not this value."""
    return _judged(number, (LOAD, 0, 0, argument), (JUMP_IF_EQUAL, 1, 0, value), (RETURN, 0, 0, FAIL | error))


def _own_alone(this: Machine) -> Iterator[Instruction]:
    """Of limits and priorities, those of the calling process or thread alone: of others they stay as they are."""
    yield from _unless(this.limits, FIRST_ARGUMENT, 0, errno.EPERM)
    for number in this.scheduling:  # the C library names threads of this process so
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
    """A process can't change that it ends when its parent does."""
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
