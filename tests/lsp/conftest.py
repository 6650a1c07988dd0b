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


@pytest_asyncio.fixture
async def editor(folder: Path) -> AsyncIterator[Editor]:
    """An editor like VS Code, with a server."""
    async with Editor(folder).session() as editor:
        yield editor
