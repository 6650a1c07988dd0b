"""Where definitions stand in the text, whatever their names look like."""

import pytest

from fx_lsp.server.features.outline import definitions_of


@pytest.mark.parametrize(
    ("text", "name", "head"),
    [
        ("def f(x): return x", "f", "def f"),
        ("class s: pass", "s", "class s"),
        ("async  def a(): pass", "a", "async  def a"),
        ("class \\\n  Net(object): pass", "Net", "class \\\n  Net"),
        ("async\\\r\n def\tf\\\n(): pass", "f", "async\\\r\n def\tf"),
        ("@str\nclass Cafe\u0301(object): pass", "Caf\u00e9", "class Cafe\u0301"),
        ("class \u212bngstrom: pass", "\u00c5ngstrom", "class \u212bngstrom"),
        ("class \ufb01lter: pass", "filter", "class \ufb01lter"),
        ("class a\u00b7b: pass", "a\u00b7b", "class a\u00b7b"),
    ],
)
def test_a_head_ends_after_the_name_as_it_is_written(text: str, name: str, head: str) -> None:
    (found,) = definitions_of(text) or ()
    assert (found.name, text[found.start : found.end]) == (name, head)
