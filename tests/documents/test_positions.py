import ast
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fx_lsp.documents.positions import Edit, Encoding, LineIndex, Position, shifted, stretched

ENCODINGS: list[Encoding] = ["utf-8", "utf-16", "utf-32"]
TEXTS = st.text(st.sampled_from("aé😋\t\f\u2028\r\n "), max_size=30)


@pytest.mark.parametrize(
    ("encoding", "character"), [("utf-8", 4 + 2 + 4 + 3), ("utf-16", 4 + 1 + 2 + 3), ("utf-32", 4 + 1 + 1 + 3)]
)
def test_a_place_behind_other_characters_has_the_clients_units(encoding: Encoding, character: int) -> None:
    text = "y = é😋 + x"
    lines = LineIndex(text)
    assert lines.position(text.index("x"), encoding) == Position(0, character)
    assert lines.offset_of_client(Position(0, character), encoding) == text.index("x")


def test_a_place_inside_a_character_is_the_characters_start() -> None:
    lines = LineIndex("a😋b")
    assert [lines.offset_of_client(Position(0, n), "utf-8") for n in range(7)] == [0, 1, 1, 1, 1, 2, 3]
    assert [lines.offset_of_client(Position(0, n), "utf-16") for n in range(5)] == [0, 1, 1, 2, 3]


@pytest.mark.parametrize("position", [Position(0, 99), Position(1, 0), Position(99, 0), Position(-1, 5)])
def test_places_outside_are_clamped(position: Position) -> None:
    assert LineIndex("abc").offset_of_client(position, "utf-16") == (0 if position.line < 0 else 3)


def test_a_place_past_a_lines_end_stays_on_the_line() -> None:
    assert LineIndex("ab\r\ncd").offset_of_client(Position(0, 9), "utf-16") == 2
    assert LineIndex("ab\r\ncd").position(3, "utf-16") == Position(0, 2)


@pytest.mark.parametrize("before", ["", "\ufeff", "# é😋\r\n", "a = 1\rb = 2\n", "x = 1\n\f\n", "s = 'é😋\t'; "])
def test_the_compilers_columns_find_the_same_text(before: str) -> None:
    text = f"{before}é = len(x)\n"
    call = next(node for node in ast.walk(ast.parse(text.removeprefix("\ufeff"))) if isinstance(node, ast.Call))
    assert call.end_lineno is not None
    assert call.end_col_offset is not None
    lines = LineIndex(text)
    start = lines.offset_of_python(call.lineno, call.col_offset)
    end = lines.offset_of_python(call.end_lineno, call.end_col_offset)
    assert text[start:end] == "len(x)"


def test_lines_end_where_the_protocol_says() -> None:
    lines = LineIndex("a\fb\u2028c\x0bd\r\ne\rf\n")
    assert [lines.line(n) for n in range(6)] == ["a\fb\u2028c\x0bd", "e", "f", "", "", ""]
    assert lines.line(-1) == ""


@given(TEXTS)
def test_every_offset_survives_the_way_there_and_back(text: str) -> None:
    lines = LineIndex(text)
    for encoding, offset in itertools.product(ENCODINGS, range(len(text) + 1)):
        inside_line_end = text[offset - 1 : offset + 1] == "\r\n"
        back = lines.offset_of_client(lines.position(offset, encoding), encoding)
        assert back == (offset - 1 if inside_line_end else offset)


@given(TEXTS, TEXTS)
def test_the_edit_between_two_texts_makes_one_of_the_other(old: str, new: str) -> None:
    edit = Edit.between(old, new)
    assert old[: edit.start] + new[edit.start : edit.start + edit.length] + old[edit.end :] == new
    assert edit.start <= edit.end
    assert edit.length >= 0


def test_a_replaced_document_touches_only_what_differs() -> None:
    assert Edit.between("a = 1\nb = 2\n", "a = 1\nbb = 2\n") == Edit(7, 7, 1)
    assert Edit.between("xx", "xxx", at=10) == Edit(12, 12, 1)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit(0, 0, 3), (8, 10)),
        (Edit(1, 4, 0), (2, 4)),
        (Edit(5, 5, 1), (6, 8)),
        (Edit(3, 5, 1), (4, 6)),
        (Edit(7, 7, 1), (5, 7)),
        (Edit(7, 9, 0), (5, 7)),
        (Edit(6, 6, 1), None),
        (Edit(4, 6, 1), None),
        (Edit(6, 8, 2), None),
        (Edit(0, 99, 0), None),
    ],
)
def test_a_span_follows_its_text(edit: Edit, expected: tuple[int, int] | None) -> None:
    assert shifted(5, 7, [edit]) == expected


@given(st.data())
def test_a_span_that_is_kept_has_the_same_text(data: st.DataObject) -> None:
    text = data.draw(st.text("abc\n", min_size=1, max_size=20))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    kept, edits = text[start:end], []
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        until = data.draw(st.integers(at, len(text)))
        new = data.draw(st.text("xyz", max_size=4))
        text = text[:at] + new + text[until:]
        edits.append(Edit(at, until, len(new)))
    moved = shifted(start, end, edits)
    if moved is not None:
        assert text[slice(*moved)] == kept


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit(1, 4, 0), (2, 6)),
        (Edit(5, 5, 1), (6, 10)),
        (Edit(9, 9, 1), (5, 9)),
        (Edit(7, 7, 3), (5, 12)),
        (Edit(6, 8, 0), (5, 7)),
        (Edit(5, 9, 2), (5, 7)),
        (Edit(4, 6, 1), (5, 8)),
        (Edit(8, 12, 1), (5, 8)),
        (Edit(5, 9, 0), None),
        (Edit(4, 9, 3), None),
        (Edit(0, 99, 99), None),
    ],
)
def test_an_edited_span_keeps_to_what_is_left_of_its_text(edit: Edit, expected: tuple[int, int] | None) -> None:
    assert stretched(5, 9, [edit]) == expected
