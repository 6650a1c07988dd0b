"""Replaces modules of other packages in a program's globals, so that calls of what is in them can be intercepted.

C code outside of torch, such as NumPy's, refuses traced values and knows no proxies. It can't be replaced where it is
without affecting the whole process, but the program finds most of it as an attribute of a module: ``np.ceil(x)``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any

from fxcore.source.bytecode import looks_up_to_call

Soften = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Returns the function to call instead of a given one."""


class SoftModule(ModuleType):
    """A module, except that the functions and classes that a program looks up in order to call them are replaced.

    Whatever else is looked up, such as a class for ``isinstance``, is the module's own.
    """

    def __init__(self, module: ModuleType, soften: Soften, names: Collection[str] | None = None) -> None:
        """``names``: those to replace; None means all. Modules in the module are replaced in the same way."""
        super().__init__(module.__name__)
        self.__dict__.update({name: vars(module).get(name) for name in vars(self)})  # such as `__spec__`
        self.__dict__["__wrapped__"] = module
        self.__dict__["_soften"] = soften
        self.__dict__["_names"] = names

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__wrapped__, name)
        if isinstance(value, ModuleType):
            return SoftModule(value, self._soften, self._names)
        if callable(value) and (self._names is None or name in self._names):
            frame = sys._getframe(1)
            if looks_up_to_call(frame.f_code, frame.f_lasti):
                return self._soften(value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Set the attribute of the module itself."""
        setattr(self.__wrapped__, name, value)

    def __delattr__(self, name: str) -> None:
        """Delete the attribute of the module itself."""
        delattr(self.__wrapped__, name)

    def __eq__(self, other: object) -> bool:
        """Whether ``other`` is the module itself, or a replacement of it."""
        return self.__wrapped__ is (other.__wrapped__ if isinstance(other, SoftModule) else other)

    def __hash__(self) -> int:
        """The hash of the module itself."""
        return hash(self.__wrapped__)

    def __dir__(self) -> list[str]:
        """The names in the module itself."""
        return dir(self.__wrapped__)
