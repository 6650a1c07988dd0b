"""A node's arguments as they are shown: this is all that is said of nodes here, so that nodes can use it."""

from __future__ import annotations

from fxcore.linked import Linked


def _format_arg(arg: object, max_list_len: float = float("inf")) -> str:
    """An argument with ``%`` before every node in it; of longer lists and tuples the first ``max_list_len`` items."""
    if isinstance(arg, Linked):
        return f"%{arg}"
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, (list, tuple)):
        items = ", ".join(_format_arg(item) for index, item in enumerate(arg) if index < max_list_len)
        rest = f", ...[total_len={len(arg)}]" if len(arg) > max_list_len else ""
        if isinstance(arg, list):
            return f"[{items}{rest}]"
        return f"({items}{',' if len(arg) == 1 else ''}{rest})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return str(arg)
