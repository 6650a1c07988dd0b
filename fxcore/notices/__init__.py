"""Notices: places where a program can be traced, but its graph may not do what the program does.

This package may import fxcore's top-level modules, `fxcore.nodes`, `fxcore.tracing`, `fxcore.source` and
`fxcore.failures`. Start reading at `watch`, which collects notices; `notices`, whose names this package exports,
defines them.
"""

from fxcore.notices.notices import Notice, NoticeKind, Notices, innermost_place, running_places

__all__ = ["Notice", "NoticeKind", "Notices", "innermost_place", "running_places"]
