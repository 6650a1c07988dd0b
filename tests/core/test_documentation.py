"""The worked examples, torch.fx's documentation's and our own, run and print what is written beside them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT / "examples" / "transforms", ROOT / "examples" / "howto"]
EXAMPLES = sorted(path for folder in FOLDERS for path in folder.glob("*.py"))
NEEDS = {"export_to_onnx": ("onnxscript", "onnxruntime"), "quantize_pt2e": ("torchao",)}
"""What an example imports that need not be installed."""
ADDRESS = re.compile("0x[0-9a-f]+")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def printed(path: Path) -> str:
    """What a program prints that has fxcore at hand."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return ADDRESS.sub("0x…", done.stdout)


def test_every_example_has_its_output_beside_it() -> None:
    assert EXAMPLES
    written = {path for folder in FOLDERS for path in folder.glob("*.txt")}
    assert {path.with_suffix(".txt") for path in EXAMPLES} == written


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    for package in NEEDS.get(path.stem, ()):
        pytest.importorskip(package)
    assert printed(path) == path.with_suffix(".txt").read_text()


def test_the_blocks_of_the_documentation_run_one_after_the_other(tmp_path: Path) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "fxcore.md").read_text())
    assert len(blocks) == 3
    program = tmp_path / "documentation.py"
    program.write_text("\n".join(blocks))
    assert "torch.sigmoid(linear)" in printed(program)


def test_no_other_document_has_python_in_it() -> None:
    others = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    assert [path.name for path in others if BLOCK.search(path.read_text())] == ["fxcore.md"]
