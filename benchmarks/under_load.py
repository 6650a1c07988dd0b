"""Measures whether verdicts depend on what else the machine is doing.

    .venv/bin/python benchmarks/under_load.py FOLDER … [--busy 8] [--memory-gb 4] [--jobs 2]

For each folder in turn, the script runs `fx-lsp check --report` twice without the cache: alone, and beside ``--busy``
processes of the usual priority that compute without a pause and together hold ``--memory-gb``. It prints which targets
have another row in the second report than in the first, seconds apart, and how much longer the second run took.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BUSY = "import sys; held = bytearray(b'x') * int(sys.argv[1])\nwhile True: sum(held[::4096])"
"""A process that computes, and reads the memory that it holds; its argument is the number of bytes."""

FINDINGS = 1
"""The exit status of `fx-lsp check` if it found problems."""


@dataclass(frozen=True)
class Run:
    """One run of `fx-lsp check` on a folder."""

    rows: dict[tuple[str, str, int], dict[str, Any]]
    """By path, name and line of the target, the row of the report without its seconds."""
    seconds: float
    """Of wall clock."""


def check(folder: Path, jobs: int) -> Run:
    """Check a folder. Raises `subprocess.CalledProcessError` if the command itself fails."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.jsonl")
        options = ("--no-cache", "--jobs", str(jobs), "--report", str(report), "--python", sys.executable)
        command = [sys.executable, "-m", "fx_lsp", "check", ".", "--summary", *options]
        began = time.monotonic()
        status = subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode
        seconds = time.monotonic() - began
        if status not in (0, FINDINGS):
            raise subprocess.CalledProcessError(status, command)
        rows = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    return Run({(row["path"], row["qualname"], row["line"]): {**row, "seconds": None} for row in rows}, seconds)


@contextlib.contextmanager
def load(busy: int, memory_gb: float) -> Iterator[None]:
    """Have processes compute while the block runs."""
    each = str(int(memory_gb * 2**30 / busy))
    processes = [subprocess.Popen([sys.executable, "-c", BUSY, each], start_new_session=True) for _ in range(busy)]
    try:
        time.sleep(5)  # until they hold their memory
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def compare(folder: Path, alone: Run, beside: Run) -> int:
    """Print how two runs on a folder differ; the number of targets that do."""
    different = [key for key in alone.rows | beside.rows if alone.rows.get(key) != beside.rows.get(key)]
    ratio = beside.seconds / alone.seconds
    print(
        f"{folder}: {len(alone.rows)} targets, {len(different)} differ; {alone.seconds:.0f} s alone, x{ratio:.1f}",
        flush=True,
    )
    for key in different:
        print(f"  {key[0]}: {key[1]}")
        for run in (alone, beside):
            row = run.rows.get(key, {})
            print(f"    {row.get('verdict')}: {row.get('reason')} {row.get('failures')}")
    return len(different)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status is 1 if a target differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--busy", type=int, default=8, help="how many processes compute (default: 8)")
    parser.add_argument("--memory-gb", type=float, default=4.0, help="what they hold together, in GiB (default: 4)")
    parser.add_argument("--jobs", type=int, default=2, help="how many files fx-lsp traces at a time (default: 2)")
    options = parser.parse_args(arguments)
    different = total = 0
    for folder in options.folders:
        alone = check(folder, options.jobs)
        with load(options.busy, options.memory_gb):
            beside = check(folder, options.jobs)
        different += compare(folder, alone, beside)
        total += len(alone.rows)
    print(f"{different} of {total} targets differ beside {options.busy} processes.")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
