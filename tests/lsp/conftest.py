from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.lsp.editor import Editor


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace folder whose path needs care."""
    folder = tmp_path / "modèles et données"
    folder.mkdir()
    return folder


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def editor_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    folder = tmp_path_factory.mktemp("workspace") / "modèles et données"
    folder.mkdir()
    async with Editor(folder).session() as editor:
        yield editor


@pytest_asyncio.fixture(loop_scope="module")
async def shared_editor(editor_of_the_module: Editor) -> AsyncIterator[Editor]:
    """An editor whose server serves all tests of the module, which have to run in the module's event loop."""
    yield editor_of_the_module
    await editor_of_the_module.close_all()


@pytest_asyncio.fixture
async def editor(folder: Path) -> AsyncIterator[Editor]:
    """An editor like VS Code, with a server."""
    async with Editor(folder).session() as editor:
        yield editor


@pytest_asyncio.fixture
async def editor_with_views(folder: Path) -> AsyncIterator[Editor]:
    """An editor that receives the changes of views, and that calls a command of the server from a lens."""
    options = {"views": True, "commands": ["fxLsp.tryCaptures", "fxLsp.openForward"]}
    async with Editor(folder).session(options=options) as editor:
        yield editor
