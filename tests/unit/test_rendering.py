"""What ``fx-lsp check`` prints of what it found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.check import Checked, Problem
from fx_lsp.documents import Documents, Place
from fx_lsp.findings import Finding
from fx_lsp.fixes import Fix, TextChange
from fx_lsp.links import Link
from fx_lsp.rendering import as_json, concise
from fx_lsp.terminal import full, summary


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
        return Problem(Finding(failure, "No way.\nNot here.", place, links, ("f", "g(é)"), 0), fixes)

    def checked(self, *problems: Problem) -> Checked:
        return Checked(problems, self.documents, files=1, targets=2, unread=())


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Found:
    monkeypatch.chdir(tmp_path)
    return Found(tmp_path, Documents())


def page(found: Found, problem: Problem) -> str:
    return full(found.checked(problem), colour=False).partition("\n\nTraced ")[0]


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

    def test_the_way_there(self, found: Found) -> None:
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
            "4 + wrap",
            "3 - old = 1",
            "6 + new = 1",
        ]

    def test_colours_change_nothing_else(self, found: Found) -> None:
        found.write("model.py", "len(x)\n")
        checked = found.checked(found.problem(found.place("model.py", "len(x)")))
        coloured = full(checked, colour=True)
        assert "\x1b[1;31merror[control-flow]\x1b[0m" in coloured
        plain = coloured
        for code in ("1;31", "1;36", "1", "34", "0"):
            plain = plain.replace(f"\x1b[{code}m", "")
        assert plain == full(checked, colour=False)

    def test_the_summary(self, found: Found) -> None:
        found.write("model.py", "len(x)\n")
        problem = found.problem(found.place("model.py", "len(x)"))
        assert summary(found.checked(problem)) == "Traced 2 models and functions in 1 file: 1 problem found."
        assert summary(found.checked()) == "Traced 2 models and functions in 1 file: no problem found."
        assert summary(Checked((), found.documents, 0, 0, ())) == "Nothing to trace was found."


def test_concise_is_one_line_with_columns_in_characters(found: Found) -> None:
    found.write("model.py", "'é😋'; len(x)\n")
    problem = found.problem(found.place("model.py", "len(x)"))
    assert concise(found.checked(problem, problem)) == "\n".join(["model.py:1:7: control-flow No way. Not here."] * 2)
    assert concise(found.checked()) == ""


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

    assert json.loads(as_json(found.checked(problem))) == [
        {
            "path": "model.py",
            "range": range_of(0, 7, 1, 1),
            "severity": "warning",
            "code": "time-limit",
            "message": "No way.\nNot here.",
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
    assert as_json(found.checked()) == "[]"


def test_paths_outside_of_the_working_directory(found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    found.write("model.py", "len(x)\n")
    (found.folder / "inner").mkdir()
    monkeypatch.chdir(found.folder / "inner")
    line = concise(found.checked(found.problem(found.place("model.py", "len(x)"))))
    assert line.startswith(str(Path("..", "model.py")) + ":1:1: ")
