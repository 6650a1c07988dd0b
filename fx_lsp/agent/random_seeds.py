"""Seeds the random numbers, so that a module that draws its structure at random is the same every time."""

from __future__ import annotations

import random
import sys
import zlib
from typing import Any

import torch

SEED = 0
"""The seed that is set before the import, and before each build and each trace."""


def seed() -> None:
    """Seed torch's random numbers on the CPU only, since nothing is built on an accelerator.

    ``torch.manual_seed`` also seeds each kind of accelerator; for accelerators that are not initialized, it records the
    whole stack of the caller, which takes milliseconds.
    """
    torch.default_generator.manual_seed(SEED)


def seed_all() -> None:
    """Seed the random numbers of torch, of Python, and of NumPy if it has been imported."""
    seed()
    random.seed(SEED)
    if (numpy_random := _numpy_random()) is not None:
        numpy_random.seed(SEED)


def random_state() -> int:
    """A checksum of the state of all these random numbers, which shows how many have been drawn."""
    numpy_random = _numpy_random()
    _, numbers, *counts = (None, b"") if numpy_random is None else numpy_random.get_state()
    state = repr((random.getstate(), counts)).encode() + bytes(torch.get_rng_state().tolist()) + bytes(numbers)
    return zlib.crc32(state)


def _numpy_random() -> Any:
    """NumPy's module of random numbers; None if it has not been imported."""
    return sys.modules.get("numpy.random")
