"""The worked examples, torch.fx's documentation's and our own, run and print what is written beside them."""

from __future__ import annotations

import multiprocessing
import os
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT / "examples" / "transforms", ROOT / "examples" / "howto"]
EXAMPLES = sorted(path for folder in FOLDERS for path in folder.glob("*.py"))
NEEDS = {"export_to_onnx": ("onnxscript", "onnxruntime"), "quantize_pt2e": ("torchao",)}
"""What an example imports that need not be installed."""
ADDRESS = re.compile("0x[0-9a-f]+")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run(path: Path, output: Path, errors: Path) -> None:
    """Run a program as ``python path`` does, in this process, which is its own. It prints to two files."""
    for descriptor, file in ((1, output), (2, errors)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
    sys.argv, sys.path[0] = [str(path)], str(path.parent)
    runpy.run_path(str(path), run_name="__main__")


def printed(path: Path, folder: Path) -> str:
    """What a program prints that has fxcore at hand."""
    output, errors = folder / "output", folder / "errors"
    # On Linux, processes are forked from one that has imported torch, which takes longer than most of the programs.
    context: Any = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
    context.set_forkserver_preload(["fxcore"])
    process = context.Process(target=run, args=(path, output, errors))
    process.start()
    process.join()
    assert process.exitcode == 0, errors.read_text()
    return ADDRESS.sub("0x…", output.read_text())


def test_every_example_has_its_output_beside_it() -> None:
    assert EXAMPLES
    written = {path for folder in FOLDERS for path in folder.glob("*.txt")}
    assert {path.with_suffix(".txt") for path in EXAMPLES} == written


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path) -> None:
    for package in NEEDS.get(path.stem, ()):
        pytest.importorskip(package)
    assert printed(path, tmp_path) == path.with_suffix(".txt").read_text()


def test_the_blocks_of_the_documentation_run_one_after_the_other(tmp_path: Path) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "fxcore.md").read_text())
    assert len(blocks) == 3
    program = tmp_path / "documentation.py"
    program.write_text("\n".join(blocks))
    assert "torch.sigmoid(linear)" in printed(program, tmp_path)


def test_no_other_document_has_python_in_it() -> None:
    others = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    assert [path.name for path in others if BLOCK.search(path.read_text())] == ["fxcore.md"]
