"""Stand-ins for what an import could not have: a package that is not installed, a name that its version lacks.

A stand-in takes part in everything that a file does while it is imported, so that its classes come to be. What a stub
had a hand in says nothing of the program, and so it is noted: see `touched` and `shaped`.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
from collections.abc import Iterator, Sequence
from types import FunctionType, ModuleType
from typing import Any

_touched: dict[str, None] = {}
"""The names of the stubs that were used, in order."""

_decorated: dict[int, tuple[object, str]] = {}
"""By its id: a class or function that a stub decorated, which keeps the id its own, and the stub's name."""


class Stub:
    """A value of which nothing is known but its name, e.g. ``mmcv.cnn.ConvModule``."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __repr__(self) -> str:
        return str(self._name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):  # Python asks what else it may be: nothing
            raise AttributeError(name)
        return self._another(f".{name}")

    def _another(self, part: str = "") -> Stub:
        _touched[self._name] = None
        return Stub(f"{self._name}{part}"[:200])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As a decorator it leaves alone what it decorates."""
        if len(args) == 1 and not kwargs and isinstance(args[0], type | FunctionType):
            _decorated[id(args[0])] = args[0], self._name
            return args[0]
        return self._another("()")

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (type(self._name.rpartition(".")[2], (StubBase,), {"_name": self._name}),)

    def _same(self, *args: object) -> Stub:
        return self._another()

    def _nothing(self, *args: object) -> None:
        _touched[self._name] = None

    __getitem__ = __enter__ = _same
    __add__ = __sub__ = __mul__ = __matmul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __and__ = __or__ = _same
    __radd__ = __rsub__ = __rmul__ = __rmatmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __ror__ = _same
    __neg__ = __pos__ = __invert__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = _same
    __setattr__ = __setitem__ = __delitem__ = __exit__ = _nothing

    def __iter__(self) -> Iterator[Any]:
        _touched[self._name] = None
        return iter(())

    def __len__(self) -> int:
        _touched[self._name] = None
        return 0

    def __bool__(self) -> bool:
        _touched[self._name] = None
        return True

    def __int__(self) -> int:
        _touched[self._name] = None
        return 1

    __index__ = __int__

    def __float__(self) -> float:
        return float(int(self))

    def __fspath__(self) -> str:
        _touched[self._name] = None
        return "missing"

    def __contains__(self, item: object) -> bool:
        return len(self) > 0

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False


class StubBase:
    """The base of a class whose true base is missing."""

    _name = ""

    def __init__(self, *args: object, **kwargs: object) -> None:
        _touched[self._name] = None

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Take any keyword, as the true base may."""


class StubModule(ModuleType):
    """A module that is missing; it has every name, and any module below it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__all__: list[str] = []
        self.__version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Stub(f"{self.__name__}.{name}")


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a `StubModule` for each name in ``missing``, and for what is below one."""

    def __init__(self) -> None:
        self.missing: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module that is missing; None for any other."""
        parts = fullname.split(".")
        above = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
        return None if above.isdisjoint(self.missing) else importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The stand-in."""
        return StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def forget_touched() -> None:
    """From here on `touched` tells of what comes."""
    _touched.clear()


def touched() -> str | None:
    """The name of the first stub that was used since; None where none was."""
    return next(iter(_touched), None)


def shaped(root: object) -> str | None:
    """The name of a stub that decorated the function ``root``, or, of a module, its class, a base or a method of it, or
    that is a base of it; None where none did."""
    if id(root) in _decorated:
        return _decorated[id(root)][1]
    for base in (root if isinstance(root, type) else type(root)).__mro__:
        if issubclass(base, StubBase) and base._name:
            return base._name
        for part in (base, *vars(base).values()):
            if id(part) in _decorated:
                return _decorated[id(part)][1]
    return None
