from pathlib import Path

import pytest

from fx_lsp.agent.messages import Failure, Recipe, Report, Snippet, Span, Target
from fx_lsp.documents import Documents
from fx_lsp.findings import Finding, findings_of, merged
from tests.unit.fake_agent import failure_at, span_of

MODEL = "def forward(x):\n    return scale(resize(x))\n"
HELPER = "def scale(x):\n    return len(x)\n"
LIBRARY = "def resize(x):\n    return [len(x)]\n"


class Files:
    """A model and a helper in a workspace, and a library outside of it."""

    def __init__(self, folder: Path) -> None:
        self.own = folder / "own"
        self.model = self._write("own/model.py", MODEL)
        self.helper = self._write("own/helper.py", HELPER)
        self.library = self._write("lib/library.py", LIBRARY)
        self._folder = folder

    def _write(self, name: str, text: str) -> str:
        path = self.own.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def found(self, *failures: Failure, title: str = "forward") -> list[Finding]:
        span = span_of(self.model, MODEL, "forward")
        target = Target("key", title, span, Recipe(Snippet("forward", 1)))
        report = Report(1, "key", "failed", failures)
        snapshot = Documents().snapshot()
        return findings_of(target, report, snapshot, lambda path: path.startswith(str(self.own)))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def shown(finding: Finding) -> tuple[str, str]:
    text = Path(finding.place.path).read_text(encoding="utf-8")
    return Path(finding.place.path).name, text[finding.place.start : finding.place.end]


def test_a_failure_is_shown_where_it_is(files: Files) -> None:
    call = span_of(files.model, MODEL, "scale(resize(x))")
    (finding,) = files.found(failure_at(call, span_of(files.helper, HELPER, "len(x)")))
    assert shown(finding) == ("helper.py", "len(x)")
    assert "`len(x)`" in finding.message
    assert [(link.name, Path(link.place.path).name, link.fails) for link in finding.links] == [
        ("f0", "model.py", False)
    ]


def test_a_failure_in_a_library_is_shown_where_the_users_code_enters_it(files: Files) -> None:
    call = span_of(files.model, MODEL, "resize(x)")
    (finding,) = files.found(failure_at(call, span_of(files.library, LIBRARY, "len(x)")))
    assert shown(finding) == ("model.py", "resize(x)")
    assert "`len(x)`" in finding.message
    assert "library.py, line 2" in finding.message
    assert [(Path(link.place.path).name, link.fails) for link in finding.links] == [("library.py", True)]


def test_a_failure_without_a_place_is_shown_at_its_target(files: Files) -> None:
    (finding,) = files.found(Failure("time-limit", "TimeoutError: 10 seconds"))
    assert shown(finding) == ("model.py", "forward")


def test_frames_that_are_no_files_are_left_out(files: Files) -> None:
    call = span_of(files.model, MODEL, "scale(resize(x))")
    (finding,) = files.found(failure_at(call, Span("<string>", 1, 0, 1, 5)))
    assert shown(finding) == ("model.py", "scale(resize(x))")
    assert finding.links == ()


def test_targets_that_fail_at_one_place_for_one_reason_are_one_finding(files: Files) -> None:
    call = span_of(files.model, MODEL, "scale(resize(x))")
    same = failure_at(call, span_of(files.helper, HELPER, "len(x)"))
    other_kind = failure_at(call, span_of(files.helper, HELPER, "len(x)"), kind="iteration")
    other_place = failure_at(call)
    found = (
        files.found(same, other_kind, title="a")
        + files.found(same, other_place, title="b")
        + files.found(same, title="b")
    )
    assert [(shown(finding)[1], finding.targets) for finding in merged(found)] == [
        ("len(x)", ("a", "b")),
        ("len(x)", ("a",)),
        ("scale(resize(x))", ("b",)),
    ]
