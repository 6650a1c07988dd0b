"""Measures which fixes are proven for models of their real sizes, and how long that takes.

    .venv/bin/python benchmarks/large_models.py [--match PART]

The models are the files of `tests/workspaces/large_models`, each of which is checked alone. For each place that fails,
the script tries the fixes in order until one is proven, and prints the results and the seconds of a processor.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.fix_repositories import measured, shares

MODELS = Path(__file__).resolve().parent.parent / "tests" / "workspaces" / "large_models"


def main() -> None:
    """Measure the files that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--match", default="", help="only files with this in their name")
    part = parser.parse_args().match
    for file in sorted(path for path in MODELS.glob("*.py") if part in path.name):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(file, folder)
            places = asyncio.run(measured(file.stem, Path(folder).resolve(), sys.executable, full_size=False))
        print(f"{file.name}: {shares(places)}", flush=True)
        for place in places:
            tried = "; ".join(f"{one.title}: {one.verdict}, {one.reason}" for one in place.taken.attempts)
            print(f"  {place.taken.place}, {place.seconds:.1f} s: {tried or 'no fix is offered'}", flush=True)


if __name__ == "__main__":
    main()
