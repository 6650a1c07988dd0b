"""Seeds the random numbers, so that a module that draws its structure at random is the same every time."""

from __future__ import annotations

import random

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
    """Seed the random numbers of both torch and Python."""
    seed()
    random.seed(SEED)
