"""What a message quotes of a file."""

import pytest

from fx_lsp.agent.messages import Span
from fx_lsp.documents.excerpt import LONGEST, quoted, text_at
from fx_lsp.documents.positions import LineIndex

LINES = LineIndex("é = '😋'; f(x)\r\ng(\n    y,  # why\n)\n" + "a" * 80 + "\n")


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ((1, 0, 1, 2), "é"),
        ((1, 13, 1, 17), "f(x)"),
        ((1, 13, 2, 1), "f(x)\r\ng"),
        ((2, 0, 4, 1), "g(\n    y,  # why\n)"),
        ((4, 1, 4, 1), ""),
        ((5, 78, 9, 3), "aa\n"),
        ((9, 0, 9, 3), ""),
    ],
)
def test_the_text_of_a_span(place: tuple[int, int, int, int], text: str) -> None:
    line, col, end_line, end_col = place
    assert text_at(LINES, Span("f.py", line, col, end_line, end_col)) == text


def test_a_quotation_is_one_short_line() -> None:
    assert quoted(LINES, Span("f.py", 2, 0, 4, 1)) == "g( y, # why )"
    cut = quoted(LINES, Span("f.py", 5, 0, 5, 80))
    assert cut == "a" * (LONGEST - 1) + "…"
    assert quoted(LINES, Span("f.py", 5, 0, 5, LONGEST)) == "a" * LONGEST
