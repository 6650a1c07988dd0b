"""Classes whose construction can be recorded in traced code."""

from __future__ import annotations

import weakref
from typing import Any

from fxcore.torch_compat import is_proxyable_for_torch_fx
from fxcore.tracing.trace_session import is_fx_tracing
from fxcore.wrap import find_proxy

_proxyable_classes: weakref.WeakSet[type] = weakref.WeakSet()


class ProxyableClassMeta(type):
    """The metaclass of a class whose construction is recorded if its arguments include a traced value.

    ``Pair(x, y)`` is then a call to ``Pair`` in the graph, and its result is a proxy. An instance that was made before
    the trace is a constant of the graph.
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes.add(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an instance, or record a call that makes one."""
        proxy = find_proxy(args, kwargs) if is_fx_tracing() else None
        if proxy is None:
            return super().__call__(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)


def is_proxyable(cls: type) -> bool:
    """Whether the metaclass of ``cls`` is `ProxyableClassMeta`, or torch.fx's class of that name."""
    return cls in _proxyable_classes or is_proxyable_for_torch_fx(cls)
