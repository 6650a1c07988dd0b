"""A string that a missing function returned, and that the program uses as the name of an attribute."""

from __future__ import annotations

import itertools
import re
import sys
from typing import Any

from fx_lsp.agent.missing.missing_uses import note_use

_TREAT_NAMES_ALIKE = frozenset({"torch", "fxcore", "fx_lsp"})
"""The packages that do the same for each name of an attribute."""

_numbers = itertools.count()


def _noting(method: str) -> Any:
    """The ``method`` of strings. Each use is noted, unless one of the packages in `_TREAT_NAMES_ALIKE` makes it."""

    def noting(self: Any, *args: Any) -> Any:
        if str(sys._getframe(1).f_globals.get("__name__")).partition(".")[0] not in _TREAT_NAMES_ALIKE:
            note_use(self._item)
        return getattr(str, method)(self, *args)

    return noting


class UnknownName(str):
    """Stands for such a string: its text is made up, and names nothing else.

    To name an attribute does not depend on the text. Most other uses are noted, but not those of a longer string that
    contains the name.
    """

    _item: str

    def __new__(cls, item: str, text: str = "") -> UnknownName:
        """``item`` says what the string is, e.g. ``mmcv.cnn.build_norm_layer()[0]``; ``text`` is that of a copy."""
        words = re.sub(r"[^a-zA-Z0-9]+", "_", item).strip("_")
        made = super().__new__(cls, text or f"missing_{words}_{next(_numbers)}")
        made._item = item
        return made

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        """Copies have the same text."""
        return UnknownName, (self._item, "".join(str.__iter__(self)))

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_"):  # a method of strings
            note_use(self._item)
        return super().__getattribute__(name)

    def __eq__(self, other: object) -> bool:
        """Compare. Not noted: that the name is not empty, and that it equals itself."""
        is_same = super().__eq__(other)
        if is_same is False and other != "":
            note_use(self._item)
        return is_same

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__
    __lt__, __le__, __gt__, __ge__ = map(_noting, ("__lt__", "__le__", "__gt__", "__ge__"))
    __contains__, __len__, __getitem__, __iter__ = map(_noting, ("__contains__", "__len__", "__getitem__", "__iter__"))
    __str__, __format__, __mod__ = map(_noting, ("__str__", "__format__", "__mod__"))


UnknownName.__name__ = UnknownName.__qualname__ = "name_of_missing_package"  # in the messages of errors
