"""What ``fx-lsp check`` prints of what it found."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from junitparser import JUnitXml
from pydantic import BaseModel
from sarif_pydantic import Location, Sarif

from fx_lsp.agent.messages import Failure, Proof, Recipe, Report, Snippet, Span, Step, Target
from fx_lsp.analysis.findings import Finding
from fx_lsp.analysis.related_places import Link
from fx_lsp.analysis.results import FileResult, Traced
from fx_lsp.check.check_files import Checked, Problem
from fx_lsp.cli.baseline import new_problems, write
from fx_lsp.cli.formats import render
from fx_lsp.cli.formats.full import full, summary
from fx_lsp.documents.documents import Documents, Place
from fx_lsp.errors import CannotCheck
from fx_lsp.fixes import Fix, TextChange
from fx_lsp.rules import rule_for


@dataclass
class Found:
    """Problems in files of the working directory, described by the text that they are at."""

    folder: Path
    documents: Documents

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_bytes(text.encode())

    def place(self, name: str, text: str) -> Place:
        path = str(self.folder / name)
        start = (self.documents.text(path) or "").index(text)
        return Place(path, start, start + len(text), 0)

    def problem(self, place: Place, *links: Link, fixes: tuple[Fix, ...] = (), kind: str = "control-flow") -> Problem:
        step = Step("forward", Span(place.path, 1, 0, 1, 0))
        failure = Failure(kind, "TraceError: no", (step,))
        severity = rule_for(kind).severity
        return Problem(Finding(failure, "No way.\nNot here.", place, links, ("f", "g(é)"), 0, severity), fixes)

    def checked(self, *problems: Problem) -> Checked:
        traced = {title: self.traced(title, problems) for title in ("f", "g(é)")}
        return Checked(problems, self.documents, {str(self.folder / "model.py"): FileResult(traced)}, unread={})

    def traced(self, title: str, problems: Sequence[Problem]) -> Traced:
        place = Place(str(self.folder / "model.py"), 0, 0, 0)
        target = Target(title, title, Span(place.path, 1, 0, 1, 0), Recipe(Snippet(title, 1)))
        return Traced(target, place, Report(1, title, "traced"), tuple(problem.finding for problem in problems))


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Found:
    monkeypatch.chdir(tmp_path)
    return Found(tmp_path, Documents())


def page(found: Found, problem: Problem) -> str:
    return full(found.checked(problem), color=False).partition("\n\nTraced ")[0]


class TestFull:
    def test_the_message_the_line_and_carets_under_the_expression(self, found: Found) -> None:
        found.write("model.py", "def f(x):\n    if x.sum() > 0:\n        return x\n")
        assert page(found, found.problem(found.place("model.py", "x.sum() > 0"))) == (
            "error[control-flow]: No way. Not here.\n"
            " --> model.py:2:8\n"
            "  |\n"
            "2 |     if x.sum() > 0:\n"
            "  |        ^^^^^^^^^^^\n"
            "note: while tracing `f`, `g(é)`"
        )

    @pytest.mark.parametrize(
        ("line", "shown", "carets"),
        [
            ("\tif len(x):", "    if len(x):", "       ^^^^^^"),
            ("  \tlen(x)\t# a", "    len(x)  # a", "    ^^^^^^"),
            ("漢 = '😋'; len(x)", "漢 = '😋'; len(x)", "           ^^^^^^"),
            ("é = 'e\u0301'; len(x)", "é = 'e\u0301'; len(x)", "         ^^^^^^"),
        ],
    )
    def test_carets_stand_under_what_a_terminal_shows(self, found: Found, line: str, shown: str, carets: str) -> None:
        found.write("model.py", line + "\n")
        assert page(found, found.problem(found.place("model.py", "len(x)"))).splitlines()[3:5] == [
            f"1 | {shown}",
            f"  | {carets}",
        ]

    def test_carets_under_wide_characters(self, found: Found) -> None:
        found.write("model.py", "f('漢\t字')\n")
        assert page(found, found.problem(found.place("model.py", "'漢\t字'"))).splitlines()[3:5] == [
            "1 | f('漢   字')",
            "  |   ^^^^^^^^^",
        ]

    def test_an_expression_of_several_lines(self, found: Found) -> None:
        found.write("model.py", "y = f(\n    x,\n    z\n) + 1\n")
        assert page(found, found.problem(found.place("model.py", "f(\n    x,\n    z\n)"))).splitlines()[3:-1] == [
            "1 | y = f(",
            "  |     ^^",
            "2 |     x,",
            "  |     ^^",
            "3 |     z",
            "  |     ^",
            "4 | ) + 1",
            "  | ^",
        ]

    def test_an_expression_of_too_many_lines(self, found: Found) -> None:
        call = "f(\n" + "    x,\n" * 9 + ")"
        found.write("model.py", f"{call}\n")
        rows = page(found, found.problem(found.place("model.py", call))).splitlines()
        assert rows[-2] == "  | ..."
        assert rows[-4].startswith("6 |")

    def test_nothing_to_underline_still_has_a_caret(self, found: Found) -> None:
        found.write("model.py", "\n")
        place = Place(str(found.folder / "model.py"), 0, 0, 0)
        assert page(found, found.problem(place)).splitlines()[3:5] == ["1 |", "  | ^"]

    def test_related_places_are_shown_with_their_lines(self, found: Found) -> None:
        found.write("model.py", "\n" * 9 + "y = half(x)\n")
        found.write("helper.py", "len(x)\n")
        link = Link("called in `Net.forward`", found.place("model.py", "half(x)"))
        assert page(found, found.problem(found.place("helper.py", "len(x)"), link)).splitlines()[6:] == [
            "note: called in `Net.forward`",
            "  --> model.py:10:5",
            "   |",
            "10 | y = half(x)",
            "   |     -------",
        ]

    def test_a_fix_shows_the_lines_it_puts_in_and_takes_out(self, found: Found) -> None:
        found.write("model.py", "import torch\n\nold = 1\n\nlen(x)\n")
        path = str(found.folder / "model.py")
        changes = (
            TextChange(Span(path, 2, 0, 2, 0), "import torch.fx\n\nwrap\n"),
            TextChange(Span(path, 3, 0, 4, 0), "new = 1\n"),
        )
        problem = found.problem(found.place("model.py", "len(x)"), fixes=(Fix("Mend it", changes),))
        assert page(found, problem).splitlines()[6:] == [
            "help: Mend it",
            "2 + import torch.fx",
            "3 - old = 1",
            "4 + wrap",
            "6 + new = 1",
        ]

    def test_a_fix_within_a_line_shows_the_whole_line_before_and_after(self, found: Found) -> None:
        found.write("model.py", "if y:\n\tz = len(x)\n")
        span = Span(str(found.folder / "model.py"), 2, 5, 2, 11)
        fixes = (Fix("Use size", (TextChange(span, "x.size(0)"),)),)
        problem = found.problem(found.place("model.py", "len(x)"), fixes=fixes)
        assert page(found, problem).splitlines()[6:] == [
            "help: Use size",
            "2 -     z = len(x)",
            "2 +     z = x.size(0)",
        ]

    def test_a_fix_in_another_file_names_the_file(self, found: Found) -> None:
        found.write("model.py", "len(x)\n")
        found.write("other.py", "y = 1\n")
        change = TextChange(Span(str(found.folder / "other.py"), 2, 0, 2, 0), "z = 2\n")
        problem = found.problem(found.place("model.py", "len(x)"), fixes=(Fix("Add z", (change,)),))
        assert page(found, problem).splitlines()[6:] == ["help: Add z", " --> other.py", "2 + z = 2"]

    def test_colors_change_nothing_else(self, found: Found) -> None:
        found.write("model.py", "len(x)\n")
        checked = found.checked(found.problem(found.place("model.py", "len(x)")))
        colored = full(checked, color=True)
        assert "\x1b[1;31merror[control-flow]\x1b[0m" in colored
        plain = colored
        for code in ("1;31", "1;36", "1", "34", "0"):
            plain = plain.replace(f"\x1b[{code}m", "")
        assert plain == full(checked, color=False)

    def test_the_summary(self, found: Found) -> None:
        found.write("model.py", "len(x)\n")
        problem = found.problem(found.place("model.py", "len(x)"))
        assert summary(found.checked(problem)) == "Traced 2 models and functions in 1 file: 1 problem found."
        assert summary(found.checked()) == "Traced 2 models and functions in 1 file: no problem found."
        assert summary(Checked((), found.documents, {}, {})) == "Nothing to trace was found."


def test_agents_are_shown_the_smallest_edit(found: Found) -> None:
    found.write("model.py", "x = 1\ny = len(x)\n")
    place, path = found.place("model.py", "len(x)"), str(found.folder / "model.py")
    large = Fix("Wrap it", (TextChange(Span(path, 1, 0, 1, 0), "import torch.fx\n\ntorch.fx.wrap('len')\n\n"),))
    small = Fix("Use size", (TextChange(Span(path, 2, 4, 2, 10), "x.size(0)"),))
    problem = found.problem(place, fixes=(large, small))
    expected = [
        "model.py:2:5: error[control-flow] No way. Not here.",
        "edit: Use size",
        "--- a/model.py",
        "+++ b/model.py",
        "@@ -2 +2 @@",
        "-y = len(x)",
        "+y = x.size(0)",
    ]
    assert render("agent", found.checked(problem)).splitlines() == expected
    proven = dataclasses.replace(problem, proofs={large: Proof(0, "proven", ""), small: Proof(0, "untried", "")})
    assert "edit: Wrap it (proven)" in render("agent", found.checked(proven))
    refuted = dataclasses.replace(problem, fixes=(small,), proofs={small: Proof(0, "refuted", "")})
    assert "edit:" not in render("agent", found.checked(refuted))


def test_concise_is_one_line_with_columns_in_characters(found: Found) -> None:
    found.write("model.py", "'é😋'; len(x)\n")
    problem = found.problem(found.place("model.py", "len(x)"))
    shown = render("concise", found.checked(problem, problem))
    assert shown.splitlines() == ["model.py:1:7: control-flow No way. Not here."] * 2
    assert render("concise", found.checked()) == ""


def test_what_came_of_trying_a_fix_is_told_to_people(found: Found) -> None:
    found.write("model.py", "len(x)\n")
    place = found.place("model.py", "len(x)")
    fix = Fix("Use size", (TextChange(Span(str(found.folder / "model.py"), 1, 0, 1, 6), "x.size(0)"),))
    problem = found.problem(place, fixes=(fix,))
    tried = dataclasses.replace(problem, proofs={fix: Proof(0, "untried", "no inputs were found")})
    result = "Use size (not proven: no inputs were found)"
    assert f"help: {result}" in full(found.checked(tried), color=False)
    line = "model.py:1:1: control-flow No way. Not here."
    assert render("concise", found.checked(problem)) == line
    assert render("concise", found.checked(tried)) == f"{line} [Use size: not proven: no inputs were found]"


def test_json_counts_as_the_protocol_does(found: Found) -> None:
    found.write("model.py", "'é😋'; len(x)\r\ny\r\n")
    (found.folder / "lib").mkdir()
    found.write("lib/é.py", "\ncall()\n")
    path = str(found.folder / "model.py")
    fix = Fix("Mend it", (TextChange(Span(path, 1, 10, 1, 13), "y"),))
    link = Link("called in `f`", found.place("lib/é.py", "call()"))
    problem = found.problem(found.place("model.py", "len(x)\r\ny"), link, fixes=(fix,), kind="time-limit")

    def range_of(line: int, character: int, end_line: int, end: int) -> dict[str, dict[str, int]]:
        return {"start": {"line": line, "character": character}, "end": {"line": end_line, "character": end}}

    assert json.loads(render("json", found.checked(problem))) == [
        {
            "path": "model.py",
            "range": range_of(0, 7, 1, 1),
            "severity": "warning",
            "code": "time-limit",
            "message": "No way.\nNot here.",
            "capture": "fx",
            "target": "f, g(é)",
            "related": [{"path": "lib/é.py", "range": range_of(1, 0, 1, 6), "message": "called in `f`"}],
            "fixes": [
                {
                    "title": "Mend it",
                    "edits": [{"path": "model.py", "range": range_of(0, 7, 0, 10), "text": "y"}],
                    "proof": None,
                }
            ],
        }
    ]
    assert render("json", found.checked()) == "[]"


def test_jsonl_is_one_object_a_line(found: Found) -> None:
    found.write("model.py", "len(x)\n")
    checked = found.checked(*[found.problem(found.place("model.py", "len(x)"))] * 2)
    lines = render("jsonl", checked).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(render("json", checked))


def test_github_gets_a_command_a_problem_with_its_characters_escaped(found: Found) -> None:
    found.write("a,b:100%.py", "len(x)\nlen(\n  y)\n")
    one = found.problem(found.place("a,b:100%.py", "len(x)"))
    more = found.problem(found.place("a,b:100%.py", "len(\n  y)"), kind="time-limit")
    file = "a%2Cb%3A100%25.py"
    assert [line.split(",file=") for line in render("github", found.checked(one, more)).splitlines()] == [
        ["::error title=fx-lsp control-flow", f"{file},line=1,col=1,endLine=1,endColumn=6::No way. Not here."],
        ["::warning title=fx-lsp time-limit", f"{file},line=2,col=1,endLine=3,endColumn=5::No way. Not here."],
    ]


def test_gitlab_gets_an_issue_a_problem_each_with_a_fingerprint_of_its_own(found: Found) -> None:
    found.write("model.py", "len(x)\n")
    problem = found.problem(found.place("model.py", "len(x)"))
    first, second = json.loads(render("gitlab", found.checked(problem, problem)))
    assert first.pop("fingerprint") != second.pop("fingerprint")
    assert (
        first
        == second
        == {
            "description": "No way. Not here.",
            "check_name": "control-flow",
            "severity": "major",
            "location": {
                "path": "model.py",
                "positions": {"begin": {"line": 1, "column": 1}, "end": {"line": 1, "column": 7}},
            },
        }
    )


class TestSarif:
    def test_it_conforms_to_the_standard(self, found: Found) -> None:
        log = self.log(found)
        assert list(_unknown(log)) == ["columnKind"]  # which the standard has and sarif_pydantic forgot
        assert len(log.runs[0].results) == 2

    def test_a_result_names_its_rule_its_place_the_way_there_and_the_fix(self, found: Found) -> None:
        run = self.log(found).runs[0]
        result = run.results[0]
        rules = run.tool.driver.rules
        assert rules[result.rule_index].id == result.rule_id == "control-flow"
        assert [self.region(location) for location in result.locations] == [("model%20%C3%A9.py", 1, 7, 1, 13)]
        assert [self.region(location) for location in result.related_locations] == [("model%20%C3%A9.py", 2, 1, 2, 7)]
        (fix,) = result.fixes
        (change,) = fix.artifact_changes
        (replacement,) = change.replacements
        assert replacement.inserted_content is not None
        assert (replacement.deleted_region.start_column, replacement.inserted_content.text) == (7, "y")

    @staticmethod
    def log(found: Found) -> Sarif:
        found.write("model é.py", "'é😋'; len(x)\ncall()\n")
        path = str(found.folder / "model é.py")
        fix = Fix("Mend it", (TextChange(Span(path, 1, 10, 1, 16), "y"),))
        link = Link("called in `f`", found.place("model é.py", "call()"))
        problem = found.problem(found.place("model é.py", "len(x)"), link, fixes=(fix,))
        return Sarif.model_validate_json(render("sarif", found.checked(problem, problem)))

    @staticmethod
    def region(location: Location) -> tuple[str, int, int, int, int]:
        place = location.physical_location
        region = place.region
        return (
            place.artifact_location.uri,
            region.start_line,
            region.start_column,
            region.end_line,
            region.end_column,
        )


def _unknown(value: object) -> Iterator[str]:
    """The names of what a parsed log has beyond the standard."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _unknown(item)
    elif isinstance(value, BaseModel):
        yield from value.model_extra or ()
        for name in type(value).model_fields:
            yield from _unknown(getattr(value, name))


