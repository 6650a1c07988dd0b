"""What a launcher such as `torchrun` sets up, for a constructor that requires it: as for one process.

That is a process group, which sends nothing anywhere, and environment variables.
"""

from __future__ import annotations

import os
from traceback import walk_tb
from typing import Any

import torch.distributed

from fx_lsp.agent.traceback_steps import causes, describe

VARIABLES = {
    "RANK": "0",
    "WORLD_SIZE": "1",
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
    "GROUP_RANK": "0",
    "MASTER_ADDR": "localhost",
    "MASTER_PORT": "29500",
}
"""Environment variables that `torchrun` sets and programs read, with the values for a single process."""


def lacks_process_group(error: BaseException) -> bool:
    """Whether ``error``, or one that it was raised from, says that ``torch.distributed`` is not initialized."""
    said = any("process group has not been initialized" in describe(cause) for cause in causes(error))
    return said and not torch.distributed.is_initialized()


def make_process_group() -> None:
    """Initialize ``torch.distributed`` with a fake group. Raises ImportError if this torch has no fake group."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)


def is_group(cls: type) -> bool:
    """Whether ``cls`` is the class of process groups or of meshes of devices."""
    if not torch.distributed.is_available():
        return False
    is_mesh = cls.__name__ == "DeviceMesh" and cls.__module__.startswith("torch.distributed.")
    return is_mesh or cls is torch.distributed.ProcessGroup


def group_of(cls: type) -> Any:
    """The process group, or the mesh of devices, of one process: an instance of ``cls``, one of these classes.

    Raises ImportError if this torch has no fake group.
    """
    if not torch.distributed.is_initialized():
        make_process_group()
    if cls is torch.distributed.ProcessGroup:
        return torch.distributed.group.WORLD
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh("cpu", (1,))


def lacks_variable(error: BaseException) -> bool:
    """Whether ``error``, or one that it was raised from, is that of ``os.environ`` without one of `VARIABLES`."""
    lookup = type(os.environ).__getitem__.__code__
    for cause in causes(error):
        frames = [frame for frame, _ in walk_tb(cause.__traceback__)]
        if isinstance(cause, KeyError) and frames and frames[-1].f_code is lookup:
            return str(cause.args[0]) in VARIABLES
    return False


def set_variables() -> None:
    """Set those of `VARIABLES` that are not set."""
    for name, value in VARIABLES.items():
        os.environ.setdefault(name, value)
