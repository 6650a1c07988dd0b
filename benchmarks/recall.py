"""Measures how many of a model's failures fxcore finds in one run, and how many of those are true.

    .venv/bin/python benchmarks/recall.py [--library torchvision timm transformers others] [--jobs 2] [--write]

The script explores models that torch.fx can't trace (`recall_models.py`), with and without example inputs. It compares
the places that it finds with all places at which torch.fx itself fails (`oracle/`). It needs the packages of the extras
``zoo`` and ``recall``; CONTRIBUTING.md explains how to install them. With ``--write``, it writes docs/recall.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.recall_models import CASES
from benchmarks.recall_parts import PARTS, Result, run_part
from benchmarks.recall_report import Compared, page

PAGE = Path(__file__).parents[1] / "docs" / "recall.md"


def results_of(part: str, library: str, name: str, folder: Path) -> dict[str, Result]:
    """Run a part in its own process. If a case ends the process, continue with the next case in a new one."""
    output = folder / f"{part}-{library}.json"
    command = [sys.executable, __file__, "--part", part, "--library", library, "--name", name, "--output", str(output)]
    known = -1
    while subprocess.run(command).returncode != 0:
        before, known = known, len(json.loads(output.read_text())) if output.exists() else 0
        if known <= before:
            raise RuntimeError(f"{part} of {library} doesn't start")
    found: dict[str, Result] = json.loads(output.read_text())
    return found


def compare(libraries: list[str], name: str, jobs: int, folder: Path) -> str:
    """Run all parts and return the text of the page."""
    with ThreadPoolExecutor(jobs) as threads:
        running = {
            (part, library): threads.submit(results_of, part, library, name, folder)
            for library in libraries
            for part in PARTS
        }
        results = {key: future.result() for key, future in running.items()}
    compared, unknown = [], []
    for library in libraries:
        for case in CASES[library]():
            truth, found = (results[part, library].get(case.name) for part in ("truth", "found"))
            if truth is None or found is None:
                continue
            error = truth.get("error") or found.get("error")
            if error:
                unknown.append((case.name, error))
            else:
                compared.append(Compared(case, truth, found))
    return page(compared, unknown)


def main() -> int:
    """Measure, then print the page, and write it if ``--write`` is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--library", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--name", default="", help="only models whose names contain this")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes to run in parallel")
    parser.add_argument("--write", action="store_true", help="write docs/recall.md")
    parser.add_argument("--part", choices=list(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help="store results in this folder, and reuse those that it contains")
    options = parser.parse_args()
    if options.part:
        run_part(options.part, options.library[0], options.name, options.output)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        text = compare(options.library, options.name, options.jobs, folder)
    print(text)
    if options.write:
        PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
