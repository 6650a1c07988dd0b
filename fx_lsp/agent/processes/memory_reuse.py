"""Keeps the memory that this process frees, for its next allocations.

The C library returns the memory of a large tensor to the system as soon as the tensor is gone. The memory of the next
one then comes page by page, which takes longer than what a small program computes in it.
"""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""``M_TRIM_THRESHOLD`` and ``M_MMAP_THRESHOLD`` of <malloc.h>."""

KEPT = 1 << 30
"""How many bytes may stay free at the end of the memory that the process has."""

LARGEST_KEPT = 32 << 20
"""The size, in bytes, from which a value gets memory of its own, which is returned: the most that the library accepts.
If larger ones left gaps, a program whose tensors grow might exceed its limit of memory."""


def reuse_freed_memory() -> None:
    """From now on, keep what is freed, but for large values.

    Only for processes that end soon, and only with the C library of GNU.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if set_option is not None:
        set_option(MMAP_THRESHOLD, LARGEST_KEPT)
        set_option(TRIM_THRESHOLD, KEPT)
