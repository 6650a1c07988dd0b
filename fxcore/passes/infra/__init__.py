"""The base class of passes, what runs them, and the partitioner that finds which nodes to fuse.

They may import fxcore's top modules and other passes. Start reading at `pass_base`.
"""

from fxcore.passes.infra import pass_manager

__all__ = ["pass_manager"]
