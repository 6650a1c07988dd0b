"""When a line is taken for one that is still being typed; ``|`` is where the last edit ended."""

import pytest

from fx_lsp.documents.half_typed import is_half_typed


@pytest.mark.parametrize(
    "text",
    [
        "y = x\nju|",
        "y = x\nju |\n",
        "x = y\ny = x |",
        "y = x + |\nx",
        "y = x.su|",
        "y = ret|x",
        "# som|e",
        "größe|",
        "y = 1 j|",
    ],
)
def test_a_line_that_is_likely_to_go_on_is_half_typed(text: str) -> None:
    assert is_half_typed(text.replace("|", ""), text.index("|"))


@pytest.mark.parametrize(
    "text",
    [
        "|",
        "y = x\nx|",
        "y = 12|",
        "y = len|",
        "return|",
        "y = f(|)",
        "y = f()|",
        "y = |ju(x)",
        "    |",
        "ju\n|",
        "ju\n    |",
        "y = |ju",
    ],
)
def test_a_finished_line_is_not_half_typed(text: str) -> None:
    assert not is_half_typed(text.replace("|", ""), text.index("|"))