class TestJUnit:
    def test_a_case_for_each_target_fails_where_something_is_wrong(self, found: Found) -> None:
        found.write("model.py", "len(x)\n")
        checked = found.checked(found.problem(found.place("model.py", "len(x)")))
        (suite,) = JUnitXml.fromstring(render("junit", checked).encode())
        assert (suite.name, suite.tests, suite.failures, suite.errors) == ("model.py", 2, 2, 0)
        assert [case.name for case in suite] == ["f", "g(é)"]
        assert {result.text for case in suite for result in case.result} == {
            "model.py:1:1: control-flow No way. Not here."
        }

    def test_problems_that_are_not_shown_are_no_failures(self, found: Found) -> None:
        found.write("model.py", "len(x)\n")
        checked = found.checked(found.problem(found.place("model.py", "len(x)")))
        (suite,) = JUnitXml.fromstring(render("junit", dataclasses.replace(checked, problems=())).encode())
        assert (suite.tests, suite.failures, suite.errors) == (2, 0, 0)

    def test_characters_that_xml_cannot_have(self, found: Found) -> None:
        found.write("model.py", "len(x)\n")
        problem = found.problem(found.place("model.py", "len(x)"))
        told = dataclasses.replace(problem, finding=dataclasses.replace(problem.finding, message="<a & \0 b>"))
        (suite,) = JUnitXml.fromstring(render("junit", found.checked(told)).encode())
        assert {result.text for case in suite for result in case.result} == {
            "model.py:1:1: control-flow <a & \ufffd b>"
        }


