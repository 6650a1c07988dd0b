"""Temporarily wrapping methods of one tracer, to follow or steer a trace without subclassing the tracer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def wrapped_methods(tracer: Any, wrappers: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """Within the block, a call to a method named in ``wrappers`` calls its wrapper: ``wrapper(method, *args)``.

    The tracer's class and other tracers aren't affected. Methods that are already wrapped may be wrapped again.
    """
    attributes = vars(tracer)
    before = {name: attributes[name] for name in wrappers if name in attributes}
    for name, wrapper in wrappers.items():
        method = getattr(tracer, name)
        attributes[name] = functools.wraps(method)(functools.partial(wrapper, method))
    try:
        yield
    finally:
        for name in wrappers:
            del attributes[name]
        attributes.update(before)
