"""Imports the file whose targets are traced, whatever state its packages are in.

The file is imported as Python would import it. What is not installed gets a stand-in (``stand_ins.py``): at once where
nothing would catch the error of its import (``uncaught_imports.py``), otherwise when the file is imported again. If the
file or a module of the workspace that it imports fails for another reason, or would do more than define names, only
that module's definitions are run (``script_definitions.py``).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.machinery
import importlib.util
import io
import itertools
import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any
from unittest import mock

from fx_lsp.agent.importing import mutable_defaults, tried_imports
from fx_lsp.agent.importing.import_tolerance import is_consequence
from fx_lsp.agent.importing.stand_in_errors import may_be_due_to_stand_in
from fx_lsp.agent.importing.stand_in_modules import StandInFinder, stand_in_for
from fx_lsp.agent.importing.stand_ins import StandIn, add_as_modules
from fx_lsp.agent.importing.uncaught_imports import importing_frames, may_catch
from fx_lsp.agent.importing.workspace_importer import Workspace
from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.agent.missing import missing_weights
from fx_lsp.agent.missing.missing_weights import replace_weight_loader
from fx_lsp.agent.processes.limits import is_out_of_memory
from fx_lsp.agent.processes.rare_collections import rare_collections
from fx_lsp.agent.traceback_steps import Belongs, causes, chain_of_error, chain_of_frame, describe
from fxcore.wrap import forget_unfinished_wraps

_NOT_IN_MODULE = re.compile(r"cannot import name '(\w+)'")
"""Python's message about a name that an import did not find.

Since Python 3.12, the error has that name as an attribute.
"""


@dataclass(frozen=True)
class LoadedFile:
    """An imported file, and what its import did not do."""

    module: ModuleType
    complete: bool
    """Whether the file's code ran to its end."""
    notices: tuple[Failure, ...]
    """What the import had to do without, and what it raised."""


