"""``fx-lsp check --capture``: each model's verdict for each capture, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from tests.cli.test_check_fix import check as check_fix
from tests.cli.test_cli import check

pytestmark = pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked")

MODEL = """\
import torch
from torch import nn


class Branch(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class Sized(nn.Module):
    def forward(self, x):
        return x.view(3, 4)


class Long(nn.Module):
    def forward(self, x):
        return x / len(x.shape)


Branch()(torch.ones(3, 4))
Sized()(torch.ones(3, 4))
Long()(torch.ones(3, 4))
compiled = torch.compile(Branch(), fullgraph=True)
"""
BREAK = """\
import torch


class Branch(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


Branch()(torch.ones(3, 4))
compiled = torch.compile(Branch())
"""
"""Its graph break is no error, because nothing asks for one graph."""

ALL = ("--capture", "fx,export,compile")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two files, which are captured only once: the other tests get the cached reports."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    (folder / "broken.py").write_text(BREAK, encoding="utf-8")
    return folder


def rows_of(project: Path, *arguments: str) -> list[dict[str, Any]]:
    """The lines that ``--report`` writes."""
    assert check("model.py", "--report", "report.jsonl", *arguments, cwd=project).stderr == ""
    return [json.loads(line) for line in (project / "report.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_report_has_a_line_for_each_model_and_capture(project: Path) -> None:
    rows = rows_of(project, *ALL)
    assert [(row["qualname"], row["capture"], row["verdict"], row["dynamic_batch"]) for row in rows] == [
        ("Branch", "fx", "fails", None),
        ("Branch", "export", "fails", None),
        ("Branch", "compile", "fails", None),
        ("Sized", "fx", "ok", None),
        ("Sized", "export", "ok", False),
        ("Sized", "compile", "ok", None),
        ("Long", "fx", "fails", None),
        ("Long", "export", "ok", True),
        ("Long", "compile", "ok", None),
    ]
    assert [row["inputs"] for row in rows[:3]] == ["", "x: [3, 4]", "x: [3, 4]"]
    assert [failure["code"] for row in rows for failure in row["failures"]] == [
        "control-flow",
        "data-dependent-guard",
        "graph-break",
        "len",
    ]


def test_without_the_option_only_symbolic_tracing_is_checked(project: Path) -> None:
    rows = rows_of(project)
    assert [(row["qualname"], row["capture"]) for row in rows] == [("Branch", "fx"), ("Sized", "fx"), ("Long", "fx")]
    assert check("model.py", cwd=project).stdout == check("model.py", "--capture", "fx", cwd=project).stdout
    assert "export" not in check("model.py", "--format", "full", cwd=project).stdout


def test_a_capture_alone_reports_only_its_own_failures(project: Path) -> None:
    done = check("model.py", "--capture", "compile", "--format", "json", cwd=project)
    assert [(problem["code"], problem["target"]) for problem in json.loads(done.stdout)] == [("graph-break", "Branch")]


@pytest.mark.parametrize("style", ["full", "concise", "agent", "json", "jsonl", "github", "gitlab", "sarif", "junit"])
def test_every_format_tells_the_captures_apart(project: Path, style: str) -> None:
    shown = check("model.py", *ALL, "--format", style, cwd=project).stdout
    assert all(code in shown for code in ("control-flow", "data-dependent-guard", "graph-break"))
    marks = {
        "json": '"capture": "export"',
        "jsonl": '"capture": "export"',
        "sarif": '"capture": "export"',
        "junit": 'name="Branch [export]"',
    }
    assert marks.get(style, "[export]") in shown


def test_junit_has_a_case_for_each_model_and_capture(project: Path) -> None:
    suites = ElementTree.fromstring(check("model.py", *ALL, "--format", "junit", cwd=project).stdout)
    assert [suite.attrib["tests"] for suite in suites] == ["9"]
    failed = [case.attrib["name"] for case in suites.iter("testcase") if case.find("failure") is not None]
    assert failed == ["Branch", "Branch [export]", "Branch [compile]", "Long"]


def test_a_summary_counts_each_capture_on_its_own(project: Path) -> None:
    done = check("model.py", *ALL, "--summary", cwd=project)
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["files", "ok", "fails", "unknown", "skipped"],
        [".", "1", "1", "2", "0", "0"],
        [".", "[export]", "1", "2", "1", "0", "0"],
        [".", "[compile]", "1", "2", "1", "0", "0"],
        ["total", "1", "1", "2", "0", "0"],
        ["total", "[export]", "1", "2", "1", "0", "0"],
        ["total", "[compile]", "1", "2", "1", "0", "0"],
    ]


def test_statistics_name_the_capture(project: Path) -> None:
    done = check("model.py", *ALL, "--statistics", cwd=project)
    assert {tuple(line.split()[:3]) for line in done.stdout.splitlines()} >= {
        ("1", "export:", "data-dependent-guard"),
        ("1", "compile:", "graph-break"),
    }


def test_a_baseline_of_symbolic_tracing_hides_no_failure_of_export(project: Path) -> None:
    baseline = ("--baseline", "known.json")
    assert check("model.py", *baseline, "--write-baseline", cwd=project).stdout == ""
    new = check("model.py", *ALL, *baseline, "--format", "json", cwd=project)
    assert {problem["capture"] for problem in json.loads(new.stdout)} == {"export", "compile"}
    check("model.py", *ALL, *baseline, "--write-baseline", cwd=project)
    assert check("model.py", *ALL, *baseline, cwd=project).stdout == ""
    assert check("model.py", *baseline, cwd=project).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--capture", "onnx"), "'onnx' is not a capture; the captures are fx, export, compile, auto."),
        (("--fail-on", "export:error"), "'export' is not checked; --capture names fx."),
        (("--fail-on", "fx:grave"), "'grave' is not a severity; use error, warning, information, hint."),
    ],
)
def test_what_cannot_be_checked(project: Path, arguments: tuple[str, ...], said: str) -> None:
    done = check("model.py", *arguments, cwd=project)
    assert done.returncode == 2
    assert said in done.stderr
    assert (project / "model.py").read_text(encoding="utf-8") == MODEL


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ("fx:error", 0),
        ("fx:warning", 1),
        ("export:error", 0),
        ("export:error,fx:warning", 1),
        ("export:information", 1),
        ("compile:error", 1),
    ],
)
def test_which_problems_fail_the_check(project: Path, limits: str, status: int) -> None:
    assert check("model.py", *ALL, "--fail-on", limits, cwd=project).returncode == status


def test_a_graph_break_is_an_error_only_where_the_file_wants_one_graph(project: Path) -> None:
    done = check("model.py", "broken.py", "--capture", "compile", "--format", "json", cwd=project)
    found = [(problem["path"], problem["severity"]) for problem in json.loads(done.stdout)]
    assert found == [("broken.py", "information"), ("model.py", "error")]
    assert check("broken.py", "--capture", "compile", cwd=project).returncode == 0


FIXABLE = """\
import torch
from torch import nn


class Branch(nn.Module):
    def forward(self, x):
        return (x * 2 if x.sum() > 0 else x - 1) / len(x.shape)


class Loud(nn.Module):
    def forward(self, x):
        print(x.shape)
        return x / len(x.shape)


model = Branch()
model(torch.ones(3, 4))
loud = Loud()
loud(torch.ones(3, 4))
torch.export.export(model, (torch.ones(3, 4),))
compiled = torch.compile(loud)
"""


@pytest.mark.parametrize(
    ("captures", "branch", "loud"),
    [
        (
            "export",
            "torch.where(x.sum() > 0, x * 2, x - 1)) / len(x.shape)",
            "    def forward(self, x):\n        print(x.shape)",
        ),
        ("auto", "torch.where(x.sum() > 0, x * 2, x - 1)) / len(x.shape)", "if not torch.compiler.is_compiling():"),
    ],
)
def test_proven_fixes_of_the_captures_are_applied(tmp_path: Path, captures: str, branch: str, loud: str) -> None:
    file = tmp_path / "fixable.py"
    file.write_text(FIXABLE, encoding="utf-8")
    done = check_fix("fixable.py", "--capture", captures, "--fix", cwd=tmp_path)
    text = file.read_text(encoding="utf-8")
    assert branch in text, done
    assert loud in text, done
    assert done.stdout == ""  # it has captured the edited file again
