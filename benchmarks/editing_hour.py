"""Measures what an hour of editing costs, with two versions of fx-lsp side by side.

    .venv/bin/python -m benchmarks.editing_hour --against CHECKOUT [--minutes 60] [--seed 1]

Two servers, one of this checkout and one of CHECKOUT, get the same keystrokes at the same time, each in a workspace of
its own: a package of 5 files with a vision transformer, whose model fails at one place. At the end, the script prints
the CPU seconds that each server and its agents have used.

Nobody's keystrokes were recorded for this; a random generator draws them. Someone types a statement into a traced
function key by key, sometimes hesitates, and reads or thinks for a while before the next statement, which replaces the
last one. The times between keys, and the pauses, are log-normal: the median of the former is 0.18 s, that of the latter
8 s. One edit of ten is one of the constructor, after which the model has to be built again, and every fifth statement
is followed by saving the file.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from benchmarks.latency import CASES, ROOT, Case, Editor, make_workspace, processor_seconds

IN_FORWARD, IN_CONSTRUCTOR = "        scores = self.backbone(x)\n", "        super().__init__()\n"
"""Lines of the model, behind each of which statements are typed."""

STATEMENTS = (
    "scores = scores * 2",
    "scores = scores / len(scores)",
    "scores = torch.relu(scores)",
    "if x.mean() > 0.5: scores = scores + 1",
    "for row in scores: print(row)",
    "scores = scores.reshape(int(x.shape[0]), -1)",
    "# look at this again",
)
BUILDING = ("self.scale = 2.0", "self.extra = nn.Linear(8, 8)", "# what else is there to build?")


@dataclass(frozen=True)
class Key:
    """A keystroke: the text that it leaves, and the seconds until the next one."""

    text: str
    seconds: float
    saves: bool = False


def keystrokes(text: str, choose: random.Random) -> Iterator[Key]:
    """What someone types into a file, without an end."""
    number = 0
    while True:
        number += 1
        line, statements = (IN_CONSTRUCTOR, BUILDING) if number % 10 == 0 else (IN_FORWARD, STATEMENTS)
        before, _, after = text.partition(line)
        statement = choose.choice(statements)
        for typed in range(1, len(statement) + 1):
            seconds = choose.lognormvariate(math.log(0.18), 0.5)
            if choose.random() < 0.05:
                seconds += choose.uniform(0.5, 2.0)
            last = typed == len(statement)
            if last:
                seconds += choose.lognormvariate(math.log(8.0), 1.0)
            yield Key(f"{before}{line}        {statement[:typed]}\n{after}", seconds, last and number % 5 == 0)


@dataclass
class Side:
    """One of the servers that are compared."""

    name: str
    root: Path
    file: Path
    editor: Editor
    before: float = 0.0
    """Its CPU seconds when the first key was pressed."""

    async def start(self, case: Case, folder: Path) -> None:
        """Start the server, open the file, and wait for its first diagnostics."""
        workspace, env = make_workspace(case, folder)
        env["PYTHONPATH"] = env["PYTHONPATH"].replace(str(ROOT), str(self.root))
        self.file = workspace / case.edited
        await self.editor.start(workspace, env)
        self.editor.open(self.file, case.text)
        await self.editor.answered(0)

    def press(self, key: Key, version: int) -> None:
        """Send the text of now, and save it if it is to be saved."""
        self.editor.change(self.file, key.text, version)
        if key.saves:
            self.file.write_text(key.text, encoding="utf-8")
            document = types.TextDocumentIdentifier(self.file.as_uri())
            self.editor.text_document_did_save(types.DidSaveTextDocumentParams(document))

    @property
    def used(self) -> float:
        """The CPU seconds of the server and its agents since it was started."""
        assert self.editor._server is not None
        return processor_seconds(self.editor._server.pid)


async def measure(against: Path, minutes: float, seed: int) -> None:
    """Edit, and print what it has cost each side."""
    case = CASES["5 files"]()
    choose = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        sides = [
            Side(name, root, Path(), Editor(traceDelay=80))
            for name, root in (("this checkout", ROOT), (against.name, against.resolve()))
        ]
        for number, side in enumerate(sides):
            await side.start(case, Path(scratch).resolve() / str(number))
        await asyncio.sleep(15)  # until all that opening a file leads to is done
        for side in sides:
            side.before = side.used
        end, keys, pauses = time.monotonic() + 60 * minutes, 0, 0
        for keys, key in enumerate(keystrokes(case.text, choose), start=1):
            for side in sides:
                side.press(key, keys)
            pauses += key.seconds > 1
            await asyncio.sleep(key.seconds)
            if time.monotonic() > end:
                break
        costs = [side.used - side.before for side in sides]
        for side in sides:
            await side.editor.leave()
    print(f"{minutes:g} minutes with {keys} keystrokes and {pauses} pauses of more than a second")
    for side, cost in zip(sides, costs, strict=True):
        print(f"  {side.name}: {cost:.1f} s of CPU time")
    print(f"  ratio {costs[0] / costs[1]:.2f}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--against", type=Path, required=True, help="another checkout of fx-lsp")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long to edit (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="of the random keystrokes (default: 1)")
    options = parser.parse_args(arguments)
    asyncio.run(measure(options.against, options.minutes, options.seed))


if __name__ == "__main__":
    main()
