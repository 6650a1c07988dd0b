"""Several fixes of one file, each of which was made as if it were the only one, are put together."""

from __future__ import annotations

from fx_lsp.agent.messages import Span
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes import Fix, TextChange
from fx_lsp.fixes.editing.merged_changes import conflict, merged, without_clashes
from fx_lsp.fixes.editing.text_edits import applied

FILE = "net.py"
TEXT = """\
import torch


class One:
    a = one()


class Two:
    b = two()


class Three:
    c = three()
"""


def moved(line: int, above: int, body: str, name: str = "_part") -> Fix:
    """The fix that moves the expression in a line into a function above a class, and wraps it."""
    col = TEXT.split("\n")[line - 1].index("=") + 2
    wrap = TextChange(Span(FILE, 2, 0, 2, 0), f'import torch.fx\n\ntorch.fx.wrap("{name}")\n')
    definition = TextChange(Span(FILE, above, 0, above, 0), f"def {name}():\n    return {body}\n\n\n")
    call = TextChange(Span(FILE, line, col, line, len(TEXT.split("\n")[line - 1])), f"{name}()")
    return Fix(f"Move line {line}", (wrap, definition, call))


def put_together(*fixes: Fix) -> str:
    changes = without_clashes(fixes, {FILE: TEXT}.get).values()
    return applied(merged(change for its in changes for change in its), {FILE: LineIndex(TEXT)}.get)[FILE]


def test_fixes_that_add_to_the_module_at_the_same_place_go_together() -> None:
    first, second = moved(5, 4, "1"), moved(9, 8, "2", "_other")
    assert not any(conflict(one, other) for one in first.changes for other in second.changes)
    text = put_together(first, second)
    assert text.startswith('import torch\nimport torch.fx\n\ntorch.fx.wrap("_part")\ntorch.fx.wrap("_other")\n')


def test_functions_of_one_name_get_different_names_and_equal_ones_are_added_once() -> None:
    text = put_together(moved(5, 4, "1"), moved(9, 8, "2"), moved(13, 12, "2"))
    assert text.count("def _part():") == text.count("def _part_2():") == text.count('wrap("_part_2")') == 1
    assert [line.strip() for line in text.split("\n") if " = " in line] == [
        "a = _part()",
        "b = _part_2()",
        "c = _part_2()",
    ]


def test_a_name_that_the_file_has_is_not_taken() -> None:
    fixes = moved(5, 4, "1"), moved(9, 8, "2")
    text = {FILE: TEXT.replace("three", "_part_2")}
    assert fixes[1].changes != without_clashes(fixes, text.get)[fixes[1]]
    assert "_part_3()" in without_clashes(fixes, text.get)[fixes[1]][-1].text


def test_an_attribute_of_the_name_keeps_it() -> None:
    fixes = moved(5, 4, "1"), moved(9, 8, "self._part")
    changed = without_clashes(fixes, {FILE: TEXT}.get)[fixes[1]]
    assert changed[1].text.startswith("def _part_2():\n    return self._part\n")


def test_two_functions_may_be_added_above_the_same_class() -> None:
    text = put_together(moved(5, 4, "1"), moved(9, 4, "2", "_other"))
    assert text.index("def _part") < text.index("def _other") < text.index("class One")


def test_lines_that_are_inserted_at_the_same_place_within_a_function_conflict() -> None:
    place = Span(FILE, 5, 0, 5, 0)
    assert conflict(TextChange(place, "    check(a)\n"), TextChange(place, "    check(b)\n"))
    assert conflict(TextChange(Span(FILE, 5, 8, 5, 13), "1"), TextChange(Span(FILE, 5, 8, 5, 11), "2"))
