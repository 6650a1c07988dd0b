"""Which notices become findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.agent.messages import Failure, Recipe, Report, Snippet, Span, Step, Target
from fx_lsp.analysis.findings import findings_of
from fx_lsp.documents.documents import Documents
from fx_lsp.settings.rule_selection import Selection

TEXT = "def forward(x):\n    return x\n"


def found(folder: Path, selection: Selection) -> list[tuple[str, str]]:
    """The kinds and files of the findings of three notices: one is off by default, one is not in the workspace."""
    own, library = folder / "own.py", folder / "library.py"
    for file in (own, library):
        file.write_text(TEXT, encoding="utf-8")
    notices = (_notice("text", own), _notice("training-flag", own), _notice("text", library))
    target = Target("key", "forward", Span(str(own), 1, 4, 1, 11), Recipe(Snippet("forward", 1)))
    report = Report(1, "key", "traced", notices=notices)
    findings = findings_of(target, report, Documents().snapshot(), lambda path: path == str(own), selection)
    return [(finding.failure.kind, Path(finding.place.path).name) for finding in findings]


def _notice(kind: str, file: Path) -> Failure:
    return Failure(kind, "detail", (Step("forward", Span(str(file), 2, 11, 2, 12)),))


@pytest.mark.parametrize("wanted", [(), ("grad-mode",)])
def test_notices_on_by_default_are_shown_in_the_workspace(tmp_path: Path, wanted: tuple[str, ...]) -> None:
    assert found(tmp_path, Selection(notices=wanted)) == [("text", "own.py")]


@pytest.mark.parametrize("wanted", [("training-flag",), ("all",)])
def test_other_notices_are_shown_if_selected(tmp_path: Path, wanted: tuple[str, ...]) -> None:
    assert found(tmp_path, Selection(notices=wanted)) == [("text", "own.py"), ("training-flag", "own.py")]


def test_a_selected_notice_is_shown_even_if_off_by_default(tmp_path: Path) -> None:
    assert found(tmp_path, Selection(select=("training-flag",))) == [("training-flag", "own.py")]


def test_an_ignored_notice_is_not_shown_even_if_selected(tmp_path: Path) -> None:
    assert found(tmp_path, Selection(notices=("all",), ignore=("text",))) == [("training-flag", "own.py")]
    assert found(tmp_path, Selection(select=("text",), ignore=("text",))) == []