def test_statistics_count_by_rule_the_most_frequent_first(found: Found) -> None:
    found.write("model.py", "len(x)\n")
    place = found.place("model.py", "len(x)")
    problems = [found.problem(place, kind=kind) for kind in ("len", "control-flow", "control-flow")]
    assert [line.split()[:2] for line in render("statistics", found.checked(*problems)).splitlines()] == [
        ["2", "control-flow"],
        ["1", "len"],
    ]


class TestBaseline:
    def test_a_problem_in_the_baseline_is_not_shown_wherever_it_has_moved(self, found: Found) -> None:
        found.write("model.py", "len(x)\n")
        write(found.folder / "known.json", found.checked(found.problem(found.place("model.py", "len(x)"))))
        found.write("model.py", "import torch\n\n\n    len(x)\n")
        moved = Found(found.folder, Documents())
        old = moved.problem(moved.place("model.py", "len(x)"))
        new = moved.problem(moved.place("model.py", "torch"))
        assert new_problems(found.folder / "known.json", moved.checked(old, new)) == (new,)

    def test_a_second_problem_like_it_is_new(self, found: Found) -> None:
        found.write("model.py", "len(x)\n")
        problem = found.problem(found.place("model.py", "len(x)"))
        write(found.folder / "known.json", found.checked(problem))
        assert new_problems(found.folder / "known.json", found.checked(problem, problem)) == (problem,)

    @pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 0, "problems": {}}', "\xff"])
    def test_a_file_that_is_not_a_baseline_is_an_error(self, found: Found, content: str) -> None:
        (found.folder / "known.json").write_text(content, encoding="latin-1")
        with pytest.raises(CannotCheck, match="is not a baseline"):
            new_problems(found.folder / "known.json", found.checked())

    def test_a_file_that_is_missing(self, found: Found) -> None:
        with pytest.raises(CannotCheck, match="with --write-baseline"):
            new_problems(found.folder / "known.json", found.checked())


def test_paths_outside_of_the_working_directory(found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    found.write("model.py", "len(x)\n")
    (found.folder / "inner").mkdir()
    monkeypatch.chdir(found.folder / "inner")
    line = render("concise", found.checked(found.problem(found.place("model.py", "len(x)"))))
    assert line.startswith(str(Path("..", "model.py")) + ":1:1: ")