class FileLoader:
    """Imports one file, if need be with stand-ins or only in part."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        """``name`` is the name of the file's module, as `Workspace.enter` returns it."""
        self._workspace = workspace
        self._name = name
        self._stand_ins = StandInFinder()
        self._last = next(reversed(sys.modules))  # a set of all names would touch the memory of each
        self._bare: set[str] = set()
        """Packages that were created without running an ``__init__.py``, which fails or does not exist."""
        self._without: set[str] = set()
        """Functions that failed to load weights, and were replaced by functions that load nothing."""
        self._asked_for: set[str] = set()
        """Missing packages whose import the program may have caught."""
        self._notices: dict[tuple[str, str], Failure] = {}

    def run(self) -> LoadedFile:
        """Import the file. Raises only errors that leave nothing of it to use, such as a syntax error."""
        self._workspace.repair = self._makes_up_for_import
        self._workspace.provide = self._provided_at_once
        tried_imports.import_own = self._import_own
        missing_weights.stand_in = StandIn
        sys.meta_path.insert(0, self._stand_ins)
        self._stand_ins.deny_when_asked()
        with empty_command_line(), rare_collections():
            while True:
                try:
                    return self._loaded(self._workspace.load(self._name), complete=not self._workspace.failing)
                except (Exception, SystemExit) as error:
                    if is_out_of_memory(error):
                        raise
                    if is_consequence(error) and self._name in sys.modules:
                        return self._loaded(sys.modules[self._name], complete=False)
                    if not self._makes_up_for(error):
                        raise
                self._forget()

    def _loaded(self, module: ModuleType, *, complete: bool) -> LoadedFile:
        self._workspace.define_entry_point_names(module)
        notices = [*self._notices.values(), *self._workspace.left_out]
        return LoadedFile(module, complete and not self._workspace.left_out, tuple(dict.fromkeys(notices)))

    def _makes_up_for(self, error: BaseException) -> bool:
        """Work around ``error``, so that the next attempt does not raise it; return whether that was possible."""
        loads = replace_weight_loader(error)
        if loads is not None and loads not in self._without:
            self._without.add(loads)
            self._note("import", error)
            return True
        if self._makes_up_for_import(error):
            return True
        above = self._name.rpartition(".")[0]
        if above in sys.modules or not above:
            return False
        if not may_be_due_to_stand_in(error):
            self._note("import", error)
        self._bare |= set(self._workspace.put_up(above))
        return True

    def _makes_up_for_import(self, error: BaseException) -> bool:
        """Work around an ``error`` that an import raised; return whether that was possible."""
        if mutable_defaults.are_refused(error):
            self._note("import", error)
            mutable_defaults.allow()
            return True
        if self._provides_import(error):
            add_as_modules()
            return True
        if self._provides_tried_import(error):
            return True
        return (bool(self._stand_ins.missing) and _imports_submodule(error)) or self._skips_what_fails(error)

    def _provides_tried_import(self, error: BaseException) -> bool:
        """Provide the package that a module tries to import and then needs all the same: ``@triton.jit``.

        From then on, the import that it tries succeeds.
        """
        tried = tried_imports.tried_import(error) if isinstance(error, NameError) else None
        package = tried.wanted.module.partition(".")[0] if tried else ""
        if not package or package in self._stand_ins.missing or _spec_of(package) is not None:
            return False
        missing = ModuleNotFoundError(f"No module named {package!r}", name=package)
        place = tried.span if tried else None
        self._provide_package(package, missing, () if place is None else (Step("<module>", place),))
        add_as_modules()
        return True

    def _skips_what_fails(self, error: BaseException) -> bool:
        """From now on, skip what fails in the module of the workspace that raised ``error``.

        False if the error was raised elsewhere, or if that is already done.
        """
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_name == "<module>"]
        own = [path for frame in frames if self._workspace.owns(path := frame.f_code.co_filename)]
        if not own or own[-1] in self._workspace.failing:
            return False
        self._workspace.failing.add(own[-1])
        if isinstance(error, SystemExit):
            self._note("definitions-only", error)
        elif not may_be_due_to_stand_in(error):
            self._note("import", error)
        return True

    def _import_own(self, module: str) -> ModuleType | None:
        """Import a module of the workspace, with stand-ins for what it lacks; None if that fails, or for any other."""
        while self._is_own(module.partition(".")[0]):
            try:
                return importlib.import_module(module)
            except Exception as error:
                missing = _import_error(error)
                if missing is None or not self._provide(missing, error):
                    break
        return None

    def _provides_import(self, error: BaseException) -> bool:
        """Provide what ``error`` says could not be imported; return whether that was possible."""
        missing = _import_error(error)
        if missing is not None and self._provide(missing, error):
            return True
        broken = _module_that_raised(error, self._workspace.owns)
        if broken is not None and broken not in self._stand_ins.missing:
            self._stand_ins.missing.add(broken)
            self._note("missing-package", error)
            return True
        missing = _import_error(error, stated=False)  # what the file does without the package fails as well
        return missing is not None and self._provide(missing, missing)

    def _provide(self, missing: ImportError, error: BaseException) -> bool:
        """Provide what the import did not find. False if that is not possible or if the workspace has to define it."""
        if not missing.name or missing.name in self._stand_ins.missing:
            return False
        package = missing.name.partition(".")[0]
        if self._is_own(package):
            provided = self._stand_in_for_own(missing, missing.name)
        elif _spec_of(package) is not None:
            provided = self._stand_in(missing, missing.name)
        else:
            self._provide_package(package, error)
            return True
        if provided:
            self._note("import", error)
        return provided

    def _provided_at_once(self, package: str) -> importlib.machinery.ModuleSpec | None:
        """Provide a top-level package that an import did not find, if nothing would catch the error; return its spec.

        A package that the program asks for elsewhere, and may do without, is provided only for the next attempt, so
        that it is there for all who ask, whoever asks first.
        """
        frames = importing_frames(self._workspace.owns)
        if not frames:
            return None
        if package in self._asked_for or any(map(may_catch, frames)):
            self._asked_for.add(package)
            return None
        missing = ModuleNotFoundError(f"No module named {package!r}", name=package)
        self._provide_package(package, missing, chain_of_frame(frames[0], self._workspace.owns))
        add_as_modules()
        return self._stand_ins.find_spec(package, None) or importlib.util.find_spec(package)

    def _provide_package(self, package: str, error: BaseException, chain: tuple[Step, ...] = ()) -> None:
        """Make a top-level package that was not found importable: from the workspace, or as a stand-in.

        ``chain`` leads to the import statement, if the traceback of ``error`` does not.
        """
        if self._workspace.look_above(package, _imported_at(chain or chain_of_error(error, self._workspace.owns))):
            return
        folder = self._workspace.folder_named(package)
        if folder is not None:
            self._stand_ins.folders[package] = folder
            self._bare.add(package)
            return
        self._stand_ins.missing.add(package)
        self._note("missing-package", error, chain)

    def _is_own(self, package: str) -> bool:
        """Whether a package, or a module outside packages, is the workspace's."""
        spec = _spec_of(package)
        places = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec else []
        return package in self._bare or any(self._workspace.owns(place) for place in places if place)

    def _stand_in_for_own(self, missing: ImportError, module: str) -> bool:
        """Provide a stand-in for a module that is generated or compiled, and that a package of the workspace lacks."""
        if isinstance(missing, ModuleNotFoundError):
            absent = module
        elif (name := _missing_name(missing)) and _is_submodule(missing, name):
            absent = f"{module}.{name}"
        else:
            return False
        if absent in self._stand_ins.missing:
            return False
        self._stand_ins.missing.add(absent)
        return True

    def _stand_in(self, missing: ImportError, module: str) -> bool:
        """Create a stand-in for what an installed package lacks: one of its modules, or a name in one of them."""
        name = _missing_name(missing)
        loaded = sys.modules.get(module)
        if name is None or loaded is None:
            self._stand_ins.missing.add(module)
        elif hasattr(loaded, name):
            return False
        else:
            setattr(loaded, name, stand_in_for(module, name))
        return True

    def _note(self, kind: str, error: BaseException, chain: tuple[Step, ...] = ()) -> None:
        """Add a notice about ``error``; ``chain`` leads to its place, if its traceback does not."""
        chain = chain or chain_of_error(error, self._workspace.owns)
        if not chain:  # the error passed through no line of the workspace
            chain = (Step("<module>", Span(self._workspace.file, 1, 0, 1, 0)),)
        failure = Failure(kind, describe(_import_error(error) or error), chain)
        self._notices.setdefault((kind, failure.error), failure)

    def _forget(self) -> None:
        """Drop the modules that a failed import has left: the workspace's, and submodules of a package that failed."""
        names = [*itertools.takewhile(lambda name: name != self._last, reversed(sys.modules))]
        for name in names:
            if self._workspace.owns(_file_of(name) or "<>") and name not in self._bare:
                self._drop(name)
        for name in reversed(names):
            above, top = name.rpartition(".")[0], name.partition(".")[0]
            is_namespace = name not in self._bare and _file_of(name) is None
            if top not in sys.modules or (is_namespace and above and above not in sys.modules):
                self._drop(name)
        forget_unfinished_wraps()

    def _drop(self, name: str) -> None:
        if sys.modules.pop(name, None) is not None:
            above, _, last = name.rpartition(".")
            if above in self._bare and above in sys.modules:
                vars(sys.modules[above]).pop(last, None)  # or `from above import last` would find it


