"""``fx-lsp check --capture auto``: each workspace says in comments which problems are shown, and nothing else is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cli.test_cli import check

pytestmark = pytest.mark.skipif(torch.__version__ < "2.8", reason="older versions are not checked")

WORKSPACES = Path(__file__).parents[1] / "workspaces" / "captures"
_EXPECTED = re.compile(r"# expect: (\w+) ([\w-]+) (\w+)")


Row = tuple[str, int, str, str, str]
"""A file, a line, a capture, a code and a severity."""


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The problems in all workspaces, which have nothing to do with each other, and the lines of the report."""
    report = tmp_path_factory.mktemp("report") / "report.jsonl"
    done = check(".", "--capture", "auto", "--format", "json", "--report", str(report), cwd=WORKSPACES)
    assert done.stderr == ""
    return json.loads(done.stdout), list(map(json.loads, report.read_text(encoding="utf-8").splitlines()))


def expected_in(folder: Path) -> set[Row]:
    """The problems that the comments of a workspace name."""
    return {
        (file.relative_to(WORKSPACES).as_posix(), number, found[1], found[2], found[3])
        for file in folder.rglob("*.py")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        for found in _EXPECTED.finditer(line)
    }


@pytest.mark.parametrize("folder", sorted(WORKSPACES.iterdir()), ids=lambda folder: folder.name)
def test_only_problems_of_captures_in_use_are_shown(
    folder: Path, checked: tuple[list[dict[str, Any]], list[dict[str, Any]]]
) -> None:
    shown: set[Row] = {
        (item["path"], item["range"]["start"]["line"] + 1, item["capture"], item["code"], item["severity"])
        for item in checked[0]
        if item["path"].startswith(f"{folder.name}/")
    }
    assert shown == expected_in(folder)


def test_the_report_has_a_line_for_each_capture_in_use(
    checked: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    rows = [row for row in checked[1] if row["path"] == "export_one_of_several/models.py"]
    assert [(row["qualname"], row["capture"], row["verdict"]) for row in rows] == [
        ("Head", "export", "ok"),
        ("Classifier", "export", "ok"),
        ("Gate", "fx", "fails"),
    ]
