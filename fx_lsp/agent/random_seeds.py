"""Seeds the random numbers, so that a module that draws its structure at random is the same every time."""

from __future__ import annotations

import random
import sys
import zlib
from types import ModuleType
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
    of_numpy = None if numpy_random is None else numpy_random.get_state(legacy=False)
    numbers = b"" if of_numpy is None else bytes(of_numpy["state"].pop("key", b""))
    return zlib.crc32(repr((random.getstate(), of_numpy)).encode() + bytes(torch.get_rng_state().tolist()) + numbers)


def _numpy_random() -> Any:
    """NumPy's module of random numbers, which it imports when it is first used; None if NumPy has not been imported."""
    numpy: Any = sys.modules.get("numpy")
    return numpy.random if type(numpy) is ModuleType and hasattr(numpy, "random") else None  # not what stands for it
