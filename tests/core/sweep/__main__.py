"""Compares fxcore with the installed torch.fx on every model that can be had.

.venv/bin/python -m tests.core.sweep [--library torchvision timm transformers] [--every N] [--jobs N] [--write]

``--every N`` takes every Nth case, ``--jobs N`` runs N processes side by side, and ``--write`` rewrites docs/parity.md.
The exit status is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

from tests.core.sweep.cases import timm_cases, torchvision_cases
from tests.core.sweep.processes import checked
from tests.core.sweep.report import page
from tests.core.sweep.transformers_cases import transformers_cases

CASES = {"torchvision": torchvision_cases, "timm": timm_cases, "transformers": transformers_cases}
PAGE = Path(__file__).parents[3] / "docs" / "parity.md"


def main() -> int:
    """Compare the models that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--library", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    began = time.monotonic()
    cases = itertools.chain.from_iterable(CASES[library]() for library in options.library)
    results = []
    for result in checked(itertools.islice(cases, None, None, options.every), options.jobs):
        results.append(result)
        print(result.line, flush=True)
    text = page(results, time.monotonic() - began)
    print(text)
    if options.write:
        PAGE.write_text(text)
    return int(any(result.outcome == "differs" for result in results))


if __name__ == "__main__":
    sys.exit(main())
