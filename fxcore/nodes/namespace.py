"""Chooses names for the values of generated code: legal and unique names, none of which hides a builtin.

The names are exactly those that torch.fx chooses (``relu``, ``relu_1``, …), because programs look up nodes by name.
"""

from __future__ import annotations

import builtins
import keyword
import math
import re
from typing import Any, NamedTuple

import torch

from fxcore import _pytree as fx_pytree
from fxcore.torch_compat import torch_pytree


class _CustomBuiltin(NamedTuple):
    """A global that all generated code may use, because the ``repr`` of common arguments mentions it."""

    import_str: str
    obj: object


_illegal_names: dict[str, object] = {name: object() for name in keyword.kwlist}
_illegal_names.update(vars(builtins))
"""Names that values must not have, each mapped to the only object that may have it (for keywords, a dummy object)."""

_custom_builtins: dict[str, _CustomBuiltin] = {}


def _register_custom_builtin(name: str, import_str: str, obj: object) -> None:
    """Let all generated code use ``name`` for ``obj``, which the statement ``import_str`` imports."""
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)
    _illegal_names[name] = obj


for _name, _import, _object in (
    ("inf", "from math import inf", math.inf),
    ("nan", "from math import nan", math.nan),
    ("NoneType", "NoneType = type(None)", type(None)),
    ("torch", "import torch", torch),
    ("device", "from torch import device", torch.device),
    ("fx_pytree", "import fxcore._pytree as fx_pytree", fx_pytree),
    ("pytree", f"import {torch_pytree.__name__} as pytree", torch_pytree),
):
    _register_custom_builtin(_name, _import, _object)

_illegal_characters = re.compile("[^0-9a-zA-Z_]+")
_word_starts = re.compile(r"(?<=[a-z])([A-Z])")


def _snake_case(name: str) -> str:
    """Convert ``camelCase`` to ``camel_case``; only a capital letter that follows a lower-case letter starts a word."""
    return name if name.islower() else _word_starts.sub(r"_\1", name).lower()


def _legalize(candidate: str) -> str:
    """Turn ``candidate`` into an ASCII identifier (which may still be a keyword)."""
    underscored = candidate.replace(".", "_")
    if underscored.isidentifier() and underscored.isascii() and ".." not in candidate:
        return underscored  # most are the paths of modules, for which a regular expression would take ten times as long
    candidate = _illegal_characters.sub("_", candidate) or "_unnamed"
    return f"_{candidate}" if candidate[0].isdigit() else candidate


class _Namespace:
    """Assigns names: one for each object, each name only once, and a builtin's name only to that builtin."""

    __slots__ = ("_base_count", "_obj_to_name", "_used_names")

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        # The highest number used with each base, so that the next free number is found without trying all numbers.
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: object | None) -> str:
        """Reserve and return a free name that is as close to ``candidate`` as possible.

        If ``obj`` is given, the name belongs to it from then on: later calls for ``obj`` return the same name.
        """
        if obj is not None and (known := self._obj_to_name.get(obj)) is not None:
            return known
        if not (candidate.isidentifier() and candidate.isascii()):
            candidate = _legalize(candidate)
        used = self._used_names
        base, _, digits = candidate.rpartition("_")
        numbered = base and digits.isdecimal()
        if numbered and candidate not in used:
            number = int(digits)
        else:
            base = base if numbered else candidate
            number = self._base_count.get(base, 0)
            if _illegal_names.get(candidate, obj) is not obj:
                number += 1
                candidate = f"{base}_{number}"
        while candidate in used:
            number += 1
            candidate = f"{base}_{number}"
        used.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: object) -> None:
        """Make the reserved ``name`` the name of ``obj``. Raises ``AssertionError`` if ``obj`` has another name."""
        if self._obj_to_name.setdefault(obj, name) is not name:
            raise AssertionError(f"{obj!r} already has the name {self._obj_to_name[obj]}")

    def _rename_object(self, obj: object, name: str) -> None:
        """Make ``name`` the name of ``obj``; its old name remains taken."""
        self._obj_to_name[obj] = name
        self._used_names.add(name)
