"""What a tracer is written with that has a ``trace`` of its own, in place of `fxcore.Tracer.trace`.

Such programs were written for torch.fx, whose names these are: they replace ``torch.nn.Module``'s methods and wrapped
functions for as long as they trace. fxcore's own traces do that by `fxcore.session`.
"""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Collection
from typing import Any

from fxcore.patching import PatchScope
from fxcore.wrap import replace_functions, replace_wrapped

__all__ = ["_Patcher", "_autowrap_check", "_patch_wrapped_functions"]


class _Patcher(PatchScope):
    """A context manager that replaces functions and methods until its exit, and then undoes that, latest first."""

    def __init__(self) -> None:
        super().__init__()
        self._undo = contextlib.ExitStack()
        self._visited: set[int] = set()

    def patch(
        self, frame_dict: dict[str, Any], name: str, new_fn: Callable[..., Any], deduplicate: bool = True
    ) -> None:
        """Put ``new_fn`` in place of a module's global, or of a builtin; ``frame_dict`` is the module's globals.

        ``deduplicate`` is kept for programs that pass it; torch.fx doesn't heed it either. Raises KeyError where there
        is no such name.
        """
        if name in frame_dict:
            self._undo.callback(frame_dict.__setitem__, name, frame_dict[name])
        elif hasattr(builtins, name):
            self._undo.callback(frame_dict.__delitem__, name)
        else:
            raise KeyError(name)
        frame_dict[name] = new_fn

    def patch_method(self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """Put ``new_fn`` in place of a class's method, as `patch` does. Raises AttributeError where it has none."""
        self._undo.callback(setattr, cls, name, getattr(cls, name))
        setattr(cls, name, new_fn)

    def visit_once(self, thing: object) -> bool:
        """Whether this is the first time that it is asked about ``thing``, by identity."""
        first = id(thing) not in self._visited
        self._visited.add(id(thing))
        return first

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *error: object) -> None:
        self._undo.close()
        super().__exit__(*error)


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Have the functions and methods that were wrapped recorded as calls until ``patcher``'s exit."""
    replace_wrapped(patcher)


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: Collection[int]) -> None:
    """Have a module's public globals recorded as calls if their ids are among ``function_ids``."""
    if patcher.visit_once(frame_dict):
        replace_functions(patcher, frame_dict, function_ids)
