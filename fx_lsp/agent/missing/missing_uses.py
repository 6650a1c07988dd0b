"""Records which parts of missing packages a build or a trace has used, so that its result is not taken for certain."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

MOST_USES = 10_000
"""How many uses one build and trace may make. A loop that asks a stand-in whether to go on never ends."""

_MAKES_NO_MODULE = re.compile(r"\w*(Tokenizer|Processor|FeatureExtractor)\w*(\.\w+)?\(\)$")
"""The end of the name of an object that takes text or images, and is called like a module although it is none."""

_used: dict[str, None] = {}
"""The names of the stand-ins that were used, in order."""

_called: dict[str, None] = {}
"""The names of what is missing and was called on traced values, in order: functions, methods and other callables."""

_decorated: dict[str, None] = {}
"""The names of the missing decorators whose functions were called, in order."""

_wrapped: dict[str, None] = {}
"""The names of the missing context managers whose code was run, in order."""

_before_trace: set[str] = set()
"""Those of the names above that were noted before the trace began, and have not been noted since."""

_counts: list[int] = []
"""How many uses there were since `forget_uses`; empty while files are imported, where uses are not limited."""


class UsedWithoutEnd(BaseException):
    """There were more than `MOST_USES` uses. An ``except Exception`` in the program can't catch it."""


def note_use(name: str) -> None:
    """Record that the stand-in ``name`` was used. Raises `UsedWithoutEnd`."""
    _used[name] = None
    if _counts:
        _counts[0] += 1
        if _counts[0] > MOST_USES:
            raise UsedWithoutEnd(name)


def note_call(name: str) -> None:
    """Record that something missing, ``name``, was called on traced values."""
    _called[name] = None


def note_decorated(name: str) -> None:
    """Record that a function was called that was passed to the missing function ``name``, as to a decorator."""
    _decorated[name] = None
    _before_trace.discard(name)


def note_wrapping(name: str) -> None:
    """Record that code was run within the missing context manager ``name``."""
    _wrapped[name] = None
    _before_trace.discard(name)


def forget_uses() -> None:
    """Forget all uses and calls so far: the functions below then report only later ones."""
    _used.clear()
    _called.clear()
    _decorated.clear()
    _wrapped.clear()
    _before_trace.clear()
    _counts[:] = [0]


@contextlib.contextmanager
def looking() -> Iterator[None]:
    """Note no uses within: it is not the program that uses something there, but we who look at what it has."""
    before = dict(_used)
    try:
        yield
    finally:
        _used.clear()
        _used.update(before)


def is_importing() -> bool:
    """Whether files are being imported: nothing was built or traced yet."""
    return not _counts


def used_stand_in() -> str | None:
    """The name of the first stand-in that was used since `forget_uses`; None if none was used."""
    return next(iter(_used), None)


def called_stand_ins() -> tuple[list[str], list[str]]:
    """The names of what is missing and was called on traced values since `forget_uses`.

    The first list is of functions and methods, which torch.fx would run. The second is of objects that the program got
    from a missing table or function, such as ``ACTIVATIONS['gelu']`` and ``build_norm_layer()``, and then called. As a
    rule these are modules, which can be leaves. An object that may run one of the program's own functions or modules,
    such as ``checkpointed(…)``, and one that is no module, such as a tokenizer, is in the first list.
    """
    objects = [name for name in _called if name.endswith(("]", "()")) and not _MAKES_NO_MODULE.search(name)]
    return [name for name in _called if name not in objects], objects


def begin_trace() -> None:
    """Tell apart what was run to build a module from what is run from now on to trace it."""
    _before_trace.update(_decorated, _wrapped)


def decorators() -> list[str]:
    """The names of the missing decorators whose functions were called since `forget_uses`."""
    return list(_decorated)


def context_managers() -> list[str]:
    """The names of the missing context managers whose code was run since `forget_uses`."""
    return list(_wrapped)


def wrappers_in_trace() -> list[str]:
    """The names of the missing decorators and context managers whose code was run since `begin_trace`."""
    return [name for name in (*_decorated, *_wrapped) if name not in _before_trace]
