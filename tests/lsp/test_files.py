"""Files and folders that appear, move and vanish: what other files import from them is looked at anew."""

import shutil
from collections.abc import Callable

import pytest
from lsprotocol import types

from tests.lsp.editor import Editor

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODEL = """\
import torch.fx
from parts.helper import scale

def f(x):
    return scale(x)

torch.fx.symbolic_trace(f)
"""
HELPER = "def scale(x):\n    return x * 2\n"


def lacks(editor: Editor) -> bool:
    """Whether the model is said to lack what it imports."""
    return "missing-package" in {item.code for item in editor.published["model.py"].diagnostics}


def created_on_disk(editor: Editor) -> None:
    editor.open("parts/helper.py", HELPER)
    editor.tell_of_files("parts/helper.py", how="Created")


def created_in_the_client(editor: Editor) -> None:
    editor.open("parts/helper.py", HELPER)
    editor.client.workspace_did_create_files(types.CreateFilesParams([types.FileCreate(editor.uri("parts/helper.py"))]))


def opened(editor: Editor) -> None:
    editor.open("parts/helper.py", HELPER)


def typed_and_saved(editor: Editor) -> None:
    editor.show("parts/helper.py", "")
    editor.edit("parts/helper.py", "", HELPER)
    editor.save("parts/helper.py")


def moved_there_as_a_folder(editor: Editor) -> None:
    editor.write("parts/helper.py", HELPER)
    editor.tell_of_files("parts", how="Created")


def renamed_as_a_folder(editor: Editor) -> None:
    editor.write("parts/helper.py", HELPER)
    renamed = types.FileRename(editor.uri("old"), editor.uri("parts"))
    editor.client.workspace_did_rename_files(types.RenameFilesParams([renamed]))


@pytest.mark.parametrize(
    "appear",
    [
        created_on_disk,
        created_in_the_client,
        opened,
        typed_and_saved,
        moved_there_as_a_folder,
        renamed_as_a_folder,
    ],
)
async def test_a_module_that_was_missing_is_imported_once_it_is_there(
    editor: Editor, appear: Callable[[Editor], None]
) -> None:
    editor.open("model.py", MODEL)
    await editor.diagnostics("model.py")
    assert lacks(editor)
    appear(editor)
    await editor.until(lambda: not lacks(editor))


def deleted_on_disk(editor: Editor) -> None:
    editor.tell_of_files("parts/helper.py", how="Deleted")


def deleted_as_a_folder(editor: Editor) -> None:
    editor.tell_of_files("parts", how="Deleted")


def deleted_in_the_client(editor: Editor) -> None:
    editor.client.workspace_did_delete_files(types.DeleteFilesParams([types.FileDelete(editor.uri("parts"))]))


@pytest.mark.parametrize("vanish", [deleted_on_disk, deleted_as_a_folder, deleted_in_the_client])
@pytest.mark.parametrize("is_open", [True, False])
async def test_a_module_that_is_gone_is_missing(
    editor: Editor, vanish: Callable[[Editor], None], is_open: bool
) -> None:
    editor.write("parts/helper.py", HELPER)
    if is_open:
        editor.show("parts/helper.py", HELPER)
    editor.open("model.py", MODEL)
    assert await editor.diagnostics("model.py") == []
    shutil.rmtree(editor.folder / "parts")
    vanish(editor)
    await editor.until(lambda: lacks(editor))
