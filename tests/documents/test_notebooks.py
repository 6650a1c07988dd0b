"""Cells and their module: every character of a cell has one place in the module, whatever happens to the cells."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fx_lsp.documents.notebooks import Cell, Notebook, Splice
from fx_lsp.documents.positions import Change, Position


def notebook_of(*cells: str) -> Notebook:
    """A notebook whose cells are called by their numbers."""
    notebook = Notebook()
    for number, text in enumerate(cells):
        notebook.texts[str(number)] = Cell.of(str(number), "python", 1, text)
    notebook.order = list(notebook.texts)
    notebook.lay_out()
    return notebook


def test_the_python_cells_are_one_module_in_their_order() -> None:
    notebook = notebook_of("import torch", "%time x", "", "y = 1\n")
    notebook.texts["1b"] = Cell.of("1b", "r", 1, "y <- 1")
    notebook.order = ["3", "1b", "markdown", "0", "1", "2"]
    notebook.lay_out()
    assert notebook.text == "y = 1\n\nimport torch\n       \n\n"
    assert [(cell.uri, cell.start) for cell in notebook.cells] == [("3", 0), ("0", 7), ("1", 20), ("2", 28)]


TEXTS = st.text("a\n é😋%", max_size=6)


@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=3), st.integers(0, 4), st.integers(0, 4))
def test_edits_of_cells_change_the_module(before: list[str], new: list[str], start: int, count: int) -> None:
    notebook = notebook_of(*before)
    text = notebook.text
    fresh = {f"n{number}": Cell.of(f"n{number}", "python", 1, code) for number, code in enumerate(new)}
    notebook.texts |= fresh
    notebook.order[start : start + count] = [*reversed(fresh)]
    splice = notebook.lay_out()
    assert text[: splice.start] + splice.text + text[splice.end :] == notebook.text
    again = notebook.lay_out()
    assert (again.start, again.text) == (again.end, ""), "nothing more"
    for cell in notebook.cells:
        assert notebook.text[cell.start : cell.end] == cell.code
        for offset in range(cell.start, cell.end + 1):
            assert notebook.within(offset, offset) == (cell, offset - cell.start, offset - cell.start)


def test_an_edit_counts_in_the_units_of_the_client() -> None:
    cell = Cell.of("a", "python", 1, "é = '😋'; x")
    changed = cell.changed(
        [Change("y", Position(0, 10), Position(0, 11)), Change("\n", Position(0, 0), Position(0, 0))], 2, "utf-16"
    )
    assert (changed.lines.text, changed.version) == ("\né = '😋'; y", 2)


def test_a_place_that_ends_in_a_later_cell_is_cut() -> None:
    notebook = notebook_of("a = 1", "b = 2")
    assert notebook.within(4, 8) == (notebook.cells[0], 4, 5)
    assert notebook.within(5, 5) == (notebook.cells[0], 5, 5)
    assert notebook.within(99, 99) == (notebook.cells[1], 5, 5)
    assert Notebook().within(0, 0) is None


@pytest.mark.parametrize(
    ("splice", "expected"),
    [
        (Splice(0, 1, "b"), ("0", 0, 1, "b")),
        (Splice(0, 6, "c = 2\n"), ("0", 0, 5, "c = 2")),  # the whole line, which ends with the cell
        (Splice(6, 6, "import x\n"), ("1", 0, 0, "import x\n")),
        (Splice(12, 12, "import x\n"), ("1", 5, 5, "\nimport x")),  # never above a cell magic
        (Splice(25, 25, "x\n"), ("2", 12, 12, "\nx")),  # at the end of the module
        (Splice(4, 8, "3"), None),  # of two cells
        (Splice(12, 24, "x"), None),  # it would replace the magic
        (Splice(19, 24, "d = 4"), ("2", 7, 12, "d = 4")),
    ],
)
def test_an_edit_of_the_module_becomes_an_edit_of_a_cell(
    splice: Splice, expected: tuple[str, int, int, str] | None
) -> None:
    notebook = notebook_of("a = 1", "b = 2", "%%time\nc = 3")
    found = notebook.edit(splice)
    assert (found and (found[0].uri, *dataclasses.astuple(found[1]))) == expected


def test_nothing_goes_above_a_cell_magic_that_comes_first() -> None:
    assert notebook_of("%%time\nx").edit(Splice(0, 0, "import x\n")) is None
    assert Notebook().edit(Splice(0, 0, "import x\n")) is None
