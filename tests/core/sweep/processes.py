"""The cases are checked in processes of their own, which can't take more than their share."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Iterable, Iterator

import torch

from tests.core.sweep.cases import Case
from tests.core.sweep.comparison import Result, check

CASES_OF_A_PROCESS = 100
"""After these it makes way for a new one: what the libraries keep of each model is given back."""
MOST_MEMORY = 7 * 2**30
"""Bytes of address space for a process; a model that needs more counts as not built."""


def checked(cases: Iterable[Case], jobs: int) -> Iterator[Result]:
    """What came of each case, in their order."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(jobs, initializer=be_modest, maxtasksperchild=CASES_OF_A_PROCESS) as pool:
        yield from pool.imap(check, cases)


def be_modest() -> None:
    """Keep this process to one core and to its memory."""
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
