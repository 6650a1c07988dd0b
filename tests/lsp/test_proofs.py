"""Fixes that were tried, as an editor offers them."""

import asyncio

import pytest
from lsprotocol import types

from tests.lsp.editor import PATIENCE, Editor

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODEL = """\
import torch.fx


def f(x):
    y = x / len(x)
    y[y > 0] = 0.5
    return y


torch.fx.symbolic_trace(f)
"""


async def offered(editor: Editor, name: str, *only: str) -> list[types.CodeAction]:
    """What is offered for the whole document."""
    shown = await editor.diagnostics(name)
    context = types.CodeActionContext(shown, list(only) or None)
    everywhere = types.Range(types.Position(0, 0), types.Position(1000, 0))
    params = types.CodeActionParams(types.TextDocumentIdentifier(editor.uri(name)), everywhere, context)
    actions = await asyncio.wait_for(editor.client.text_document_code_action_async(params), PATIENCE)
    return [action for action in actions or [] if isinstance(action, types.CodeAction)]


async def offered_at_last(editor: Editor, name: str, count: int, *only: str) -> list[types.CodeAction]:
    """Ask again, as an editor does whenever the cursor moves, until ``count`` actions are known to be proven."""

    async def ask() -> list[types.CodeAction]:
        while True:
            actions = await offered(editor, name, *only)
            proven = [action for action in actions if action.is_preferred or action.kind == "source.fixAll.fx"]
            if len(proven) >= count:
                return actions
            await asyncio.sleep(0.1)

    return await asyncio.wait_for(ask(), PATIENCE)


async def test_a_proven_fix_is_preferred(editor: Editor) -> None:
    editor.open("a.py", MODEL.replace("    y[y > 0] = 0.5\n", ""))
    first, *_ = await offered_at_last(editor, "a.py", 1, "quickfix")
    assert first.is_preferred
    editor.apply(first)
    assert await editor.diagnostics("a.py") == []


async def test_fix_all_applies_every_proven_fix_at_once(editor: Editor) -> None:
    editor.open("a.py", MODEL)
    assert len(await editor.diagnostics("a.py")) == 2
    (action,) = await offered_at_last(editor, "a.py", 1, "source.fixAll")
    editor.apply(action)
    assert await editor.diagnostics("a.py") == []


async def test_a_fix_proven_for_an_older_version_of_the_text_is_not_applied(editor: Editor) -> None:
    editor.open("a.py", MODEL)
    (before,) = await offered_at_last(editor, "a.py", 1, "source.fixAll")
    editor.edit("a.py", "import torch.fx\n", "import torch.fx\n\n# A comment.\n")
    (after,) = await offered_at_last(editor, "a.py", 1, "source.fixAll")
    assert after.edit != before.edit
    editor.apply(after)
    assert await editor.diagnostics("a.py") == []