def _imported_at(chain: tuple[Step, ...]) -> str:
    """The dotted name of the module that the statement at the end of ``chain`` imports; empty if that is not known."""
    span = chain[-1].span if chain else None
    found = _IMPORTS.match(linecache.getline(span.file, span.line)) if span else None
    return found[1] if found else ""


_IMPORTS = re.compile(r"\s*(?:from|import)\s+([\w.]+)")
"""The beginning of an import statement."""


def _file_of(name: str) -> str | None:
    """The file of the module ``name``; None for a folder without an ``__init__.py``, and if it is not imported."""
    # A module that is loaded on first use would be loaded if it were asked for an attribute.
    return getattr(sys.modules.get(name), "__dict__", {}).get("__file__") or None


def _imports_submodule(error: BaseException) -> bool:
    """Import the submodule that the program read without importing it, if that is why it raised ``error``.

    One of the packages that are missing would have imported it. Returns whether there is such a submodule.
    """
    for cause in causes(error):
        if isinstance(cause, AttributeError) and isinstance(cause.obj, ModuleType) and cause.name:
            name = f"{cause.obj.__name__}.{cause.name}"
            with contextlib.suppress(Exception):
                if name not in sys.modules and importlib.util.find_spec(name) is not None:
                    importlib.import_module(name)
                    return True
    return False


