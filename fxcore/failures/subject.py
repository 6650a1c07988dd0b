"""The value that a trace failed on: the kind of information that it holds, and how it was computed from the inputs."""

from __future__ import annotations

import operator
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import torch

from fxcore.node import Node
from fxcore.source import Frame


class Subject(str, Enum):
    """The kind of information that a node's value holds. Tools depend on the enum's values, so they must not change."""

    VALUES = "values"
    """The elements of a tensor, or something computed from them."""
    SHAPE = "shape"
    """Sizes, a rank, strides, or a number computed from them."""
    DTYPE = "dtype"
    DEVICE = "device"
    ATTRIBUTE = "attribute"
    """Another property of a tensor: its layout, whether it requires gradients, …"""
    ARGUMENT = "argument"
    """An input that is not a tensor: a flag, an option, a list."""


_ABOUT = {
    Subject.SHAPE: "shape size dim ndim ndimension numel nelement stride storage_offset nbytes itemsize element_size",
    Subject.DTYPE: "dtype is_floating_point is_complex is_signed",
    Subject.DEVICE: "device get_device is_cuda is_cpu is_meta is_mps is_xpu",
    Subject.ATTRIBUTE: "layout is_sparse is_nested is_quantized is_contiguous requires_grad is_leaf grad grad_fn names",
}
# The subject, by the name of a tensor's attribute or method, or of torch's function of the same name.
_BY_NAME = {name: subject for subject, names in _ABOUT.items() for name in names.split()}

# Packages whose functions compute numbers from numbers: the result has the subject of the arguments.
_TRANSPARENT = frozenset({"_operator", "operator", "math", "builtins", "numpy"})

_PLAIN = (bool, str, int, float, list, tuple, dict)
_PLAIN_NAMES = tuple(plain.__name__ for plain in _PLAIN)
_CONTAINERS = (list, tuple, dict, Sequence, Mapping)


def subject_of(node: Node) -> Subject:
    """The subject of ``node``; if the node depends on several subjects, the first of them in the order of `Subject`."""
    found: set[Subject] = set()
    seen, waiting = {node}, [node]
    for current in waiting:
        subject = _own_subject(current)
        if subject is not None:
            found.add(subject)
            continue
        for source in current.all_input_nodes:
            if source not in seen:
                seen.add(source)
                waiting.append(source)
    return next((subject for subject in Subject if subject in found), Subject.VALUES)


def _own_subject(node: Node) -> Subject | None:
    """The subject of ``node``, judged by its operation alone; None if the subject depends on its arguments."""
    if node.op == "placeholder":
        return Subject.ARGUMENT if _is_option(node) else Subject.VALUES
    if node.op == "call_method":
        return _BY_NAME.get(str(node.target), Subject.VALUES)
    if node.op != "call_function":
        return Subject.VALUES
    target: Any = node.target
    if target is getattr:
        return _BY_NAME.get(str(node.args[1]))
    if _is_transparent(target):
        return None
    return _BY_NAME.get(getattr(target, "__name__", ""), Subject.VALUES)


def _is_transparent(function: Callable[..., Any]) -> bool:
    module = getattr(function, "__module__", None) or type(function).__module__  # a function of NumPy may have none
    name = getattr(function, "__name__", "")
    return str(module).partition(".")[0] in _TRANSPARENT or (module == "torch" and name.startswith("sym_"))


def _is_option(placeholder: Node) -> bool:
    """Whether an input is not a tensor, judged by its default, its annotation, or what it is compared with."""
    if placeholder.args:
        return not isinstance(placeholder.args[0], torch.Tensor)
    annotation = placeholder.type
    if annotation is not None:
        return annotation in _PLAIN or annotation in _PLAIN_NAMES or typing.get_origin(annotation) in _CONTAINERS
    comparisons = [user for user in placeholder.users if user.target in (operator.eq, operator.ne)]
    return any(isinstance(arg, bool | str) for comparison in comparisons for arg in comparison.args)


def cause_of(node: Node) -> tuple[Frame, ...]:
    """The shortest path from an input (or a parameter) to ``node``, as the places of the operations along the path.

    Each frame is named after its node. Operations without a place, such as inputs, have no frame.
    """
    came_from: dict[Node, Node | None] = {node: None}
    waiting = [node]
    for current in waiting:  # breadth first, so the first source that is found is the nearest
        if current.op in ("placeholder", "get_attr"):
            return _places(current, came_from)
        for source in current.all_input_nodes:
            if source not in came_from:
                came_from[source] = current
                waiting.append(source)
    return _places(node, {node: None})


def _places(source: Node, came_from: dict[Node, Node | None]) -> tuple[Frame, ...]:
    frames: list[Frame] = []
    current: Node | None = source
    while current is not None:
        span = current.span
        if span is not None and (not frames or frames[-1].span != span):
            frames.append(Frame(current.name, span))
        current = came_from[current]
    return tuple(frames)
