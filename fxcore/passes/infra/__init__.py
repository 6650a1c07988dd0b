"""The base class of passes, the manager that runs them, and the partitioner that finds nodes to fuse.

This package may import fxcore's top-level modules and other passes. Start reading at `pass_base`.
"""

from fxcore.passes.infra import pass_manager

__all__ = ["pass_manager"]
