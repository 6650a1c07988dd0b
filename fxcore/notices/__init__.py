"""Places where a program traces, but where its graph may not do what the program does.

It may import fxcore's top modules, `fxcore.tracing`, `fxcore.source` and `fxcore.failures`. Start reading at `watch`,
which finds them; `notices`, whose names this package exports, defines them.
"""

from fxcore.notices.notices import Notice, NoticeKind, Notices, innermost_place, running_places

__all__ = ["Notice", "NoticeKind", "Notices", "innermost_place", "running_places"]
