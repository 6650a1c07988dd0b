"""Encodes and decodes the messages that the server and the agent, and the agent's own processes, send each other.

A message is four bytes of length (big-endian), then UTF-8 JSON: an object with the dataclass's fields plus
``"message"``, the name of its class. One of the fields may hold bytes: they follow the JSON after a NUL, which JSON
never contains, and ``"attached"`` is the name of the field. The format is not pickle, because the code that a child
runs may write to the child's pipe and must not be able to make the agent run anything. Like ``messages.py``, this
module is loaded in an interpreter that belongs to someone else.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import struct
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from fx_lsp.agent.messages import Message

HEADER = struct.Struct(">I")
"""The length that precedes each message's JSON."""

LARGEST = 256 * 1024 * 1024
"""The largest message, in bytes; a greater length means that the channel is broken."""

_BY_NAME: dict[str, Any] = {cls.__name__: cls for cls in typing.get_args(Message)}


T = TypeVar("T")


def wire_message(cls: type[T]) -> type[T]:
    """Register a dataclass with `encode` and `decode`, for messages among the agent's own processes."""
    _BY_NAME[cls.__name__] = cls
    return cls


def encode(message: object) -> bytes:
    """The bytes of one message, its length first."""
    fields = {"message": type(message).__name__, **vars(message)}
    attached = next((name for name, value in fields.items() if isinstance(value, bytes)), None)
    end = b"" if attached is None else b"\0" + fields.pop(attached)
    if attached is not None:
        fields["attached"] = attached
    body = json.dumps(fields, default=vars).encode()
    return b"".join((HEADER.pack(len(body) + len(end)), body, end))


def decode(body: bytes) -> Any:
    """The message in one body (without its length). Raises ValueError if the body is not a message."""
    try:
        text, _, attached = body.partition(b"\0")
        fields = json.loads(text)
        cls = _BY_NAME[fields.pop("message")]
        if (name := fields.pop("attached", None)) is not None:
            if typing.get_type_hints(cls)[name] is not bytes:
                raise ValueError(f"its {name!r} holds bytes")
            fields[name] = attached
        build = _builder(cls)
        assert build is not None
        return build(fields)
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"it could not be decoded: {error!r}") from error


def body_length(header: bytes) -> int:
    """The length in bytes that ``header`` announces. Raises ValueError if no message may be that long."""
    size: int = HEADER.unpack(header)[0]
    if size > LARGEST:
        raise ValueError(f"it claims to have {size} bytes")
    return size


@functools.cache
def _builder(hint: Any) -> Callable[[Any], Any] | None:
    """A function that converts a JSON value to the type ``hint``; None if the value needs no conversion.

    It is cached per type, since a large graph has thousands of values.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        builders = {name: _builder(field) for name, field in typing.get_type_hints(hint).items()}
        return functools.partial(_build, hint, {name: build for name, build in builders.items() if build})
    if origin is tuple:
        build = _builder(arguments[0])
        return tuple if build is None else lambda items: tuple(map(build, items))
    if origin in (typing.Union, types.UnionType):
        return _builder(next(argument for argument in arguments if argument is not type(None)))
    return None


def _build(cls: Any, builders: dict[str, Callable[[Any], Any]], fields: dict[str, Any]) -> Any:
    """An instance of ``cls``; ``builders`` convert the fields that JSON represents differently."""
    for name in builders.keys() & fields.keys():
        if fields[name] is not None:
            fields[name] = builders[name](fields[name])
    return cls(**fields)
