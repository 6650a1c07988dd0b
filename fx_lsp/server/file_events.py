"""Changes of files and folders on disk: which of them the server asks clients to report, and which matter."""

from __future__ import annotations

from pathlib import Path, PurePath

from lsprotocol import types

from fx_lsp.interpreters.project_environments import DECIDING_FILES
from fx_lsp.settings.pyproject import FILE
from fx_lsp.workspace.workspace import Workspace

_SUFFIXES = ("py", "md", "rst", "yaml", "yml")
"""The files from which fx-lsp learns what to trace, and how to build it."""

_ANYTHING = types.FileSystemWatcher("**/*", types.WatchKind.Create | types.WatchKind.Delete)
"""For folders: no pattern matches them alone, and for one that is deleted or moved, there may be no other event."""

WATCHERS = [
    *map(types.FileSystemWatcher, (f"**/*.{{{','.join(_SUFFIXES)}}}", f"**/{FILE}", *DECIDING_FILES)),
    _ANYTHING,
]
"""The changes on disk that clients are asked to report."""

OPERATIONS = types.FileOperationRegistrationOptions(
    [
        types.FileOperationFilter(types.FileOperationPattern("**/*.py", types.FileOperationPatternKind.File)),
        types.FileOperationFilter(types.FileOperationPattern("**", types.FileOperationPatternKind.Folder)),
    ]
)
"""What the user creates, renames and deletes in the client, and the client has to report: Python files, and folders."""


def is_source(path: str) -> bool:
    """Whether fx-lsp may learn something from a file."""
    return PurePath(path).suffix[1:] in _SUFFIXES


def may_be_folder(event: types.FileEvent, path: str, workspace: Workspace) -> bool:
    """Whether a folder that may hold modules appeared or is gone; of what is gone, only its name is known."""
    if event.type == types.FileChangeType.Changed or not workspace.owns(path):
        return False
    inside = PurePath(path).relative_to(workspace.folder_of(path))
    if any(part.startswith((".", "__")) for part in inside.parts):
        return False
    return Path(path).is_dir() if event.type == types.FileChangeType.Created else not inside.suffix
