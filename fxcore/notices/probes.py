"""Notes tests of traced values whose results differ from those for the real values.

A proxy isn't a tensor to `isinstance`, has every attribute, equals nothing in a set, and has its name as its text.
The methods of `Proxy` that are called for such tests are replaced by methods that also compare the result with the
likely result for the real value.
"""

from __future__ import annotations

import ast
import dis
import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from fxcore import proxy as proxies
from fxcore.notices.likely_type import type_of_proxy
from fxcore.notices.notices import NoticeKind, Notices, innermost_place
from fxcore.proxy import Proxy
from fxcore.source import is_user_file
from fxcore.source.bytecode import is_call
from fxcore.source.syntax import call_at, statement_at
from fxcore.tracing.patching import PatchScope
from fxcore.tracing.trace_session import current

_IS_TENSOR = torch.is_tensor.__code__


def watch_probes(patches: PatchScope, notices: Notices) -> None:
    """Until ``patches`` ends, note the tests whose result is likely different for the real value."""
    patches.replace(vars(proxies), "known_class", functools.partial(_watched_class, notices))
    patches.replace(Proxy, "__getattr__", functools.partial(_watched_getattr, notices))
    patches.replace(Proxy, "__hash__", functools.partial(_watched_hash, notices))
    patches.replace(Proxy, "__repr__", functools.partial(_watched_repr, notices))


def _watched_class(notices: Notices, known_class: Callable[[Proxy], type]) -> Callable[[Proxy], type]:
    def watched(proxy: Proxy) -> type:
        asker = sys._getframe(2)  # beyond the property __class__
        if asker.f_code is _IS_TENSOR and asker.f_back is not None:
            if _asks(asker.f_back) and _likely(proxy, torch.Tensor):
                notices.running(NoticeKind.TYPE_CHECK, "is_tensor", asker)
        elif _asks(asker) and _likely(proxy, _classes_asked(asker)):
            notices.running(NoticeKind.TYPE_CHECK, "isinstance", asker)
        return known_class(proxy)

    return watched


def _watched_getattr(notices: Notices, getattr_: Callable[[Proxy, str], Any]) -> Callable[[Proxy, str], Any]:
    @functools.wraps(getattr_)
    def __getattr__(self: Proxy, k: str) -> Any:
        asker = sys._getframe(1)
        # C code looks up protocols such as `__array__`, so such a name wasn't tested for by the program.
        is_new = not k.startswith("__") and not hasattr(torch.Tensor, k)
        if is_new and _asks(asker) and type_of_proxy(self) is torch.Tensor:
            notices.running(NoticeKind.ATTRIBUTE_CHECK, k, asker)
        return getattr_(self, k)

    return __getattr__


def _watched_hash(notices: Notices, hash_: Callable[[Proxy], int]) -> Callable[[Proxy], int]:
    @functools.wraps(hash_)
    def __hash__(self: Proxy) -> int:
        asker = sys._getframe(1)
        if _is_users(asker) and type_of_proxy(self) not in (torch.Tensor, None) and _looks_up(asker):
            notices.running(NoticeKind.LOOKUP, "", asker)
        return hash_(self)

    return __hash__


def _watched_repr(notices: Notices, repr_: Callable[[Proxy], str]) -> Callable[[Proxy], str]:
    @functools.wraps(repr_)
    def __repr__(self: Proxy) -> str:
        text = repr_(self)
        session = current()
        place = None if session is None else innermost_place(session, sys._getframe(1))
        if place is not None and not _is_message(statement_at(place)):
            notices.running(NoticeKind.TEXT, text)
        return text

    return __repr__


def _is_users(frame: FrameType) -> bool:
    return current() is not None and is_user_file(frame.f_code.co_filename)


def _asks(frame: FrameType) -> bool:
    """Whether the program calls a function such as ``isinstance``, rather than reading an attribute itself."""
    return _is_users(frame) and is_call(frame.f_code, frame.f_lasti)


def _looks_up(frame: FrameType) -> bool:
    code, lasti = frame.f_code, frame.f_lasti
    return dis.opname[code.co_code[lasti]] == "CONTAINS_OP" or call_at((code, lasti), "get") is not None


def _likely(proxy: Proxy, classes: Any) -> bool:
    """Whether the real value is likely an instance of ``classes``; a value of unknown type is taken to be a tensor."""
    try:
        return issubclass(type_of_proxy(proxy) or torch.Tensor, classes)
    except TypeError:  # a protocol that supports isinstance, but not issubclass
        return False


def _classes_asked(frame: FrameType) -> tuple[type, ...]:
    """The classes in the ``isinstance(x, classes)`` call that ``frame`` is making, as far as they are names."""
    call = call_at((frame.f_code, frame.f_lasti), "isinstance")
    if call is None or len(call.args) != 2:
        return ()
    try:
        return tuple(_named_classes(call.args[1], frame))
    except Exception:  # looking up an attribute may run any code
        return ()


def _named_classes(expression: ast.expr, frame: FrameType) -> list[type]:
    parts = [expression]
    if isinstance(expression, ast.Tuple):
        parts = expression.elts
    elif isinstance(expression, ast.BinOp):
        parts = [expression.left, expression.right]
    if parts != [expression]:
        return [cls for part in parts for cls in _named_classes(part, frame)]
    value = _value_of(expression, frame)
    values = value if isinstance(value, tuple) else (value,)
    return [cls for cls in values if isinstance(cls, type)]


def _value_of(expression: ast.expr, frame: FrameType) -> Any:
    """The value of a dotted name. Raises KeyError for any other expression, and if the name isn't defined."""
    if isinstance(expression, ast.Attribute):
        return getattr(_value_of(expression.value, frame), expression.attr)
    if not isinstance(expression, ast.Name):
        raise KeyError(expression)
    names = {**frame.f_builtins, **frame.f_globals, **frame.f_locals}
    return names[expression.id]


def _is_message(statement: ast.stmt | None) -> bool:
    """Whether a statement likely makes text for people to read: an error's message, a warning, a log."""
    return statement is None or isinstance(statement, ast.Raise | ast.Assert | ast.Expr)
