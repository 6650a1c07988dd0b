"""Stands in for Python modules that an import did not find; what they hold are stand-ins (``stand_ins.py``)."""

from __future__ import annotations

import builtins
import dis
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import CodeType, FrameType, ModuleType
from typing import Any

from fx_lsp.agent.importing.stand_ins import StandIn, star_imported
from fx_lsp.agent.known_packages.known_parts import SUBMODULES, known_in


class StandInModule(ModuleType):
    """Stands in for a missing Python module; it has every name and every submodule.

    If it has a folder (``__path__``), the modules there are real.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # for `from … import *`
            star_imported[self.__name__] = None
            return _names_lacking(sys._getframe(1))
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        if full in SUBMODULES or (self.__path__ and importlib.util.find_spec(full)):
            return importlib.import_module(full)
        moved = _moved(self.__name__, name)
        return stand_in_for(self.__name__, name) if moved is None else moved


def stand_in_for(module: str, name: str) -> Any:
    """What stands for a name that a module lacks: what the package had there, if that is known, or a stand-in."""
    known = known_in(module, name)
    return StandIn(f"{module}.{name}") if known is None else known


def names_read(code: CodeType) -> set[str]:
    """The global names that a piece of code reads, with its functions and classes."""
    waiting, names = [code], set[str]()
    while waiting:
        code = waiting.pop()
        waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        instructions = dis.get_instructions(code)
        names |= {one.argval for one in instructions if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names


def _names_lacking(frame: FrameType) -> list[str]:
    """The global names that a module's code reads, and that neither the module so far nor Python has."""
    return sorted(names_read(frame.f_code) - frame.f_globals.keys() - vars(builtins).keys())


def _moved(module: str, name: str) -> Any:
    """What a missing module of an installed package should have, if the package has it from a module of the same name.

    Packages reorganize themselves: ``timm.models.layers.helpers`` became ``timm.layers.helpers``, and the parent of the
    missing module still offers its contents. None if there is nothing like that.
    """
    parent, _, last = module.rpartition(".")
    found = vars(sys.modules.get(parent, object)).get(name)
    home = str(getattr(found, "__module__", ""))
    is_same = home.partition(".")[0] == module.partition(".")[0] and home.rpartition(".")[2] == last
    return found if is_same and not isinstance(found, StandIn) else None


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a `StandInModule` for each name in ``missing`` or ``folders``, and for all submodules of the former."""

    def __init__(self) -> None:
        self.missing: set[str] = set()
        self.folders: dict[str, str] = {}
        """Folders by the names of top-level packages: what they hold is real, the rest of a package is missing."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module that is missing, or of a package that is a folder; None for any other."""
        if fullname in self.folders:
            spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
            spec.submodule_search_locations = [self.folders[fullname]]
            return spec
        parts = fullname.split(".")
        above = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
        return None if above.isdisjoint(self.missing) else importlib.machinery.ModuleSpec(fullname, self)

    def deny_when_asked(self) -> None:
        """Have ``importlib.util.find_spec`` return None for a missing package, as it would without stand-ins."""
        find_spec = importlib.util.find_spec

        def asked(name: str, package: str | None = None) -> importlib.machinery.ModuleSpec | None:
            return None if name.partition(".")[0] in self.missing else find_spec(name, package)

        importlib.util.find_spec = asked

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module that stands in for the missing one."""
        module = StandInModule(spec.name)
        module.__path__ += spec.submodule_search_locations or ()
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a stand-in has no code to run."""
