"""The bytecode of the workspace's modules, compiled once instead of in each process that imports them.

A file that is being edited may import hundreds of other files, for which Python has written no bytecode. A child
compiles them, which runs none of their code, and the agent keeps the bytecode for later children. The bytecode is used
only for exactly the text that it was compiled from.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import hashlib
import itertools
import marshal
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import decode_source
from pathlib import Path
from types import CodeType

from fx_lsp.agent.importing.script_definitions import first_work
from fx_lsp.agent.processes.children import Emit, ForkedChildren
from fx_lsp.agent.processes.limits import limit_memory
from fx_lsp.agent.processes.scratch_folder import remove, scratch_folder
from fx_lsp.agent.processes.watchdog import ChildProcess
from fx_lsp.agent.sandbox.sandbox_entry import run_confined
from fx_lsp.agent.wire import wire_message

LONGEST = 1_000_000
"""The maximum length, in characters, of a file that is compiled ahead of time; longer ones are mostly data."""

MOST = 64 * 2**20
"""The maximum number of bytes that the cache holds."""

MOST_WANTED = 10_000
"""The maximum number of files that are considered at a time; the user's code determines which files are wanted."""

EACH = 1_000
"""The bytes that a file takes in the cache in addition to its code and its path."""

SILENT_SECONDS = 10.0
"""How long the compiling child may emit nothing; it emits each file as soon as the file is compiled."""

MOST_CHARACTERS = 200 * LONGEST
"""The maximum number of characters that the child compiles, of all the files that are wanted: about a minute's work."""

MEMORY_MB = 512
"""How much memory the child may allocate, in MiB."""


@wire_message
@dataclass(frozen=True)
class CompiledFile:
    """Child to agent: the bytecode of a file."""

    path: str
    digest: str
    """The digest of the text that was compiled."""
    code: str
    """The code as `marshal` writes it, in base64."""
    only_defines: bool
    """Whether importing the file does nothing but define names."""


@dataclass(frozen=True)
class CachedBytecode:
    """A compiled file as the cache holds it, for a process that imports it."""

    digest: str
    marshalled: bytes
    only_defines: bool
    size: int
    """How many bytes it takes, roughly."""

    @property
    def code(self) -> CodeType:
        """The code object, unmarshalled anew on each access."""
        code = marshal.loads(self.marshalled)
        assert isinstance(code, CodeType)
        return code


class _BytecodeCache:
    """The bytecode of files that this process, and processes forked from it, need not compile."""

    def __init__(self) -> None:
        self._files: dict[str, CachedBytecode] = {}
        """By path, the most recent ones at the end."""
        self._size = 0

    def get(self, path: str) -> CachedBytecode | None:
        return self._files.get(path)

    def put(self, compiled: CompiledFile) -> None:
        """Store a file in place of its earlier version, and drop the oldest files if the cache is too large."""
        path, code = compiled.path, base64.b64decode(compiled.code)
        self._drop(path)
        self._files[path] = CachedBytecode(compiled.digest, code, compiled.only_defines, len(code) + len(path) + EACH)
        self._size += self._files[path].size
        while self._size > MOST:
            self._drop(next(iter(self._files)))

    def _drop(self, path: str) -> None:
        if before := self._files.pop(path, None):
            self._size -= before.size


_CACHE = _BytecodeCache()


def cached_bytecode(path: str, text: str) -> CachedBytecode | None:
    """The cached bytecode of the file at ``path``; None if there is none that was compiled from this text."""
    found = _CACHE.get(path)
    return found if found and found.digest == _digest(text) else None


class BackgroundCompiler:
    """Collects the files that should be compiled, and compiles them in a child."""

    def __init__(self, children: ForkedChildren) -> None:
        self._children = children
        self._wanted: dict[str, None] = {}
        self._running = False
        self._repeated = False
        """Whether several requests have compiled the same file."""

    @property
    def is_due(self) -> bool:
        """Whether to compile even while there is other work.

        Other work may never pause; then every request would have to compile the same files.
        """
        return self._repeated and not self._running

    def want(self, paths: Iterable[str]) -> None:
        """Plan to compile files that a request had to compile."""
        for path in itertools.islice(paths, MOST_WANTED - len(self._wanted)):
            self._repeated |= path in self._wanted
            self._wanted[path] = None

    def proceed(self) -> None:
        """Start to compile the wanted files; best called while there is nothing else to do."""
        if self._wanted and not self._running:
            job = partial(run_confined, partial(compile_files, list(self._wanted)))
            self._children.fork(job, seconds=SILENT_SECONDS, hear=_CACHE.put, gone=self._gone, leads_group=True)
            self._wanted.clear()
            self._running, self._repeated = True, False

    def _gone(self, child: ChildProcess) -> None:
        """Clean up after the child. If it did not get to a file, a later request will want that file again."""
        self._running = False
        remove(scratch_folder(child.pid))


def compile_files(paths: Iterable[str], emit: Emit) -> None:
    """In a child: emit each file that can be compiled and is not cached yet.

    The paths come from a process that ran user code. If a file can't be compiled, the next request reports why.
    """
    limit_memory(MEMORY_MB)
    left = MOST_CHARACTERS
    for path in paths:
        with contextlib.suppress(Exception):
            if Path(path).is_file():
                text = decode_source(_read(path))
                if len(text) <= min(LONGEST, left) and not cached_bytecode(path, text):
                    left -= len(text)
                    emit(_compiled(path, text))


def _read(path: str) -> bytes:
    """The content of the file, or enough of it to see that the file is too long."""
    with Path(path).open("rb") as file:
        return file.read(4 * LONGEST + 4)


def _compiled(path: str, text: str) -> CompiledFile:
    with without_warnings():
        code = marshal.dumps(compile(text, path, "exec", dont_inherit=True))
        only_defines = first_work(ast.parse(text)) is None
    return CompiledFile(path, _digest(text), base64.b64encode(code).decode(), only_defines)


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
    """Within the block, ignore warnings: otherwise, a filter set by the user's code could turn them into errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
