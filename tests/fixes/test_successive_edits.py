"""Several edits of a text as changes of the first one."""

from __future__ import annotations

import random

from fx_lsp.agent.messages import Span
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes.editing import TextChange
from fx_lsp.fixes.editing.successive_edits import EditedText
from fx_lsp.fixes.editing.text_edits import applied

TEXT = "n = int(x)\nif n > 2:\n    y = é(n)\n"


def replacing(text: str, old: str, new: str) -> TextChange:
    """The change of the only ``old`` in a text."""
    before, _, _ = text.partition(old)
    lines = LineIndex(text)
    start, end = (lines.position(at, "utf-8") for at in (len(before), len(before) + len(old)))
    return TextChange(Span("f.py", start.line + 1, start.character, end.line + 1, end.character), new)


def test_edits_of_different_places_stay_apart() -> None:
    first = EditedText("f.py", LineIndex(TEXT)).after([replacing(TEXT, "int(x)", "x.long()")])
    assert first.text == "n = x.long()\nif n > 2:\n    y = é(n)\n"
    second = first.after([replacing(first.text, "é(n)", "é(n, 1)"), replacing(first.text, "if n > 2", "if n")])
    assert [change.text for change in second.changes] == ["x.long()", "if n", "é(n, 1)"]
    assert applied(second.changes, lambda path: LineIndex(TEXT)) == {"f.py": second.text}


def test_an_edit_of_what_another_has_added_is_a_part_of_it() -> None:
    first = EditedText("f.py", LineIndex(TEXT)).after([replacing(TEXT, "int(x)", "x.long()")])
    second = first.after([replacing(first.text, "long", "int")])
    assert second.changes == (replacing(TEXT, "int(x)", "x.int()"),)
    assert EditedText("g.py", LineIndex(TEXT)).after(second.changes).changes == ()


def test_a_place_is_found_where_it_was_at_first() -> None:
    edited = EditedText("f.py", LineIndex(TEXT)).after([replacing(TEXT, "int(x)", "x.long()\nz = 1")])

    def first(text: str) -> str:
        place = edited.first_place(replacing(edited.text, text, "").span)
        lines = LineIndex(TEXT)
        start, end = (
            lines.offset_of_python(place.line, place.col),
            lines.offset_of_python(place.end_line, place.end_col),
        )
        return TEXT[start:end]

    assert first("n > 2") == "n > 2"
    assert first("é(n)") == "é(n)"
    assert first("z = 1") == "int(x)"
    assert first("n = x") == "n = int(x)"
    assert first("1\nif") == "int(x)\nif"


def test_random_edits_come_to_the_same_text() -> None:
    chance = random.Random(0)
    for _ in range(200):
        text = EditedText("f.py", LineIndex(TEXT))
        for _ in range(4):
            start = chance.randrange(len(text.text) + 1)
            end = min(len(text.text), start + chance.choice((0, 1, 3)))
            ends = (LineIndex(text.text).position(at, "utf-8") for at in (start, end))
            (line, col), (end_line, end_col) = ends
            added = chance.choice(("", "a", "b\n"))
            text = text.after([TextChange(Span("f.py", line + 1, col, end_line + 1, end_col), added)])
        assert applied(text.changes, lambda path: LineIndex(TEXT)).get("f.py", TEXT) == text.text
