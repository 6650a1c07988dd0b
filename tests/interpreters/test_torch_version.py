"""Which version of torch an environment has, seen without running it."""

import re
import sys
from pathlib import Path

import torch

from fx_lsp.interpreters.torch_presence import torch_version


def test_the_version_of_an_installed_torch_is_that_which_it_says() -> None:
    major, minor = map(int, re.findall(r"\d+", torch.__version__)[:2])
    assert torch_version(Path(sys.executable)) == (major, minor)


def test_a_python_without_torch_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("version = 3.11.0\n")
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.touch()
    assert torch_version(python) is None
