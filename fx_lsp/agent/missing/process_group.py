"""A process group of one process, for a constructor that requires one: nothing is sent anywhere."""

from __future__ import annotations

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
