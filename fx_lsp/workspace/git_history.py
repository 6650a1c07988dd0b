"""The texts that a file had in earlier commits, according to git."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import tokenize
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator
from pathlib import Path

SECONDS = 5.0
"""How long a git command may take."""

_READ_ONLY = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
"""So that git neither writes to the repository, nor fetches what a partial clone lacks, nor asks for a password."""


async def earlier_texts(path: str, most: int) -> AsyncGenerator[tuple[str, str], None]:
    """The abbreviated commits that changed the file ``path``, at most ``most``, the latest first, and its text in each.

    Ends early where git can't tell: there is no git or no repository, a command takes too long, or the text is not
    Python source in a known encoding.
    """
    folder, name = str(Path(path).parent), Path(path).name
    listed = await _git(folder, "log", f"--max-count={most}", "--format=%h", "--", name)
    for commit in listed.decode().split():
        # Unlike `git show`, this runs no filter that the repository's attributes may name.
        content = await _git(folder, "cat-file", "blob", f"{commit}:./{name}")
        text = _decoded(content)
        if text is None:
            return
        yield commit, text


async def _git(folder: str, *arguments: str) -> bytes:
    """What a git command prints; nothing if it fails or takes too long."""
    command = ("git", "-C", folder, "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", *arguments)
    env = {**os.environ, **_READ_ONLY}
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, env=env)
    except OSError:
        return b""
    try:
        printed, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    except asyncio.TimeoutError:  # before Python 3.11, not the builtin one
        return b""
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return printed if process.returncode == 0 else b""


def _decoded(content: bytes) -> str | None:
    """The text of a Python file; None if it is empty or can't be decoded."""
    if not content:
        return None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return io.TextIOWrapper(io.BytesIO(content), encoding).read()
    except (SyntaxError, UnicodeDecodeError):
        return None
