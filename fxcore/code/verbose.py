"""The extra parts of verbose code: comments about where nodes come from, each value's dtype and shape, and colors."""

from __future__ import annotations

import itertools
import pprint
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import torch

from fxcore import torch_compat
from fxcore.node import Node
from fxcore.nodes.node_text import is_strided_tensor, stringify_shape, tensor_value

if TYPE_CHECKING:
    from fxcore.code.emitter import CodeOptions

_RESET = "\033[0m"
_FRAME = re.compile(r'^File "(.+)", line (\d+), in (.+)$')


class _ParsedStackTrace(NamedTuple):
    """One frame of a printed stack: file, line number, function, and the line's text."""

    file: str
    lineno: str
    name: str
    code: str

    def get_summary_str(self) -> str:
        """Return the frame as one line of text."""
        place = f"{self.file}:{self.lineno}"
        return f"File: {place} in {self.name}, code: {self.code}"


FrameFilter: TypeAlias = Callable[[str, str, str], bool]


def _parse_stack_trace(stack_trace: str | None, filter_fn: FrameFilter | None = None) -> _ParsedStackTrace | None:
    """The innermost frame of a printed stack for which ``filter_fn(file, function, line of code)`` is true."""
    if stack_trace is None:
        return None
    lines = [line.strip() for line in stack_trace.strip().split("\n")]
    for line, code in reversed(list(itertools.pairwise(lines))):
        if frame := _FRAME.match(line):
            file, lineno, name = frame.groups()
            if filter_fn is None or filter_fn(file, name, code):
                return _ParsedStackTrace(file, lineno, name, code)
    return None


_STYLES = {
    "red": "\033[31m",  # dtypes
    "blue": "\033[34m",  # constants and shapes
    "dim": "\033[2m",  # less important text
    "dim blue": "\033[2m\033[34m",  # strides
    "dim green": "\033[2m\033[32m",  # devices
}


class Painter:
    """Puts ANSI escape sequences around text or, if not ``colored``, leaves it unchanged."""

    def __init__(self, colored: bool) -> None:
        self._colored = colored

    def __call__(self, style: str, text: str) -> str:
        """Return ``text`` in one of `_STYLES`."""
        return f"{_STYLES[style]}{text}{_RESET}" if self._colored else text


class Provenance:
    """Writes the comments that say where nodes come from; a comment that repeats the previous one is left out."""

    def __init__(self, paint: Painter, additional_meta: Sequence[str] | None) -> None:
        self._paint = paint
        self._additional_meta = additional_meta or ()
        self._previous = ""

    def comment(self, node: Node) -> str:
        """The comment with the line breaks around it; empty if there is nothing new to say."""
        if node.op in ("placeholder", "output"):
            return ""
        additional = ", ".join(f"{key}: {node.meta[key]}" for key in self._additional_meta if key in node.meta)
        shown = f"# {additional} " if additional else ""
        text = f"{shown}#{_annotation(node)}{_recomputation(node)} {_source(node)}"
        comment = f"\n{self._paint('dim', text)}\n"
        if comment == self._previous:
            return ""
        self._previous = comment
        return comment


def _annotation(node: Node) -> str:
    """What the user noted in ``meta["custom"]``, with long values cut."""
    noted = node.meta.get("custom")
    if not noted:
        return ""
    shown: dict[Any, Any] = {}
    for key, value in noted.items():
        text = str(value)
        shown[key] = f"{text[:40]}..." if len(text) > 40 else value
    return f" Annotation: {shown}"


def _recomputation(node: Node) -> str:
    """What activation checkpointing has decided about the node."""
    group, policy = node.meta.get("ac_graph_id"), node.meta.get("recompute")
    if group is None:
        return "" if policy is None else f" recompute: {policy.name}"
    return f" ac_graph_id: {group}" + ("" if policy is None else f" - {policy.name}")


def _source(node: Node) -> str:
    frame = _parse_stack_trace(node.stack_trace) if node.stack_trace else None
    return frame.get_summary_str() if frame else "No stacktrace found for following nodes"


def meta_block(node: Node) -> str:
    """All of ``meta`` as a string literal that is placed before the statement."""
    entries = [f"{key}: {pprint.pformat(str(value), width=80, compact=True)}\n" for key, value in node.meta.items()]
    return "".join(['"""\n', *entries, '"""\n'])


def tensor_annotation(node: Node, options: CodeOptions, paint: Painter) -> str:
    """The annotation with the node's dtype and shape, e.g. ``: "f32[2, 3]"``; empty if they aren't known."""
    value = tensor_value(node)
    if is_strided_tensor(value):
        text = _describe(value, options, paint)
        plain = type(value) is torch.Tensor or torch_compat.is_fake_tensor(value)
        return f': "{text}"' if plain else f': "{type(value).__name__}({text})"'
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return f': "Sym({value!r})"'
    if {"dtype", "shape", "stride"}.issubset(getattr(value, "_fields", ())):  # TensorMetadata, also torch.fx's
        return f': "{torch_compat.dtype_abbrs[value.dtype]}{stringify_shape(value.shape)}"'
    return ""


def _describe(tensor: Any, options: CodeOptions, paint: Painter) -> str:
    parts = [paint("red", torch_compat.dtype_abbrs[tensor.dtype]), paint("blue", stringify_shape(tensor.shape))]
    parts.append(paint("dim blue", stringify_shape(tensor.stride()) if options.include_stride else ""))
    parts.append(paint("dim green", str(tensor.device) if options.include_device else ""))
    return "".join(parts)
