"""The scratch folder: the current folder of the user's code, and the only folder that this code may write to."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
import uuid
from pathlib import Path

CACHES = (
    "CUDA_CACHE_PATH",
    "MPLCONFIGDIR",
    "NUMBA_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "TRITON_CACHE_DIR",
    "XDG_CACHE_HOME",
)
"""Environment variables that name cache folders."""

DOWNLOADS = {"HF_HOME": "huggingface", "TORCH_HOME": "torch"}
"""Environment variables that name folders of downloads, and the folders' usual names: code reads them in place, and
adds nothing to them."""

OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")

MOST_MIRRORED = 1000
"""The maximum number of entries of the working directory that a scratch folder links to."""


def keep_caches_in(folder: str) -> None:
    """Have libraries keep their caches in ``folder``, but read downloads from the user's own folders."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    for name, usual in DOWNLOADS.items():
        os.environ.setdefault(name, str(Path(cache, usual)))
    os.environ.update({name: str(Path(folder, name.lower())) for name in CACHES})
    os.environ.update(dict.fromkeys(OFFLINE, "1"))
    os.environ["TMPDIR"] = tempfile.tempdir = folder


def scratch_folder(process: int) -> Path:
    """The path of the scratch folder of a child of the agent; the agent and the child can both call this."""
    return Path(tempfile.gettempdir(), str(process))


def move_into(scratch: Path) -> None:
    """Create ``scratch`` and make it the current folder.

    The folder gets links to the contents of the previous current folder, so that files can be read by the same names.
    """
    scratch.mkdir()
    with contextlib.suppress(OSError):
        for entry in itertools.islice(Path.cwd().iterdir(), MOST_MIRRORED):
            (scratch / entry.name).symlink_to(entry)
    os.chdir(scratch)
    keep_caches_in(str(scratch))


def original_of(path: str) -> str:
    """``path`` without the link of `move_into` that it goes through, if this process is in a scratch folder."""
    scratch = tempfile.gettempdir() + os.sep
    if not path.startswith(scratch):
        return path
    name, *below = Path(os.path.normpath(path.removeprefix(scratch))).parts
    try:
        return str(Path(scratch, name).readlink().joinpath(*below))
    except OSError:  # it is no link
        return path


def remove(scratch: Path) -> None:
    """Remove the folder and its contents as completely as possible."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(scratch, ignore_errors=True)
    if os.rename in os.supports_dir_fd:
        with contextlib.suppress(OSError):
            _remove_deep(scratch)


def _remove_deep(folder: Path) -> None:
    """Remove a folder that is nested too deeply for `shutil.rmtree`, or has folders that may not be read."""
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        while entries := os.listdir(top):  # noqa: PTH208 (a descriptor)
            for name in entries:
                _dissolve(name, top)
    finally:
        os.close(top)
    folder.rmdir()


def _dissolve(name: str, top: int) -> None:
    """Remove a file or folder from the folder ``top``; a folder's contents are first moved to ``top`` itself."""
    with contextlib.suppress(IsADirectoryError, PermissionError):
        os.unlink(name, dir_fd=top)
        return
    os.chmod(name, 0o700, dir_fd=top)
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    try:
        for entry in os.listdir(inner):  # noqa: PTH208
            os.rename(entry, uuid.uuid4().hex, src_dir_fd=inner, dst_dir_fd=top)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)
