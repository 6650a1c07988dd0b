"""Measures whether the server's last word after an edit depends on what else the machine is doing.

    .venv/bin/python -m benchmarks.edits_under_load [--edits 300] [--busy 8] [--memory-gb 4] [--seed 1]

The script sends a server random edits in five files, beside ``--busy`` processes that compute without a pause and
together hold ``--memory-gb``. After each edit, its diagnostics of that file are compared with those that servers
started anew, before the load began, have shown for the same text. The script prints each difference, and how many
agents have ended.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from lsprotocol import types

from benchmarks.under_load import load
from tests.lsp.editor import ROOT, Editor

MODELS = ROOT / "examples" / "models"
FILES = ("classifier.py", "encoder.py", "heads.py", "normalize.py", "rectify.py")
"""None imports another of them."""

STATEMENTS = (
    "# a comment",
    "print({input})",
    "{input} = {input} * 2",
    "{input} = {input} / len({input})",
    "{input} = {input} + float({input}.mean())",
    "if {input}.sum() > 0: {input} = {input} + 1",
    "for _ in range({input}.shape[0]): {input} = {input} + 1",
    "{input} = missing({input})",
)
"""What an edit puts in front of the body of a traced function, whose last argument is ``input``."""

Shown = list[tuple[int, int, int, int, str, str]]
"""Of each diagnostic the range, the code and the message."""


def texts(text: str) -> Iterator[str]:
    """A file's text, and what each edit makes of it."""
    yield text
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    traced = next((node for node in functions if node.name == "forward"), functions[0])
    lines, first = text.splitlines(keepends=True), traced.body[0]
    for statement in STATEMENTS:
        new = " " * first.col_offset + statement.format(input=traced.args.args[-1].arg) + "\n"
        yield "".join([*lines[: first.lineno - 1], new, *lines[first.lineno - 1 :]])


async def shown(editor: Editor, name: str) -> Shown:
    """The last word on the current text of a file."""
    await editor.diagnostics(name)
    await editor.settled()
    found = editor.published[name].diagnostics
    return sorted((*_range(item.range), str(item.code), item.message) for item in found)


def _range(found: types.Range) -> tuple[int, int, int, int]:
    start, end = found.start, found.end
    return start.line, start.character, end.line, end.character


async def fresh(folder: Path, versions: Sequence[str]) -> list[Shown]:
    """What a server that is started anew shows of each file, given its text."""
    async with Editor(folder).session(settings={"cache": False}) as editor:
        for name, text in zip(FILES, versions, strict=True):
            editor.show(name, text)
        return [await shown(editor, name) for name in FILES]


async def edit(
    folder: Path, versions: Sequence[Sequence[str]], expected: dict[str, Shown], options: argparse.Namespace
) -> int:
    """Make the edits; the number of those after which the server said something else than ``expected`` of the text."""
    choose, different, seconds = random.Random(options.seed), 0, []
    async with Editor(folder).session() as editor:
        for name, (first, *_) in zip(FILES, versions, strict=True):
            editor.show(name, first)
        for name in FILES:
            await shown(editor, name)
        agents = set(editor.agents())
        for number in range(1, options.edits + 1):
            file = choose.randrange(len(FILES))
            name, text = FILES[file], choose.choice(versions[file])
            began = time.monotonic()
            editor.replace(name, 0, len(editor.text(name)), text)
            said = await shown(editor, name)
            seconds.append(time.monotonic() - began)
            if said != expected[text]:
                different += 1
                print(f"edit {number}, {name}: {said}\n  fresh: {expected[text]}\n{text}", flush=True)
        ended = len(agents - set(editor.agents()))
    print(f"{different} of {options.edits} edits differ; {ended} agents have ended.")
    print(f"Seconds from an edit to its last word: {sorted(seconds)[len(seconds) // 2]:.1f} at the median.")
    return different + ended


async def measure(options: argparse.Namespace) -> int:
    """The number of differences, and of agents that ended."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "work"
        shutil.copytree(MODELS, folder)
        versions = [list(texts((MODELS / name).read_text(encoding="utf-8"))) for name in FILES]
        expected: dict[str, Shown] = {}
        for same_edit in zip(*versions, strict=True):
            expected.update(zip(same_edit, await fresh(folder, same_edit), strict=True))
        with load(options.busy, options.memory_gb):
            return await edit(folder, versions, expected, options)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status is 1 if anything differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edits", type=int, default=300)
    parser.add_argument("--busy", type=int, default=8, help="how many processes compute (default: 8)")
    parser.add_argument("--memory-gb", type=float, default=4.0, help="what they hold together, in GiB (default: 4)")
    parser.add_argument("--seed", type=int, default=1, help="of the random edits (default: 1)")
    return int(bool(asyncio.run(measure(parser.parse_args(arguments)))))


if __name__ == "__main__":
    sys.exit(main())
