"""The worked examples of torch.fx's documentation run, and print what is written beside them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "transforms"
EXAMPLES = sorted(FOLDER.glob("*.py"))
ADDRESS = re.compile("0x[0-9a-f]+")


def test_every_example_has_its_output_beside_it() -> None:
    assert EXAMPLES
    assert {path.stem for path in EXAMPLES} == {path.stem for path in FOLDER.glob("*.txt")}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ADDRESS.sub("0x…", done.stdout) == path.with_suffix(".txt").read_text()
