"""What a running trace changes in the process, and for which code.

While a trace runs, `torch.nn.Module`'s call and attribute look-up, and the functions that are to be recorded, are
replaced. The replacements check whether the code that called them belongs to a trace, so other threads, which may run
the same models, aren't affected. Everything is undone when the session ends, whether the trace succeeded or failed.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextvars import ContextVar, Token
from types import CodeType, MethodType
from typing import TYPE_CHECKING, Any

import torch

from fxcore.torch_compat import tracing_flag_of_torch_fx
from fxcore.tracing.patching import PatchScope, twin
from fxcore.wrap import replace_functions, replace_wrapped

if TYPE_CHECKING:
    from fxcore.proxy import Proxy
    from fxcore.tracer import Tracer

_module_call: Callable[..., Any] = twin(torch.nn.Module.__call__)
_module_getattr: Callable[..., Any] = twin(torch.nn.Module.__getattr__)

_current: ContextVar[TraceSession | None] = ContextVar("_current", default=None)


current: Callable[[], TraceSession | None] = _current.get
"""Returns the innermost trace that is running the calling code; None if there is none."""


def is_fx_tracing() -> bool:
    """Whether the calling code is being traced."""
    return _current.get() is not None


def is_fx_symbolic_tracing() -> bool:
    """Whether the calling code is being traced, and not compiled."""
    return is_fx_tracing() and not torch.compiler.is_compiling()


@contextlib.contextmanager
def outside_of_traces() -> Iterator[None]:
    """Within the block, code runs as if nothing were being traced."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


class TraceSession:
    """A context manager for one run of `Tracer.trace`."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.recording = False
        """Whether modules' calls and attributes go to the tracer; false while the arguments are made."""
        self.root_code: CodeType | None = None
        """The code of the traced function; None until its parameters are bound."""
        self.returned = False
        """Whether the traced function has returned."""
        self.parameter_proxies: dict[str, Proxy] = {}
        self._patches = PatchScope()
        self._searched: set[int] = set()
        self._token: Token[TraceSession | None] | None = None

    def __enter__(self) -> TraceSession:
        self._token = _current.set(self)
        flag = tracing_flag_of_torch_fx()
        if flag is not None:
            self._patches.replace(*flag, _TracingHere)
        return self

    def __exit__(self, *error: object) -> None:
        self._patches.__exit__()
        if self._token is not None:
            _current.reset(self._token)

    def start_recording(self, root_globals: dict[str, Any]) -> None:
        """From now on, pass modules' calls and attributes to the tracer, and record calls to wrapped functions."""
        self._patches.replace_method(torch.nn.Module, "__getattr__", _hearing_getattr)
        self._patches.replace_method(torch.nn.Module, "__call__", _hearing_call)
        replace_wrapped(self._patches)
        self.autowrap(root_globals)
        for module in self.tracer._autowrap_search:
            self.autowrap(module.__dict__)
        self.recording = True

    def autowrap(self, namespace: dict[str, Any]) -> None:
        """Record the calls that a module with these globals makes to functions that the tracer wraps automatically."""
        if id(namespace) not in self._searched:
            self._searched.add(id(namespace))
            replace_functions(self._patches, namespace, self.tracer._autowrap_function_ids)


_NO_GLOBALS: dict[str, Any] = {}


class _TracingHere:
    """Replaces torch.fx's own flag, a bool for the process or a thread: this one is true only in traced code."""

    def __init__(self, flag: object) -> None:
        self._flag = flag

    def __bool__(self) -> bool:
        return is_fx_tracing() or bool(self._flag)


def _hearing_call(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __call__(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        session = _current.get()
        if session is None or not session.recording:
            return original(module, *args, **kwargs)
        session.autowrap(getattr(getattr(module, "forward", module), "__globals__", _NO_GLOBALS))
        return session.tracer.call_module(module, MethodType(_module_call, module), args, kwargs)

    return __call__


def _hearing_getattr(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __getattr__(module: torch.nn.Module, name: str) -> Any:
        session = _current.get()
        if session is None or not session.recording:
            return original(module, name)
        return session.tracer.getattr(name, _module_getattr(module, name), session.parameter_proxies)

    return __getattr__
