"""``fx-lsp check --diff`` and ``--fix``, run as a person runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fx_lsp.analysis.apply_fixes import write
from fx_lsp.check.check_files import Checked
from fx_lsp.cli.formats.diff import render
from fx_lsp.documents.documents import Documents

ROOT = Path(__file__).parents[2]

MODEL = '''\
import torch
import torch.fx


class Net(torch.nn.Module):
    """é"""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        assert x.dim() == 2  # as rows
        y = self.linear(x) / len(x)
        y[y > 0] = 0
        return y


torch.fx.symbolic_trace(Net())
'''

LEFT = """\
import torch.fx


def f(x):
    return x.pixels() / len(x.pixels())


torch.fx.symbolic_trace(f)
"""
"""Nobody can tell what it takes, so nothing is proven of it."""


def check(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fx_lsp", "check", "--python", sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )


def test_diff_prints_the_edits_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL, encoding="utf-8")
    run = check("--diff", "net.py", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (1, "")
    assert (tmp_path / "net.py").read_text(encoding="utf-8") == MODEL
    assert run.stdout.startswith("--- a/net.py\n+++ b/net.py\n@@ ")
    subprocess.run(["git", "apply"], input=run.stdout, cwd=tmp_path, check=True, encoding="utf-8")
    assert check("net.py", cwd=tmp_path).returncode == 0


def test_fix_applies_proven_fixes_until_no_problem_is_left(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL, encoding="utf-8")
    run = check("--fix", "net.py", cwd=tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "fx-lsp: net.py was edited\n")
    mended = (tmp_path / "net.py").read_text(encoding="utf-8")
    assert "# as rows" in mended
    subprocess.run([sys.executable, "net.py"], cwd=tmp_path, check=True, capture_output=True)


def test_the_remaining_problems_say_what_came_of_their_fixes(tmp_path: Path) -> None:
    (tmp_path / "left.py").write_text(LEFT, encoding="utf-8")
    run = check("--fix", "--format", "json", "left.py", cwd=tmp_path)
    (problem,) = json.loads(run.stdout)
    assert run.returncode == 1
    assert {fix["proof"]["verdict"] for fix in problem["fixes"] if fix["proof"]} == {"untried"}
    assert "no inputs" in problem["fixes"][0]["proof"]["reason"]
    assert (tmp_path / "left.py").read_text(encoding="utf-8") == LEFT


def test_fixes_that_could_not_be_tried_are_applied_on_demand(tmp_path: Path) -> None:
    (tmp_path / "left.py").write_text(LEFT, encoding="utf-8")
    assert check("--fix", "--unproven-fixes", "left.py", cwd=tmp_path).returncode == 0
    assert (tmp_path / "left.py").read_text(encoding="utf-8") != LEFT


def test_fix_and_diff_exclude_each_other(tmp_path: Path) -> None:
    run = check("--fix", "--diff", "left.py", cwd=tmp_path)
    assert run.returncode == 2
    assert "not allowed with" in run.stderr


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        ("a\nb\n", "a\nc\n", [" a", "-b", "+c"]),
        ("a\nb", "a\nc", [" a", "-b", r"\ No newline at end of file", "+c", r"\ No newline at end of file"]),
        ("a\r\nb\r\n", "a\r\nc\r\n", [" a\r", "-b\r", "+c\r"]),
        ("a\x0cb\n", "a\x0cc\n", ["-a\x0cb", "+a\x0cc"]),
    ],
)
def test_a_diff_counts_lines_as_git_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, rows: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_bytes(old.encode())
    shown = render(Checked((), Documents(), {}, {}, edits={str(tmp_path / "a.py"): new}))
    assert shown.split("\n")[3:] == rows


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"# -*- coding: latin-1 -*-\na = '\xe9'\n", b"# -*- coding: latin-1 -*-\na = '\xe9\xe9'\n"),
        (b"\xef\xbb\xbfa = '\xc3\xa9'\n", b"\xef\xbb\xbfa = '\xc3\xa9\xc3\xa9'\n"),
        (b"a = '\xc3\xa9'\r\n", b"a = '\xc3\xa9\xc3\xa9'\r\n"),
    ],
    ids=["a declared encoding", "a byte order mark", "Windows's line ends"],
)
def test_a_file_keeps_its_encoding(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(before)
    text = Documents().text(str(path))
    assert text is not None
    write(str(path), text.replace("é", "éé"))
    assert path.read_bytes() == after
