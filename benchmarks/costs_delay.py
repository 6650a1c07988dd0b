"""Measures what the counting of costs delays: the first diagnostics and shapes of a file of timm, and the memory.

    .venv/bin/python benchmarks/costs_delay.py [--runs 5] [--files timm/models/resnet.py]

A workspace has all of timm as the user's own source. Servers with an empty cache open a file in turn, with
``fxLsp.costs`` set to ``off`` and to ``always``. The script measures the time from the server's start to the first
diagnostics and to the first shapes, and the most memory that the server and its descendants have used at once until
they are idle (the sum of their proportional set sizes, sampled ten times a second). All results are medians; what
matters is their ratio, of the numbers without costs to those with costs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.latency import Case, compare, make_workspace, memory, processor_seconds, timm_case
from tests.lsp.editor import Editor

FILES = ("timm/models/resnet.py", "timm/models/vision_transformer.py", "timm/models/mobilenetv3.py")
SAMPLE_SECONDS = 0.1
IDLE_SECONDS = 3.0


class Meter:
    """Samples the memory of a process and its descendants, and keeps the most that it has seen, in MiB."""

    def __init__(self, pid: int) -> None:
        self.most = 0.0
        self._pid = pid
        self._task = asyncio.create_task(self._sample())

    async def _sample(self) -> None:
        while True:
            self.most = max(self.most, memory(self._pid))
            await asyncio.sleep(SAMPLE_SECONDS)

    def stop(self) -> None:
        """Sample no more."""
        self._task.cancel()


async def idle(pid: int) -> None:
    """Wait until a process and its descendants use no more of a processor."""
    before = -1.0
    while (now := processor_seconds(pid)) - before > 0.05:
        before = now
        await asyncio.sleep(IDLE_SECONDS)


async def measure(case: Case, folder: Path, name: str, costs: str) -> tuple[float, float, float]:
    """Open a file in a new server. Returns the seconds to diagnostics and to shapes, and the memory in MiB."""
    workspace, env = make_workspace(case, folder)
    os.environ.update(env)
    editor = Editor(workspace)
    began = time.perf_counter()
    async with editor.session(settings={"costs": costs, "traceDelay": 0}):
        meter = Meter(editor.server.pid)
        editor.show(name, (workspace / name).read_text("utf-8"))
        await editor.until(lambda: name in editor.published)
        diagnosed = time.perf_counter() - began
        while not await editor.hints(name):
            await asyncio.sleep(SAMPLE_SECONDS)
        shaped = time.perf_counter() - began
        await idle(editor.server.pid)
        meter.stop()
        lenses = [lens.command.title for lens in await editor.lenses(name) if lens.command]
        assert any("FLOPs" in title for title in lenses) == (costs == "always"), lenses
    return diagnosed, shaped, meter.most


async def run(files: list[str], runs: int) -> None:
    """Measure each file with and without costs in turn, and print the medians."""
    case = timm_case()
    for name in files:
        figures: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
        for number in range(runs):
            for costs in ("off", "always") if number % 2 else ("always", "off"):
                with tempfile.TemporaryDirectory() as folder:
                    figures[costs].append(await measure(case, Path(folder), name, costs))
        print(name)
        for place, (what, unit) in enumerate((("first diagnostics", "s"), ("first shapes", "s"), ("memory", "MiB"))):
            with_costs, without = ([each[place] for each in figures[costs]] for costs in ("always", "off"))
            compare(f"  {what}, with costs", with_costs, "without", without, unit)


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="servers for each file and setting")
    parser.add_argument("--files", nargs="+", default=list(FILES), help="files of timm to open")
    options = parser.parse_args()
    asyncio.run(run(options.files, options.runs))


if __name__ == "__main__":
    main()
