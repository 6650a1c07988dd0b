"""Random edits of two files of a repository, for as long as one likes, against a real server.

    .venv/bin/python -m tests.lsp.endurance [--edits 5000] [--seed 1] [--folder examples/models]

Typing, pasting, renaming, deleting, undoing, changing the file, at times faster than the server; now and then its agent
is killed. Every so many edits, and at the end, the server's diagnostics are compared with those of a fresh server that
keeps nothing on disk. Memory that is no file's, and open files, are noted in between, of the server and of its agent.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import contextlib
import random
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lsprotocol import types

from tests.lsp.editor import ROOT, Editor

FILES = ("padding.py", "encoder.py")
"""Of the default folder: the second is imported by the first."""

KILL_EVERY = 200
"""Edits, on average, between two deaths of the agent."""

NOTE_EVERY = 25
"""Edits between two looks at memory and open files."""

Shown = list[tuple[str, int, int, int, int, str, str]]
"""Of each diagnostic the file, the range, the code, the message."""


@dataclass(frozen=True)
class Use:
    """What a process has at one time."""

    memory: int
    """KiB."""
    files: int

    @classmethod
    def of(cls, pid: int) -> Use:
        """That of a running process. Raises OSError where there is none."""
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        if "RssAnon" not in status:  # it has ended, and its parent has not noticed yet
            raise ProcessLookupError
        return cls(int(status["RssAnon"].split()[0]), len(list(Path(f"/proc/{pid}/fd").iterdir())))


@dataclass
class Uses:
    """What the server and its agent had, in the course of time."""

    server: list[Use] = field(default_factory=list)
    agent: list[Use] = field(default_factory=list)

    def growth(self) -> Iterator[tuple[str, float]]:
        """Of each figure, by what share it has grown over the last four fifths of the time."""
        for name, uses in (("server", self.server), ("agent", self.agent)):
            for figure in ("memory", "files"):
                values = [getattr(use, figure) for use in uses[len(uses) // 5 :]]
                few = max(1, len(values) // 10)
                first, last = statistics.median(values[:few]), statistics.median(values[-few:])
                yield f"{name}'s {figure}", last / first - 1

    def memory_of_server(self) -> list[int]:
        """MiB, at ten times."""
        step = max(1, len(self.server) // 10)
        return [use.memory // 1024 for use in self.server[::step]]


class Typist:
    """Edits the files at random; the same seed makes the same edits of the same files."""

    def __init__(self, editor: Editor, names: tuple[str, ...], seed: int) -> None:
        self._editor = editor
        self._names = names
        self._random = random.Random(seed)
        self._undo: dict[str, list[tuple[int, int, str]]] = {name: [] for name in names}
        """Of each file the edits that take back what was done, the last one last."""
        self.name = names[0]
        """The file that is edited now."""

    def edit(self) -> None:
        """One edit, of any kind."""
        kinds = (self._type, self._type, self._type, self._paste, self._rename, self._delete, self._change_file)
        self._random.choice((*kinds, self._take_back, self._take_back, self._take_back))()

    def mend(self) -> None:
        """Undo in every file until it can be read as Python."""
        for name in self._names:
            while self._undo[name] and not _parses(self._editor.text(name)):
                self._take_back(name)

    def touch(self) -> None:
        """Have every file traced again: what a dead agent left unknown is known then."""
        for name in self._names:
            end = len(self._editor.text(name))
            self._editor.replace(name, end, end, "\n")

    def chance(self, of: float) -> bool:
        """True so often."""
        return self._random.random() < of

    def _type(self) -> None:
        words = ("x", " ", "\n", "# é😋", "(", ")", "return x", "if x.sum() > 0:", "len(x)", "self.", "1", "    pass\n")
        at = self._random.randrange(len(self._text()) + 1)
        self._replace(at, at, self._random.choice(words))

    def _paste(self) -> None:
        lines = self._text().splitlines(keepends=True)
        first = self._random.randrange(len(lines) or 1)
        block = "".join(lines[first : first + self._random.randrange(1, 6)])
        at = len("".join(lines[: self._random.randrange(len(lines) + 1)]))
        self._replace(at, at, block)

    def _rename(self) -> None:
        old, new = self._random.sample(["scale", "missing", "window", "x", "size", "renamed"], 2)
        self._replace(0, len(self._text()), self._text().replace(old, new))

    def _delete(self) -> None:
        start = self._random.randrange(len(self._text()) + 1)
        self._replace(start, min(len(self._text()), start + self._random.randrange(1, 80)), "")

    def _change_file(self) -> None:
        self.name = self._random.choice(self._names)

    def _take_back(self, name: str | None = None) -> None:
        name = name or self.name
        if self._undo[name]:
            self._editor.replace(name, *self._undo[name].pop())

    def _text(self) -> str:
        return self._editor.text(self.name)

    def _replace(self, start: int, end: int, new: str) -> None:
        self._undo[self.name].append((start, start + len(new), self._text()[start:end]))
        self._editor.replace(self.name, start, end, new)


async def endure(folder: Path, names: tuple[str, ...], *, edits: int, seed: int, compare_every: int) -> Uses:
    """Edit files of ``folder``. Raises AssertionError where the server and a fresh one differ."""
    uses = Uses()
    async with Editor(folder).session() as editor:
        for name in names:
            editor.show(name, (folder / name).read_text(encoding="utf-8"))
        typist = Typist(editor, names, seed)
        for number in range(1, edits + 1):
            typist.edit()
            if typist.chance(1 / KILL_EVERY):
                editor.kill_agents()
                await _traced(editor, names)  # that the trace under way has ended so is the truth
            if typist.chance(0.2):
                await _traced(editor, names)
            if number % NOTE_EVERY == 0:
                await _note(editor, names, uses)
            if number % compare_every == 0 or number == edits:
                typist.mend()
                typist.touch()
                await _compare(editor, names, number)
    return uses


async def _note(editor: Editor, names: tuple[str, ...], uses: Uses) -> None:
    """Look at both processes once nothing is traced."""
    await _traced(editor, names)
    uses.server.append(Use.of(editor.server.pid))
    for agent in editor.agents():
        with contextlib.suppress(OSError):  # it was killed
            uses.agent.append(Use.of(agent))


async def _traced(editor: Editor, names: tuple[str, ...]) -> None:
    """Wait until the texts of now are traced, if all of them can be read as Python."""
    if all(_parses(editor.text(name)) for name in names):
        for name in names:
            await editor.diagnostics(name)


async def _compare(editor: Editor, names: tuple[str, ...], number: int) -> None:
    """Raise AssertionError where a fresh server shows something else of the texts of now."""
    ours = await _shown(editor, names)
    async with Editor(editor.folder).session(settings={"cache": False}) as fresh:
        for name in names:
            fresh.show(name, editor.text(name))
        theirs = await _shown(fresh, names)
    texts = "\n".join(f"--- {name}\n{editor.text(name)}" for name in names)
    assert ours == theirs, f"after {number} edits: {ours}\nfresh: {theirs}\n{texts}"


async def _shown(editor: Editor, names: tuple[str, ...]) -> Shown:
    """All diagnostics once every file's text is dealt with."""
    for name in (*names, *names):  # the first may have been traced again for the second
        await editor.diagnostics(name)
    await editor.settled()
    found = [(name, item) for name, params in editor.published.items() for item in params.diagnostics]
    return sorted((name, *_range(item), str(item.code), item.message) for name, item in found)


def _range(item: types.Diagnostic) -> tuple[int, int, int, int]:
    start, end = item.range.start, item.range.end
    return start.line, start.character, end.line, end.character


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def main() -> None:
    """Edit for long, and print by what share memory and open files have grown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edits", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=ROOT / "examples" / "models")
    parser.add_argument("--files", nargs=2, default=FILES)
    parser.add_argument("--compare-every", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "work"
        shutil.copytree(options.folder, folder)
        names = tuple(options.files)
        work = endure(folder, names, edits=options.edits, seed=options.seed, compare_every=options.compare_every)
        uses = asyncio.run(work)
    print(f"server's memory in MiB, over time: {uses.memory_of_server()}")
    for what, share in uses.growth():
        print(f"{what}: {share:+.1%} over the last four fifths")


if __name__ == "__main__":
    main()
