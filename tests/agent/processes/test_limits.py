"""What a process does when it comes to its limits."""

from __future__ import annotations

import weakref

import pytest
import torch

from fx_lsp.agent.processes.limits import with_garbage_freed


class Model:
    """An object in a cycle, as what an error's frames hold is."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_a_job_that_runs_out_of_memory_is_done_again_once_its_garbage_is_freed(error: Exception) -> None:
    made: list[weakref.ref[Model]] = []

    def build() -> Model | None:
        if made:
            return made[0]()
        model = Model()
        made.append(weakref.ref(model))
        raise type(error)(*error.args)  # a new one, which nothing else refers to

    assert with_garbage_freed(build) is None


@pytest.mark.parametrize(("error", "times"), [(MemoryError(), 2), (ValueError("no such kind"), 1)])
def test_what_a_job_raises_at_last_is_raised(error: Exception, times: int) -> None:
    done = []

    def build() -> torch.Tensor:
        done.append(1)
        raise error

    with pytest.raises(type(error)):
        with_garbage_freed(build)
    assert len(done) == times
