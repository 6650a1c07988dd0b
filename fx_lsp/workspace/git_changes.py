"""Which files have changed, according to git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from fx_lsp.errors import CannotCheck


def changed_since(commit: str, folders: Sequence[str]) -> set[str]:
    """The absolute paths of files in ``folders`` that differ from ``commit``: edited, new, deleted or renamed.

    Untracked files count, unless git ignores them. Raises CannotCheck if git reports an error.
    """
    changed: set[str] = set()
    for folder in folders:
        names = ("diff", "--name-only", "--no-renames", "--relative", "-z")
        tracked = _git(folder, *names, "--end-of-options", commit, "--")
        untracked = _git(folder, "ls-files", "--others", "--exclude-standard", "-z")
        changed |= {os.path.normpath(os.path.join(folder, name)) for name in (*tracked, *untracked)}  # noqa: PTH118
    return changed


def _git(folder: str, *arguments: str) -> list[str]:
    """Run a git command in ``folder``; return the file names that it prints. Raises CannotCheck if it fails."""
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, check=True)
    except FileNotFoundError:
        raise CannotCheck("--changed-since needs git, which is not on the PATH.") from None
    except subprocess.CalledProcessError as error:
        reason = os.fsdecode(error.stderr).strip().partition("\n")[0]
        raise CannotCheck(f"git could not list the changed files in {folder}: {reason}") from error
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
