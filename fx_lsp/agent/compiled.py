"""The code of the workspace's modules, compiled once instead of in each process that imports them.

A file that is edited may import hundreds that are not, and whose bytecode Python has not written. A child compiles
them, which runs none of their code, and the agent keeps what comes of it for the children to come. What is kept is only
taken for the very text that it was compiled from.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import itertools
import marshal
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from importlib.util import decode_source
from pathlib import Path
from types import CodeType

from .children import Brood, Child, Emit
from .definitions import first_work

LONGEST = 1_000_000
"""Bytes of a file that is compiled ahead; few have as many, and mostly they are data."""

MOST = 64 * 2**20
"""Bytes of code that are kept."""

SILENT_SECONDS = 10.0
"""How long compiling one file may take."""

MOST_SECONDS = 60.0
"""How much of a processor compiling what was wanted may take; a request may name any files."""


@dataclass(frozen=True)
class Compiled:
    """A module of the workspace."""

    path: str
    digest: bytes
    """Of the text."""
    code: bytes
    """As `marshal` has it."""
    only_defines: bool
    """It does no work when it is run as a script."""


_KEPT: dict[str, Compiled] = {}
"""By path, what this process and those that it forks need not compile."""


def kept(path: str, text: str) -> Compiled | None:
    """What the file at ``path`` was compiled to, if that was with this text."""
    found = _KEPT.get(path)
    return found if found and found.digest == _digest(text) else None


def code_of(compiled: Compiled) -> CodeType:
    """The code, to be run."""
    code = marshal.loads(compiled.code)
    assert isinstance(code, CodeType)
    return code


class Compilation:
    """What is to be compiled, and the child that does."""

    def __init__(self, brood: Brood) -> None:
        self._brood = brood
        self._wanted: dict[str, None] = {}

    def want(self, paths: Iterable[str]) -> None:
        """Consider files that a request had to compile."""
        self._wanted.update(dict.fromkeys(paths))

    def proceed(self) -> None:
        """Compile what is wanted; best while there is nothing else to do."""
        if self._wanted:
            job = partial(_compile, list(self._wanted))
            self._wanted.clear()
            self._brood.fork(job, seconds=SILENT_SECONDS, hear=_keep, gone=_nothing)


def _keep(compiled: Compiled) -> None:
    """Keep the latest of each file, and drop those that were kept first where it is too much."""
    _KEPT.pop(compiled.path, None)
    _KEPT[compiled.path] = compiled
    while sum(len(each.code) for each in _KEPT.values()) > MOST:
        del _KEPT[next(iter(_KEPT))]


def _nothing(child: Child) -> None:
    """What a child that ended early did not compile, a request will want again."""


def _compile(paths: Iterable[str], emit: Emit) -> None:
    """In the child: emit each file that can be compiled. What can't be, the next request has something to say of."""
    warnings.simplefilter("ignore")
    end = time.process_time() + MOST_SECONDS
    for path in itertools.takewhile(lambda path: time.process_time() < end, paths):
        with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            if Path(path).is_file() and len(source := _read(path)) <= LONGEST:
                emit(_compiled(path, decode_source(source)))


def _read(path: str) -> bytes:
    """What the file has, or more than is compiled of it: the path comes from where the user's code ran."""
    with Path(path).open("rb") as file:
        return file.read(LONGEST + 1)


def _compiled(path: str, text: str) -> Compiled:
    code = compile(text, path, "exec", dont_inherit=True)
    return Compiled(path, _digest(text), marshal.dumps(code), first_work(ast.parse(text)) is None)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
