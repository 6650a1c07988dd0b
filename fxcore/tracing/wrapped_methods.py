"""Wrapping methods of one tracer for a while: whoever follows or steers a trace needs no subclass of its tracer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def wrapped_methods(tracer: Any, wrappers: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """Within the block, a call of a method named in ``wrappers`` is a call of its wrapper: ``wrapper(method, *args)``.

    The class of the tracer and other tracers are left alone. Wrappers may be put around wrapped methods.
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
