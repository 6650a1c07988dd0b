import dataclasses
from pathlib import Path

import pytest

from fx_lsp.agent.messages import Failure, Intent, Recipe, Report, Snippet, Span, Step, Target
from fx_lsp.analysis.findings import Finding, findings_of, merged
from fx_lsp.documents.documents import Documents
from fx_lsp.settings.rule_selection import Selection
from tests.analysis.fake_agent import failure_at, span_of

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

    def found(
        self, *failures: Failure, title: str = "forward", intent: Intent = "inferred", unfinished: str = ""
    ) -> list[Finding]:
        span = span_of(self.model, MODEL, "forward")
        target = Target("key", title, span, Recipe(Snippet("forward", 1)))
        report = Report(1, "key", "failed", failures, intent=intent, unfinished=unfinished)
        snapshot = Documents().snapshot()
        return findings_of(target, report, snapshot, lambda path: path.startswith(str(self.own)), Selection())


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
    assert [(link.text, Path(link.place.path).name) for link in finding.links] == [("called in `f0`", "model.py")]


def test_the_first_failure_says_that_there_may_be_more(files: Files) -> None:
    failures = [failure_at(span_of(files.helper, HELPER, part)) for part in ("len(x)", "x)")]
    first, second = (finding.message for finding in files.found(*failures, unfinished="the search was slow"))
    assert first.endswith("There may be more failures: the search was slow.")
    assert "more failures" not in second


def test_a_failure_in_a_library_is_shown_where_the_users_code_enters_it(files: Files) -> None:
    call = span_of(files.model, MODEL, "resize(x)")
    (finding,) = files.found(failure_at(call, span_of(files.library, LIBRARY, "len(x)")))
    assert shown(finding) == ("model.py", "resize(x)")
    assert "`len(x)`" in finding.message
    assert "library.py, line 2" in finding.message
    assert [(link.text, Path(link.place.path).name) for link in finding.links] == [("fails in `f1`", "library.py")]


def test_a_failure_without_a_place_is_shown_at_its_target(files: Files) -> None:
    (finding,) = files.found(Failure("time-limit", "TimeoutError: 10 seconds"))
    assert shown(finding) == ("model.py", "forward")


def test_frames_without_a_file_are_left_out(files: Files) -> None:
    call = span_of(files.model, MODEL, "scale(resize(x))")
    (finding,) = files.found(failure_at(call, Span("<string>", 1, 0, 1, 5)))
    assert shown(finding) == ("model.py", "scale(resize(x))")
    assert finding.links == ()


def test_a_cause_is_linked_except_for_what_the_failing_expression_shows(files: Files) -> None:
    failing = span_of(files.model, MODEL, "scale(resize(x))")
    within = span_of(files.model, MODEL, "resize(x)")
    causes = [span_of(files.helper, HELPER, part) for part in ("def", "scale", "x", "return", "len(x)")]
    steps = tuple(Step(f"node_{index}", span) for index, span in enumerate([*causes, within]))
    (finding,) = files.found(dataclasses.replace(failure_at(failing), cause=steps))
    assert [link.text for link in finding.links] == [
        "the value depends on `def`",
        "the value depends on `return`",
        "the value depends on `len(x)`",
    ]


def test_a_later_failure_names_the_guess_that_led_to_it(files: Files) -> None:
    guessed = span_of(files.model, MODEL, "resize(x)")
    first = dataclasses.replace(failure_at(guessed), assumption="it is false")
    later = dataclasses.replace(failure_at(span_of(files.helper, HELPER, "len(x)")), after=guessed)
    _, finding = files.found(first, later)
    assert finding.message.endswith(" (Found after an earlier failure, by assuming that `resize(x)` is false.)")
    assert [(link.text, link.place) for link in finding.links] == [
        ("assuming that `resize(x)` is false", files.found(first)[0].place)
    ]


@pytest.mark.parametrize(
    ("kind", "operation", "assumption", "said"),
    [
        ("iteration", "resize", "it has 2 items", "a value in `resize(x)` has 2 items"),
        ("iteration", "star", "it has 2 items", "a value in `resize(x)` has 2 items"),
        ("iteration", "for", "it has 2 items", "`resize(x)` has 2 items"),
        ("control-flow", "resize", "it is false", "a condition evaluated by `resize(x)` is false"),
        ("control-flow", "if", "it is false", "`resize(x)` is false"),
        ("conversion", "index", "it is 1", "a value in `resize(x)` is 1"),
        ("len", "resize", "it is 2", "the length needed by `resize(x)` is 2"),
    ],
)
def test_a_guess_about_a_value_that_an_expression_uses_is_not_worded_as_one_about_its_own_value(
    files: Files, kind: str, operation: str, assumption: str, said: str
) -> None:
    guessed = span_of(files.model, MODEL, "resize(x)")
    first = dataclasses.replace(failure_at(guessed, kind=kind), assumption=assumption, operation=operation)
    later = dataclasses.replace(failure_at(span_of(files.helper, HELPER, "len(x)")), after=guessed)
    _, finding = files.found(first, later)
    assert finding.message.endswith(f" (Found after an earlier failure, by assuming that {said}.)")


def test_a_condition_that_a_call_evaluates_is_not_worded_as_its_result(files: Files) -> None:
    decided = span_of(files.model, MODEL, "resize(x)")
    first = dataclasses.replace(failure_at(decided, kind="control-flow"), assumption="it is false", operation="resize")
    beyond = failure_at(span_of(files.helper, HELPER, "len(x)"))
    _, finding = files.found(first, dataclasses.replace(beyond, after=decided, other_side="it is true"))
    assert finding.message.endswith(" (Reached only if a condition evaluated by `resize(x)` is true.)")


def test_a_failure_that_the_trace_ended_at_is_not_an_assumption(files: Files) -> None:
    ended = span_of(files.model, MODEL, "resize(x)")
    later = dataclasses.replace(failure_at(span_of(files.helper, HELPER, "len(x)")), after=ended)
    _, finding = files.found(failure_at(ended, kind="exception"), later)
    assert "assuming" not in finding.message
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


@pytest.mark.parametrize(
    ("intent", "kind", "severity"),
    [
        ("explicit", "len", "error"),
        ("inferred", "len", "warning"),
        ("assumed", "len", "hint"),
        ("explicit", "build", "warning"),
        ("assumed", "build", "hint"),
        ("assumed", "import", "warning"),
        ("assumed", "missing-package", "information"),
    ],
)
def test_the_severity_depends_on_why_the_target_is_traced(
    files: Files, intent: Intent, kind: str, severity: str
) -> None:
    call = span_of(files.model, MODEL, "scale(resize(x))")
    (finding,) = files.found(failure_at(call, kind=kind), intent=intent)
    assert finding.severity == severity


def test_a_finding_of_several_targets_has_their_highest_severity(files: Files) -> None:
    failure = failure_at(span_of(files.model, MODEL, "scale(resize(x))"))
    found = [
        finding for intent in ("assumed", "explicit", "inferred") for finding in files.found(failure, intent=intent)
    ]
    assert [finding.severity for finding in found] == ["hint", "error", "warning"]
    assert [finding.severity for finding in merged(found)] == ["error"]
