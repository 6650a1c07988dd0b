"""The folder that the user's code finds itself in, and the only one that it may write to."""

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
"""Environment variables that name a folder to keep things in."""

DOWNLOADS = {"HF_HOME": "huggingface", "TORCH_HOME": "torch"}
"""Those whose folder holds what was downloaded, by its usual name: it is read where it is, and nothing is added."""

OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")

MOST_MIRRORED = 1000
"""Names of the current folder that a scratch folder shows."""


def keep_caches_in(folder: str) -> None:
    """Have libraries keep in ``folder`` what they would keep in the user's own, and read downloads from there."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    for name, usual in DOWNLOADS.items():
        os.environ.setdefault(name, str(Path(cache, usual)))
    os.environ.update({name: str(Path(folder, name.lower())) for name in CACHES})
    os.environ.update(dict.fromkeys(OFFLINE, "1"))
    os.environ["TMPDIR"] = tempfile.tempdir = folder


def scratch_folder(process: int) -> Path:
    """Where the scratch folder of a child of the agent is; to be called in either of the two."""
    return Path(tempfile.gettempdir(), str(process))


def move_into(scratch: Path) -> None:
    """Make ``scratch`` the current folder. It shows what is in the one before, so that it can be read by the same
    names."""
    scratch.mkdir()
    with contextlib.suppress(OSError):
        for entry in itertools.islice(Path.cwd().iterdir(), MOST_MIRRORED):
            (scratch / entry.name).symlink_to(entry)
    os.chdir(scratch)
    keep_caches_in(str(scratch))


def remove(scratch: Path) -> None:
    """Remove the folder and its contents as completely as possible."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(scratch, ignore_errors=True)
    if os.rename in os.supports_dir_fd:
        with contextlib.suppress(OSError):
            _remove_deep(scratch)


def _remove_deep(folder: Path) -> None:
    """Remove a folder that is nested too deep for that, or has folders that may not be read."""
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        while entries := os.listdir(top):  # noqa: PTH208 (a descriptor)
            for name in entries:
                _dissolve(name, top)
    finally:
        os.close(top)
    folder.rmdir()


def _dissolve(name: str, top: int) -> None:
    """Remove a file of the folder ``top``; put what is in a folder there into ``top`` itself, and remove that."""
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
