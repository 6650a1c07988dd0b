"""Which changes on disk clients are asked to tell, and which of them may be about folders."""

from pathlib import Path

import pytest
from lsprotocol import types

from fx_lsp.server.file_events import OPERATIONS, WATCHERS, may_be_folder
from fx_lsp.workspace.workspace import Workspace


def test_clients_are_asked_to_tell_of_folders() -> None:
    kinds = {watcher.glob_pattern: watcher.kind for watcher in WATCHERS}
    assert kinds["**/*"] == types.WatchKind.Create | types.WatchKind.Delete
    patterns = [filter.pattern for filter in OPERATIONS.filters]
    assert [pattern.glob for pattern in patterns if pattern.matches == types.FileOperationPatternKind.Folder] == ["**"]


@pytest.mark.parametrize(
    ("name", "how", "expected"),
    [
        ("layers", "Created", True),
        ("layers", "Deleted", True),
        ("layers", "Changed", False),
        ("net.py", "Created", False),
        ("LICENSE", "Created", False),
        ("gone", "Deleted", True),
        ("layers/gone", "Deleted", True),
        ("gone.lock", "Deleted", False),
        (".git/rebase-merge", "Deleted", False),
        ("__pycache__", "Deleted", False),
        (".venv/lib", "Deleted", False),
        ("../elsewhere", "Deleted", False),
    ],
)
def test_folders_are_told_from_files_as_well_as_can_be(tmp_path: Path, name: str, how: str, expected: bool) -> None:
    folder = tmp_path / ".work"
    (folder / "layers").mkdir(parents=True)
    for file in ("net.py", "LICENSE"):
        (folder / file).touch()
    event = types.FileEvent("", types.FileChangeType[how])
    path = str((folder / name).resolve())
    assert may_be_folder(event, path, Workspace([str(folder)])) == expected
