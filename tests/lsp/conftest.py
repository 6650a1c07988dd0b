"""Editors, each with a real server: one that all tests of a module share, and new ones for those that need it."""

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
async def editor_of_the_module(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Editor]:
    """The editor behind `editor`. A module can name what it is started with: ``SETTINGS`` and ``OPTIONS``.

    It has no cache on disk, so that a test traces what an earlier one has traced.
    """
    folder = tmp_path_factory.mktemp("workspace") / "modèles et données"
    folder.mkdir()
    settings = {"cache": False, **getattr(request.module, "SETTINGS", {})}
    options = {"views": True, **getattr(request.module, "OPTIONS", {})}
    async with Editor(folder).session(settings=settings, options=options) as editor:
        yield editor


@pytest_asyncio.fixture(loop_scope="module")
async def editor(editor_of_the_module: Editor) -> AsyncIterator[Editor]:
    """An editor like VS Code, with a server. Each test finds its folder empty and no document open.

    All tests of the module share it, and have to run in the module's event loop.
    """
    yield editor_of_the_module
    await editor_of_the_module.clear()


@pytest_asyncio.fixture(loop_scope="module")
async def new_editor(folder: Path) -> AsyncIterator[Editor]:
    """An editor like VS Code, with a server, for a test of how a session begins or of its processes."""
    async with Editor(folder).session() as editor:
        yield editor
