"""What git says has changed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from fx_lsp.exit_status import CannotCheck


def changed_since(commit: str, folders: Sequence[str]) -> set[str]:
    """The absolute paths of files in ``folders`` that are not as ``commit`` has them: edited, new, deleted or renamed.

    What was never committed counts, unless git ignores it. Raises CannotCheck where git can't tell.
    """
    changed: set[str] = set()
    for folder in folders:
        names = ("diff", "--name-only", "--no-renames", "--relative", "-z")
        tracked = _git(folder, *names, "--end-of-options", commit, "--")
        untracked = _git(folder, "ls-files", "--others", "--exclude-standard", "-z")
        changed |= {os.path.normpath(os.path.join(folder, name)) for name in (*tracked, *untracked)}  # noqa: PTH118
    return changed


def _git(folder: str, *arguments: str) -> list[str]:
    """The names that a git command prints."""
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, check=True)
    except FileNotFoundError:
        raise CannotCheck("--changed-since asks git, which is not on the PATH.") from None
    except subprocess.CalledProcessError as error:
        reason = os.fsdecode(error.stderr).strip().partition("\n")[0]
        raise CannotCheck(f"git does not say what has changed in {folder}: {reason}") from error
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
