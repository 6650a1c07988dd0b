"""Objects to pass to programs that read attributes of their inputs, such as a batch with ``images`` and a ``mask``."""

from __future__ import annotations

from typing import Any


class Record(dict[str, Any]):
    """An object whose attributes are the items of a dict: whatever goes through containers finds its tensors."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"this input has no attribute {name!r}", name=name, obj=self) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class AttributeName(str):
    """A step of the way to a tensor in the arguments that is an attribute, not a key of a dict."""


def holds_record(value: object) -> bool:
    """Whether ``value`` is a `Record`, or a container with one in it."""
    if isinstance(value, Record):
        return True
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(map(holds_record, items))
