"""Where random numbers start from: a module that draws its structure is the same one every time."""

from __future__ import annotations

import random

import torch

SEED = 0
"""Before the import, and before each build and each trace."""


def seed() -> None:
    """Start torch's random numbers anew, those of the CPU, where all is that is built here.

    ``torch.manual_seed`` does so for each kind of accelerator, too, and for those that are not initialized it writes
    down the whole stack of the caller, which takes milliseconds.
    """
    torch.default_generator.manual_seed(SEED)


def seed_all() -> None:
    """The same for torch and for Python."""
    seed()
    random.seed(SEED)
