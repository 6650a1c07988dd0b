"""Measures which fixes are proven for models of their real sizes, and how long that takes.

    .venv/bin/python benchmarks/large_models.py [--match PART] [--full-size]

The models are the files of `tests/workspaces/large_models`, each of which is checked alone. For each place that fails,
the script tries the fixes in order until one is proven, and prints the results and the seconds of a processor. With
``--full-size``, it repeats what was proven on small twins on the model itself, for as long as that takes.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.fix_repositories import measured, shares

MODELS = Path(__file__).resolve().parent.parent / "tests" / "workspaces" / "large_models"


def main() -> None:
    """Measure the files that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--match", default="", help="only files with this in their name")
    parser.add_argument("--full-size", action="store_true", help="repeat what was proven on small twins at full size")
    arguments = parser.parse_args()
    full_size: list[str] = []
    for file in sorted(path for path in MODELS.glob("*.py") if arguments.match in path.name):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(file, folder)
            work = measured(file.stem, Path(folder).resolve(), sys.executable, full_size=arguments.full_size)
            places = asyncio.run(work)
        print(f"{file.name}: {shares(places)}", flush=True)
        for place in places:
            tried = "; ".join(f"{one.title}: {one.verdict}, {one.reason}" for one in place.taken.attempts)
            print(f"  {place.taken.place}, {place.seconds:.1f} s: {tried or 'no fix is offered'}", flush=True)
            full_size += [one.full_size for one in place.taken.attempts if one.full_size]
    if arguments.full_size:
        print("Proven on small twins, and on the model itself:", Counter(full_size))


if __name__ == "__main__":
    main()
