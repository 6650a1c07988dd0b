"""What passes are made of and run by, and the partitioner."""

from fxcore.passes.infra import pass_manager

__all__ = ["pass_manager"]
