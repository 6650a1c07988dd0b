"""Measures the memory of a server and its agents with ten edited files open, for two versions of fx-lsp.

    .venv/bin/python -m benchmarks.open_files_memory --against CHECKOUT [--files 10]

Each version gets a workspace of a package with a vision transformer, and a file for each of ten models that use it. All
files are opened, and each is edited three times. Once the server is idle, the script prints the proportional set sizes
of its processes.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.latency import CASES, ROOT, Case, Editor, make_workspace, memory

EDITS = ("        scores = scores * 2\n", "        scores = scores + 1\n", "")
"""What is typed into the traced function of each file, one after the other."""

TRACED = "        scores = self.backbone(x)\n"
"""A line of each model's ``forward``."""


def models(count: int) -> tuple[Case, list[str]]:
    """A package with ``count`` files, each with a model; and the names of these files."""
    case = CASES["5 files"]()
    names = [f"zoo/model{number}.py" for number in range(count)]
    return Case({**case.files, **dict.fromkeys(names, case.text)}, names[0]), names


async def measure(root: Path, count: int) -> float:
    """The memory in MiB that the version of fx-lsp in ``root`` takes, once it is idle."""
    case, names = models(count)
    with tempfile.TemporaryDirectory() as scratch:
        workspace, env = make_workspace(case, Path(scratch).resolve())
        env["PYTHONPATH"] = env["PYTHONPATH"].replace(str(ROOT), str(root))
        editor = Editor()
        await editor.start(workspace, env)
        for name in names:
            editor.open(workspace / name, case.text)
            await editor.answered(0)
        for name in names:
            for version, typed in enumerate(EDITS, start=1):
                editor.change(workspace / name, case.text.replace(TRACED, TRACED + typed), version)
                await editor.answered(version)
        await asyncio.sleep(20)  # what follows a trace after ten quiet seconds has begun
        await editor.idle_seconds()
        assert editor._server is not None
        taken = memory(editor._server.pid)
        await editor.leave()
    return taken


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--against", type=Path, required=True, help="another checkout of fx-lsp")
    parser.add_argument("--files", type=int, default=10, help="how many files are open (default: 10)")
    options = parser.parse_args(arguments)
    ours = asyncio.run(measure(ROOT, options.files))
    theirs = asyncio.run(measure(options.against.resolve(), options.files))
    print(f"{options.files} edited files, idle: this checkout {ours:.0f} MiB, {options.against.name} {theirs:.0f} MiB")
    print(f"  ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
