"""Measures what captures delay: the time from an edit to its diagnostics, while the model before it is captured.

    .venv/bin/python benchmarks/captures_delay.py [--case "5 files"] [--runs 3] [--edits 8] [--pause 3]

A workspace of `latency.py` uses no capture. Servers open the same file in turn: with ``fxLsp.captures`` set to ``fx``;
to ``auto``, so that fx-lsp looks for uses and finds none; and to all captures. After a pause, in which the last one
begins to export and compile the model, the file is edited. The script prints the median time from an edit to the right
diagnostics, without the first two edits, and the median memory of the server and its descendants after the last pause
(the sum of their proportional set sizes).
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.latency import CASES, FAILS, Case, Editor, make_workspace, memory

SETTINGS = {"fx": ["fx"], "auto": ["auto"], "all": ["fx", "export", "compile"]}
WARM_UP = 2
"""How many edits are not counted: the first ones wait until the agent has warmed up."""


async def measure(case: Case, folder: Path, captures: list[str], edits: int, pause: float) -> tuple[list[float], float]:
    """Edit the file in a new server. Returns the seconds to the diagnostics of each edit, and the memory in MiB."""
    workspace, env = make_workspace(case, folder)
    file = workspace / case.edited
    editor = Editor(captures=captures)
    await editor.start(workspace, env)
    editor.open(file, case.text)
    await editor.answered(0)
    shown = []
    for version in range(1, edits + 1):
        await asyncio.sleep(pause)
        began = time.perf_counter()
        editor.change(file, case.text.replace(FAILS.format(0), FAILS.format(version)), version)
        shown.append((await editor.answered(version)).shown - began)
    await asyncio.sleep(pause)
    assert editor._server is not None
    used = memory(editor._server.pid)
    await editor.leave()
    return shown[WARM_UP:], used


async def run(case: Case, runs: int, edits: int, pause: float) -> None:
    """Measure with each setting in turn, and print the medians."""
    shown: dict[str, list[float]] = defaultdict(list)
    used: dict[str, list[float]] = defaultdict(list)
    for _ in range(runs):
        for name, captures in SETTINGS.items():
            with tempfile.TemporaryDirectory() as folder:
                seconds, mebibytes = await measure(case, Path(folder).resolve(), captures, edits, pause)
            shown[name] += seconds
            used[name].append(mebibytes)
    for name, seconds in shown.items():
        spread = f"{min(seconds):.2f}–{max(seconds):.2f}, n={len(seconds)}"
        print(f"{name}: {statistics.median(seconds):.2f} s ({spread}), {statistics.median(used[name]):.0f} MiB")


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=list(CASES), default="5 files", help="the workspace")
    parser.add_argument("--runs", type=int, default=3, help="servers for each setting")
    parser.add_argument("--edits", type=int, default=8, help="edits in each server")
    parser.add_argument("--pause", type=float, default=3.0, help="seconds before each edit")
    options = parser.parse_args()
    asyncio.run(run(CASES[options.case](), options.runs, options.edits, options.pause))


if __name__ == "__main__":
    main()
