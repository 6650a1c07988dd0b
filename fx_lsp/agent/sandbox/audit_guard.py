"""What the user's code may not do while it is imported, built and traced, and the record of what it tried.

Python raises an event for what its code is about to do (PEP 578), so one hook sees every library call that would write
outside the scratch folder, use the network, start a process, or signal another process; each such call raises
`Denied`. That is enough for programs that mean no harm. Malicious code can get around the hook; only the operating
system's protections can stop such code (``confinement.py``).
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import torch

from fx_lsp.agent.own_files import is_own_file

try:
    import _posixsubprocess
    import resource
except ImportError:  # Windows has neither module, nor the functions that need them here
    _posixsubprocess = resource = None  # type: ignore[assignment]

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
"""The flags of ``open`` that allow more than reading."""

PATHS: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.chflags": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.link": ((1, 3),),
    "os.mkdir": ((0, 2),),
    "os.mkfifo": ((0, None),),
    "os.mknod": ((0, None),),
    "os.remove": ((0, 1),),
    "os.removexattr": ((0, None),),
    "os.rename": ((0, 2), (1, 3)),
    "os.rmdir": ((0, 1),),
    "os.setxattr": ((0, None),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.utime": ((0, 3),),
    "torch.save": ((1, None),),
}
"""For each event that changes files: the index of the argument that is a path, and of the path's folder descriptor.

The latter, which is where a relative path starts, is None if the function takes no such argument.
"""

ON_THE_LINK = frozenset({"os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink"})
"""The events that concern a path itself, even if it is a symbolic link that leads elsewhere."""

DENIED = {
    event: words
    for words, events in {
        "starting a process": (
            "_posixsubprocess.fork_exec os.exec os.fork os.forkpty os.posix_spawn os.spawn os.startfile os.system "
            "pty.spawn subprocess.Popen webbrowser.open"
        ),
        "using the network": (
            "socket.__new__ socket.bind socket.connect socket.getaddrinfo socket.gethostbyaddr socket.gethostbyname "
            "socket.sendmsg socket.sendto"
        ),
        "signaling another process": "os.kill os.killpg",
        "leaving the trace's process group": "os.setpgid os.setpgrp os.setsid",
        "raising a resource limit": "resource.setrlimit resource.prlimit",
    }.items()
    for event in events.split()
}
"""Other events that are denied, and what they mean in words."""

SILENT: tuple[tuple[Any, str], ...] = (
    (_posixsubprocess, "fork_exec"),
    (os, "mkfifo"),
    (os, "mknod"),
    (os, "setpgid"),
    (os, "setpgrp"),
    (os, "setsid"),
    (torch, "save"),
)
"""Functions that raise no event, or do their work outside Python. Wrappers that inform the guard replace them."""

Tell = Callable[[str, FrameType], object]
"""Receives what is denied, in words, and the frame that asked for it."""


class Denied(PermissionError):
    """The user's code asked for something that is not allowed while the code is traced."""

    def __str__(self) -> str:
        return str(self.strerror)


class Guard:
    """The audit hook of this process. It denies nothing until `close` is called."""

    def __init__(self) -> None:
        self._scratch: str | None = None
        self._tell: Tell = lambda what, frame: None
        self.denied = 0
        """How often something was denied."""
        self.read: set[str] = set()
        """The files that were opened for reading, other than by this package or by an import."""

    def install(self) -> None:
        """Install the hook in this process and those that it forks. This can't be undone."""
        sys.addaudithook(self._hear)
        for owner, name in SILENT:
            if hasattr(owner, name):
                setattr(owner, name, self._announcing(f"{owner.__name__}.{name}", getattr(owner, name)))

    def close(self, scratch: str) -> None:
        """Start denying what the user's code may not do; only files in the folder ``scratch`` may be changed."""
        self._scratch = os.path.realpath(scratch) + os.sep

    def reopen(self) -> None:
        """Stop denying anything."""
        self._scratch = None

    def on_denial(self, tell: Tell) -> None:
        """Call ``tell`` for everything that is denied from now on."""
        self._tell = tell

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if event in _GUARDED:
            self._consider(event, args, sys._getframe(1))

    def _consider(self, event: str, args: tuple[Any, ...], frame: FrameType) -> None:
        if self._scratch is not None and not _is_free(frame.f_code.co_filename):
            self._judge(event, args, frame)

    def _judge(self, event: str, args: tuple[Any, ...], frame: FrameType) -> None:
        if event == "open":
            path, _, flags = args
            if flags & WRITING:
                self._check(_real(path, None), frame)
            elif isinstance(path, str):
                self.read.add(str(Path(path).absolute()))
        elif event in PATHS:
            for path, folder in PATHS[event]:
                start = None if folder is None else args[folder]
                self._check(_real(args[path], start, follow=event not in ON_THE_LINK), frame)
        elif not _is_harmless(event, args, frame):
            self._deny(DENIED[event], frame)

    def _check(self, real: str, frame: FrameType) -> None:
        """Deny changing the file ``real``, unless it is in the scratch folder."""
        if self._scratch is not None and real != os.devnull and not (real + os.sep).startswith(self._scratch):
            self._deny(f"writing to {real}", frame)

    def _deny(self, what: str, frame: FrameType) -> NoReturn:
        self.denied += 1
        self._tell(what, frame)
        raise Denied(errno.EACCES, f"{what} is not allowed while tracing")

    def _announcing(self, event: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def announcing(*args: Any, **kwargs: Any) -> Any:
            self._consider(event, args, sys._getframe(1))
            return function(*args, **kwargs)

        return announcing


GUARD = Guard()
"""The only guard of this process, since an audit hook can't be removed."""


def _real(path: Any, folder: int | None, *, follow: bool = True) -> str:
    """Where ``path`` leads; a relative path starts at the open ``folder``, if one is given.

    For a descriptor or a file object, the result is a path that may be written to, since opening the file was allowed.
    """
    if not isinstance(path, str | bytes | os.PathLike):
        return os.devnull
    whole = Path(f"/proc/self/fd/{folder}" if folder is not None and folder >= 0 else "", os.fsdecode(path))
    return os.path.realpath(whole) if follow else str(Path(os.path.realpath(whole.parent), whole.name))


def _is_harmless(event: str, args: tuple[Any, ...], frame: FrameType) -> bool:
    """Whether the event concerns this process alone.

    That is so for a signal to the process itself, for a socket that it already has, and for each of its own resource
    limits except the memory limit.
    """
    if event == "os.kill":
        return bool(args[0] == os.getpid())
    if event == "resource.setrlimit":
        return bool(args[0] != resource.RLIMIT_DATA)
    if event == "resource.prlimit":
        process, limit, _ = args
        return process in (0, os.getpid()) and bool(limit != resource.RLIMIT_DATA)
    return event == "socket.__new__" and frame.f_locals.get("fileno") is not None


_GUARDED = PATHS.keys() | DENIED.keys() | {"open"}


@functools.lru_cache(maxsize=1024)
def _is_free(filename: str) -> bool:
    """Whether code in this file may do anything: the agent's own, and Python's import system, which writes bytecode."""
    return is_own_file(filename) or filename.startswith("<frozen importlib")