def _spec_of(package: str) -> importlib.machinery.ModuleSpec | None:
    """The spec of a top-level package; None if the package isn't found."""
    with contextlib.suppress(ImportError, ValueError, AttributeError):
        return importlib.util.find_spec(package)
    return None


def _missing_name(error: ImportError) -> str | None:
    """The name that was not found in a module; None if the module itself was not found."""
    return getattr(error, "name_from", None) or next(iter(_NOT_IN_MODULE.findall(str(error))), None)


def _is_submodule(missing: ImportError, name: str) -> bool:
    """Whether ``name`` can only be a submodule of the package that lacks it, because the package doesn't mention it.

    A package that mentions the name may define it later, if imports are circular.
    """
    path = missing.path or ""
    source = "".join(linecache.getlines(path))
    return Path(path).name == "__init__.py" and re.search(rf"\b{name}\b", source) is None


def _import_error(error: BaseException | None, *, stated: bool = True) -> ImportError | None:
    """``error``, or one that it was raised from, if it says that something could not be imported.

    Unless only ``stated`` causes count, it may also be an error that was being handled when ``error`` was raised.
    """
    return next((cause for cause in causes(error, stated=stated) if isinstance(cause, ImportError)), None)


def _module_that_raised(error: BaseException, belongs: Belongs) -> str | None:
    """The installed module whose import raised ``error``; None if no such import raised it.

    It is the outermost one that is not loaded for this reason. Where `torch.utils.tensorboard` fails, torch is loaded.
    """
    module, is_entered = "", False
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if belongs(frame.f_code.co_filename):
            module, is_entered = "", False
        elif not is_entered and not _is_of_import(frame):
            is_entered = True
            if frame.f_code.co_name == "<module>":
                module = str(frame.f_globals.get("__name__", ""))
    parts = module.split(".")
    above = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((name for name in above if name not in sys.modules), module) or None


def _is_of_import(frame: FrameType) -> bool:
    """Whether a frame belongs to Python's import system, or to what stands in for ``__import__`` in a kept process."""
    is_recorded = frame.f_globals.get("__name__") == "fx_lsp.agent.keeping.code_run"
    return is_recorded or frame.f_code.co_filename.startswith("<frozen importlib")


@contextlib.contextmanager
def empty_command_line() -> Iterator[None]:
    """Within the block, a parser that lacks required arguments uses defaults and stand-ins instead of exiting."""
    parse = argparse.ArgumentParser.parse_known_args

    def tolerant(self: argparse.ArgumentParser, args: Any = None, namespace: Any = None) -> Any:
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                return parse(self, args, namespace)
        except SystemExit:
            given = namespace or argparse.Namespace()
            for action in self._actions:
                if action.dest != argparse.SUPPRESS and not hasattr(given, action.dest):
                    wanted = action.required and action.default is None
                    setattr(given, action.dest, StandIn(action.dest) if wanted else action.default)
            return given, []

    with mock.patch.object(argparse.ArgumentParser, "parse_known_args", tolerant):
        yield
