"""What a traced value tells about the inputs: a shape, a dtype, …, read from the operations that made it."""

from __future__ import annotations

import operator
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import torch

from fxcore.node import Node


class Subject(str, Enum):
    """What the value of a node is about. The values are for tools: they stay as they are."""

    VALUES = "values"
    """The elements of a tensor, or something computed from them."""
    SHAPE = "shape"
    """Sizes, a rank, strides, or a number computed from such."""
    DTYPE = "dtype"
    DEVICE = "device"
    ATTRIBUTE = "attribute"
    """Something else that a tensor tells about itself: its layout, whether it requires gradients, …"""
    ARGUMENT = "argument"
    """What the caller passed, where that is no tensor: a flag, an option, a list."""


_ABOUT = {
    Subject.SHAPE: "shape size dim ndim ndimension numel nelement stride storage_offset nbytes itemsize element_size",
    Subject.DTYPE: "dtype is_floating_point is_complex is_signed",
    Subject.DEVICE: "device get_device is_cuda is_cpu is_meta is_mps is_xpu",
    Subject.ATTRIBUTE: "layout is_sparse is_nested is_quantized is_contiguous requires_grad is_leaf grad grad_fn names",
}
_BY_NAME = {name: subject for subject, names in _ABOUT.items() for name in names.split()}
"""By the name of a tensor's attribute or method, or of torch's function of the same name."""

_TRANSPARENT = frozenset({"_operator", "operator", "math", "builtins"})
"""Modules whose functions make numbers of numbers: what they compute is about what their arguments are about."""

_PLAIN = (bool, str, int, float, list, tuple, dict)
_PLAIN_NAMES = tuple(plain.__name__ for plain in _PLAIN)
_CONTAINERS = (list, tuple, dict, Sequence, Mapping)


def subject_of(node: Node) -> Subject:
    """What ``node`` is about; tensors' values, if it depends on those at all."""
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
    """What the operation of ``node`` alone says; None where that is up to its arguments."""
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
    module, name = getattr(function, "__module__", None), getattr(function, "__name__", "")
    return module in _TRANSPARENT or (module == "torch" and name.startswith("sym_"))


def _is_option(placeholder: Node) -> bool:
    """Whether an input is no tensor: by its default, its annotation, or what it is compared with."""
    if placeholder.args:
        return not isinstance(placeholder.args[0], torch.Tensor)
    annotation = placeholder.type
    if annotation is not None:
        return annotation in _PLAIN or annotation in _PLAIN_NAMES or typing.get_origin(annotation) in _CONTAINERS
    return any(_compares_with_option(user) for user in placeholder.users)


def _compares_with_option(node: Node) -> bool:
    return node.target in (operator.eq, operator.ne) and any(isinstance(arg, bool | str) for arg in node.args)
