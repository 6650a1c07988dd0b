"""A process group of one process, for a constructor that requires one: nothing is sent anywhere."""

from __future__ import annotations

import os
from typing import Any

import torch.distributed

from fx_lsp.agent.traceback_steps import causes, describe


def lacks_process_group(error: BaseException) -> bool:
    """Whether ``error``, or one that it was raised from, says that ``torch.distributed`` is not initialized."""
    said = any("process group has not been initialized" in describe(cause) for cause in causes(error))
    return said and not torch.distributed.is_initialized()


def make_process_group() -> None:
    """Initialize ``torch.distributed`` with a fake group. Raises ImportError if this torch has no fake group."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)


def group_of(cls: type) -> Any:
    """A process group, or a mesh of one device, if ``cls`` is the class of such; otherwise None.

    Raises ImportError if this torch has no fake group.
    """
    if not torch.distributed.is_available() or cls.__name__ not in ("ProcessGroup", "DeviceMesh"):
        return None
    is_group = issubclass(cls, torch.distributed.ProcessGroup)
    if not is_group and not cls.__module__.startswith("torch.distributed."):
        return None
    if not torch.distributed.is_initialized():
        make_process_group()
    if is_group:
        return torch.distributed.group.WORLD
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh("cpu", (1,))


VARIABLES = {
    "RANK": "0",
    "WORLD_SIZE": "1",
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
    "GROUP_RANK": "0",
    "MASTER_ADDR": "localhost",
    "MASTER_PORT": "29500",
}
"""The environment variables that `torchrun` sets, as for a single process."""


def lacks_variable(error: BaseException) -> bool:
    """Whether ``error``, or one that it was raised from, says that one of `VARIABLES` is not set."""
    keys = [str(key) for cause in causes(error) if isinstance(cause, KeyError) for key in cause.args]
    return any(key in VARIABLES and key not in os.environ for key in keys)


def set_variables() -> None:
    """Set those of `VARIABLES` that are not set."""
    for name, value in VARIABLES.items():
        os.environ.setdefault(name, value)
