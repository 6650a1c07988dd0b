from pathlib import Path

import pytest
from lsprotocol import types

from fx_lsp.documents.directives import directives_of
from fx_lsp.documents.documents import Documents
from fx_lsp.rules import all_rules
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.server.features.directive_help import VERBS, completions, directive_hover, links

URI = "file:///model.py"
TEXT = "s = 'é😋'; y = len(x)  # fx: ignore[len, nothing]\n# fx: sk\nclass Net: ...\n"


@pytest.fixture
def documents() -> Documents:
    documents = Documents("utf-16")
    documents.open("/model.py", TEXT, 1)
    return documents


def position_of(at: str) -> types.Position:
    before = TEXT[: TEXT.index(at)]
    return types.Position(before.count("\n"), len(before.rpartition("\n")[2].encode("utf-16-le")) // 2)


def offered(documents: Documents, position: types.Position) -> dict[str, types.CompletionItem]:
    return {item.label: item for item in completions(documents, "/model.py", offset_of(documents, position), position)}


def offset_of(documents: Documents, position: types.Position) -> int:
    offset = ClientPlaces(documents).offset(URI, position)
    assert offset is not None
    return offset


def test_every_verb_is_one_that_is_understood_and_all_are_explained() -> None:
    (mistake,) = directives_of("# fx: nothing\nclass Net: ...\n").mistakes
    assert all(f"`{verb}`" in mistake.reason for verb in VERBS)
    assert mistake.reason.count("`") == 2 * (len(VERBS) + 1)


def test_verbs_are_offered_behind_the_mark_and_replace_what_is_typed(documents: Documents) -> None:
    items = offered(documents, position_of("\nclass Net"))
    assert items.keys() == VERBS.keys()
    edit = items["skip"].text_edit
    assert isinstance(edit, types.TextEdit)
    assert (edit.new_text, edit.range.start.character, edit.range.end.character) == ("skip", 6, 8)


def test_codes_are_offered_in_the_brackets_of_ignore(documents: Documents) -> None:
    assert offered(documents, position_of("len, ")).keys() == {rule.code for rule in all_rules()}
    assert offered(documents, position_of("nothing]")).keys() == {rule.code for rule in all_rules()}
    assert offered(documents, position_of("len(x)")) == {}
    assert offered(documents, position_of("Net:")) == {}


def test_hover_explains_verbs_and_rules(documents: Documents) -> None:
    def hover(at: str) -> str:
        return directive_hover(documents, "/model.py", offset_of(documents, position_of(at)))

    assert hover("gnore") == VERBS["ignore"]
    assert hover("len, ").startswith("**len**: ")
    assert hover("nothing") == ""
    assert hover("len(x)") == ""
    assert directive_hover(documents, "/no/such.py", 0) == ""


def test_codes_link_to_their_pages(documents: Documents) -> None:
    (link,) = links(documents, ClientPlaces(documents), URI, tooltips=False)
    assert link.range == types.Range(position_of("len, "), position_of(", nothing"))
    assert link.tooltip is None
    assert link.target is not None
    assert Path(link.target.removeprefix("file://")).name == "len.md"
    assert links(documents, ClientPlaces(documents), URI, tooltips=True)[0].tooltip
