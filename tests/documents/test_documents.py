from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fx_lsp.agent.messages import Span
from fx_lsp.documents.documents import MOST_EDITS, Documents, on_disk
from fx_lsp.documents.positions import Change, LineIndex, Position
from tests.analysis.fake_agent import change_of, span_of

TEXT = "a = 1\nb = é😋(a)\n"


def test_edits_are_applied_one_after_another() -> None:
    documents = Documents()
    documents.open("/f.py", TEXT, 1)
    documents.change(
        "/f.py",
        [
            Change("xx\n", Position(0, 0), Position(0, 0)),
            Change("c", Position(1, 0), Position(1, 1)),
            Change("", Position(2, 7), Position(2, 8)),
        ],
        7,
    )
    assert documents.text("/f.py") == "xx\nc = 1\nb = é😋a)\n"
    assert documents.version("/f.py") == 7


def test_a_change_without_a_range_is_the_whole_text() -> None:
    documents = Documents()
    documents.open("/f.py", TEXT, 1)
    documents.change("/f.py", [Change("new")], 2)
    assert documents.text("/f.py") == "new"


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.text("a\r\n\f😋", max_size=3)), max_size=6))
def test_edits_at_form_feeds_and_lone_returns_hit_where_the_client_means(edits: list[tuple[int, int, str]]) -> None:
    text = "a\fb\r\nc\rd😋\n"
    documents = Documents()
    documents.open("/f.py", text, 1)
    for first, second, new in edits:
        start, end = sorted((min(first, len(text)), min(second, len(text))))
        if "\r\n" in (text[start - 1 : start + 1], text[end - 1 : end + 1]):
            continue
        documents.change("/f.py", [change_of(LineIndex(text), start, end, new)], 2)
        text = text[:start] + new + text[end:]
        assert documents.text("/f.py") == text


def test_files_that_are_not_open_are_read_from_disk(tmp_path: Path) -> None:
    path = tmp_path / "latin.py"
    path.write_bytes("# -*- coding: latin-1 -*-\nx = 'é'\r\n".encode("latin-1"))
    assert Documents().text(str(path)) == "# -*- coding: latin-1 -*-\nx = 'é'\r\n"
    assert Documents().text(str(tmp_path / "none.py")) is None
    assert Documents().text("<string>") is None


@pytest.mark.parametrize("content", [b"x = '\xff'\n", b"# coding: no-such-codec\n"])
def test_files_that_python_cannot_decode_have_no_text(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "f.py"
    path.write_bytes(content)
    assert on_disk(str(path)) is None


def test_overlays_are_the_unsaved_texts(tmp_path: Path) -> None:
    saved, unsaved, new = (str(tmp_path / name) for name in ("saved.py", "unsaved.py", "new.py"))
    documents = Documents()
    for path in (saved, unsaved):
        Path(path).write_text(TEXT, encoding="utf-8")
    for path in (saved, unsaved, new):
        documents.open(path, TEXT, 1)
    documents.change(unsaved, [Change("x")], 2)
    assert documents.snapshot().overlays() == {unsaved: "x", new: TEXT}


def test_a_place_follows_its_text_from_the_moment_it_was_found_at() -> None:
    documents = Documents()
    documents.open("/f.py", TEXT, 1)
    snapshot = documents.snapshot()
    documents.change("/f.py", [Change("# 😋\n", Position(0, 0), Position(0, 0))], 2)
    place = snapshot.place(span_of("/f.py", TEXT, "é😋(a)"))
    assert place is not None
    now = documents.now(place)
    assert now is not None
    assert (documents.text("/f.py") or "")[now.start : now.end] == "é😋(a)"
    assert documents.now(now) == now, "nothing has changed since"
    documents.change("/f.py", [Change("z", Position(2, 5), Position(2, 5))], 3)
    assert documents.now(place) is None
    assert documents.now(now) is None


def test_places_of_files_that_cannot_be_read_are_none(tmp_path: Path) -> None:
    assert Documents().snapshot().place(Span(str(tmp_path / "none.py"), 1, 0, 1, 1)) is None


def test_changed_since_is_about_one_file() -> None:
    documents = Documents()
    documents.open("/f.py", TEXT, 1)
    documents.open("/g.py", TEXT, 1)
    moment = documents.snapshot().moment
    documents.change("/f.py", [Change("x")], 2)
    assert documents.changed_since("/f.py", moment)
    assert not documents.changed_since("/g.py", moment)
    assert not documents.changed_since("/f.py", documents.snapshot().moment)


def test_a_snapshot_keeps_the_old_text() -> None:
    documents = Documents()
    documents.open("/f.py", TEXT, 1)
    snapshot = documents.snapshot()
    documents.change("/f.py", [Change("x")], 2)
    lines = snapshot.lines_of("/f.py")
    assert lines is not None
    assert lines.text == TEXT


def test_a_place_is_lost_once_the_edits_since_are_forgotten() -> None:
    documents = Documents()
    documents.open("/f.py", TEXT, 1)
    snapshot = documents.snapshot()
    place = snapshot.place(span_of("/f.py", TEXT, "b"))
    assert place
    documents.change("/f.py", [Change("\n", Position(0, 0), Position(0, 0))] * MOST_EDITS, 2)
    moved = documents.now(place)
    assert moved
    assert moved.start == place.start + MOST_EDITS
    documents.change("/f.py", [Change("\n", Position(0, 0), Position(0, 0))], 3)
    assert documents.now(place) is None
    assert documents.changed_since("/f.py", snapshot.moment)
    again = documents.now(moved)
    assert again
    assert again.start == moved.start + 1
