"""Imports a workspace's modules under their real names, with the editor's unsaved text instead of the saved text."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import linecache
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from fx_lsp.agent.importing.bytecode_cache import LONGEST, cached_bytecode, without_warnings
from fx_lsp.agent.importing.entry_point_names import define_entry_point_names
from fx_lsp.agent.importing.namespace_packages import meant_folders
from fx_lsp.agent.importing.script_definitions import first_work, run_definitions
from fx_lsp.agent.importing.workspace_roots import Roots, real
from fx_lsp.agent.messages import NOTEBOOK, Failure, Span, Step, Trace
from fx_lsp.agent.processes.scratch_folder import original_of

_PACKAGES = re.compile(r"^\s*(?:from|import)\s+(\w+)\.\w", re.MULTILINE)
"""The names of packages of which a file imports a part."""

RELATIVE_IMPORT = re.compile(r"^\s*from\s+(\.+)", re.MULTILINE)


def lines_of(text: str) -> list[str]:
    """The lines of a file's text as Python counts them: unlike ``str.splitlines``, it does not split at form feeds."""
    return io.StringIO(text, newline=None).readlines()


class Workspace:
    """The workspace of one request: which files belong to it, and how they are imported."""

    def __init__(self, request: Trace, builtin: Collection[str]) -> None:
        """``builtin`` names the modules that torch and the agent itself depend on; these are never replaced."""
        self.file = request.file
        self.loaded: ModuleType | None = None
        """The file's module, once it has been run to its end."""
        self._builtin = builtin
        self.folders = request.roots
        self._roots = Roots(request.roots)
        self._texts: dict[str, str] = {}
        self._found = {self.file}
        self._compiled: list[str] = []
        """Files whose saved text had to be compiled, and that `take_compiled` has not returned yet."""
        self.namespaces: Mapping[str, Path] = {}
        """The workspace's folders that are imported as packages although packages of these names are installed."""
        self.left_out: list[Failure] = []
        """For each script of which only the definitions were run, the first statement that was left out."""
        self.failing: set[str] = set()
        """The files whose import failed; from then on, what fails in them is skipped."""
        self.repair: Callable[[BaseException], bool] = lambda error: False
        """Tries to remedy the error of an import; returns whether it did, so that the import can be tried again."""
        self.provide: Callable[[str], importlib.machinery.ModuleSpec | None] = lambda package: None
        """Provides a top-level package that no finder has found, and returns its spec; None if it must not."""
        self.running: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
        """Makes the context in which the code of a module runs."""
        self._costly_work = request.costly_work
        self.take_texts(request.overlays)

    @property
    def dependencies(self) -> tuple[str, ...]:
        """The workspace files that imports have found so far, including imports that failed."""
        return tuple(sorted(self._found))

    def owns(self, path: str) -> bool:
        """Whether the file at ``path`` is part of the workspace and was not installed there."""
        if path.startswith("<"):  # no path, e.g. <frozen importlib._bootstrap>
            return False
        return real(path) == real(self.file) or self._roots.own(path)

    def owns_package(self, name: str) -> bool:
        """Whether the top-level package ``name`` is the workspace's, or does not exist."""
        return self._roots.own_package(name)

    def text(self, path: str) -> str | None:
        """The unsaved text of the file at ``path``, if it has one."""
        return self._texts.get(real(path))

    def take_texts(self, overlays: Mapping[str, str]) -> None:
        """From now on, use these unsaved texts for what is imported and quoted."""
        self._texts = {real(path): text for path, text in overlays.items()}
        for path, text in overlays.items():
            linecache.cache[path] = (len(text), None, lines_of(text), path)

    def found(self, path: str) -> None:
        """Remember that an import found a module at ``path``."""
        if self.owns(path):
            self._found.add(path)

    def enter(self) -> str:
        """Make this process import the workspace's modules as Python would; return the name of the file's module."""
        name, folder = self._identify()
        self._roots.add(folder)
        roots = [*self._import_roots()]
        entries = roots if self._hides_package(folder, roots) else [folder, *roots]
        meant = meant_folders(self._source(), self.file, entries, self._roots.own_module)
        self.namespaces = {name: folder for name, folder in meant.items() if name not in self._builtin}
        self._forget_shadowed([entry for entry in entries if entry not in sys.path])
        sys.path[:] = [*entries, *(entry for entry in sys.path if entry not in entries)]
        sys.argv[:] = [self.file]
        sys.dont_write_bytecode = True
        sys.meta_path.insert(0, _Finder(self))
        _list_folders_again()
        return name

    def load(self, name: str) -> ModuleType:
        """Import the file as module ``name``. If that fails, the partly run module is still in ``sys.modules``."""
        parent = name.rpartition(".")[0]
        if parent:
            importlib.import_module(parent)
        module = sys.modules.get(name)
        if module is None or real(module.__file__ or "") != real(self.file):  # its package has not imported it
            module, loader = self._new_module(name)
            loader.exec_module(module)
        self.loaded = module
        return module

    def costly_work_in(self, path: str) -> Failure | None:
        """The notice about work in the file at ``path`` that made an earlier import exceed a limit, if any."""
        work = self._costly_work
        return work if work is not None and real(work.chain[-1].span.file) == real(path) else None

    def define_entry_point_names(self, module: ModuleType) -> None:
        """Define names that the file's ``module`` reads but defines only if the file is run as a script."""
        text = self._source()
        if self._costly_work is None and ("__main__" in text or "global " in text):
            with contextlib.suppress(SyntaxError, ValueError, RecursionError), self.running():
                define_entry_point_names(ast.parse(text), self.file, vars(module), self.repair)

    def _new_module(self, name: str) -> tuple[ModuleType, importlib.machinery.SourceFileLoader]:
        is_package = Path(self.file).name == "__init__.py"
        loader = self.loader(name, self.file)
        spec = importlib.util.spec_from_file_location(
            name,
            self.file,
            loader=loader,
            submodule_search_locations=[str(Path(self.file).parent)] if is_package else None,
        )
        assert spec is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        return module, loader

    def put_up(self, package: str) -> list[str]:
        """Create ``package``, which contains the file, and its parents without running them; return their names."""
        folder = Path(self.file).parent
        if Path(self.file).name == "__init__.py":
            folder = folder.parent
        names = []
        while package:
            names.append(package)
            if package not in sys.modules:
                module = sys.modules[package] = ModuleType(package)
                module.__path__ = [str(folder)]
            package, folder = package.rpartition(".")[0], folder.parent
        return names

    def folder_named(self, name: str) -> str | None:
        """The workspace's folder of this name, which is importable if the program is started from the folder above it.

        A folder with an ``__init__.py`` is never returned: its files are imported as parts of a package.
        """
        named = (folder for folder in self.folders if Path(folder).name == name)
        return next((folder for folder in named if not self._exists(Path(folder, "__init__.py"))), None)

    def look_above(self, name: str, wanted: str = "") -> bool:
        """Make the module or package ``name`` importable if it is in a folder above the file; return whether it is.

        ``wanted``: the dotted name that is imported, if it is known. A folder in which there are only folders counts
        as a package only if it contains ``wanted``: a folder of data may have the name of a missing package.

        A relative path that the program has added to ``sys.path`` may mean a folder in any of these: nothing shows in
        which the program is started. A folder outside the workspace has other programs' modules.
        """
        relative = [entry for entry in sys.path if isinstance(entry, str) and entry and not Path(entry).is_absolute()]
        for folder in Path(self.file).parents:
            if folder not in self._roots and not self.owns(str(folder / "_")):
                return False
            for place in (folder, folder / "src", *(Path(os.path.normpath(folder / entry)) for entry in relative)):
                found = self._exists(place / f"{name}.py") or _is_package(place / name, wanted)
                if found and str(place) not in sys.path and self.owns(str(place / "_")):
                    sys.path.append(str(place))
                    importlib.invalidate_caches()
                    return True
        return False

    def compiled(self, path: str, text: str) -> None:
        """Remember that the file at ``path`` had to be compiled, unless it is too long or is being edited or traced."""
        if self.text(path) is None and real(path) != real(self.file) and len(text) <= LONGEST:
            self._compiled.append(path)

    def take_compiled(self) -> tuple[str, ...]:
        """The files that had to be compiled since the last call."""
        taken = tuple(self._compiled)
        self._compiled.clear()
        return taken

    def is_script(self, path: str) -> bool:
        """Whether the file at ``path`` is in the workspace but not in a package; a notebook is never in a package."""
        return self.owns(path) and (is_notebook(path) or not self._exists(Path(path).parent / "__init__.py"))

    def loader(self, name: str, path: str) -> importlib.machinery.SourceFileLoader:
        """A loader of the module ``name`` from ``path``, or from the editor's text for that path."""
        return _Loader(name, path, self)

    def _exists(self, path: Path) -> bool:
        return self.text(str(path)) is not None or path.is_file()

    def _identify(self) -> tuple[str, str]:
        """The name of the file's module, and the folder where Python would start to look for it.

        For a file in a package, that is the folder that contains the outermost package, never the file's own folder,
        where a ``types.py`` would hide the standard library's. A file outside any package is a script, unless it has
        relative imports, which work only if the file is part of a namespace package. The same goes for the outermost
        package if relative imports lead out of it.
        """
        path = Path(self.file)
        folder = path.parent
        names = [] if path.name == "__init__.py" else [path.stem.replace(".", "_")]
        if not names or (self._exists(folder / "__init__.py") and not is_notebook(self.file)):
            while self._exists(folder / "__init__.py"):
                names.insert(0, folder.name)
                folder = folder.parent
            while self._reaches_above(names) and folder not in self._roots and folder.name.isidentifier():
                names.insert(0, folder.name)
                folder = folder.parent
        elif (root := self._nearest_root(folder)) and RELATIVE_IMPORT.search(self._source()):
            names = [*folder.relative_to(root).parts, *names]
            folder = root
        if len(names) == 1 and names[0] in self._builtin:  # e.g. a script called random.py
            names[0] += "_"
        return ".".join(names), str(folder)

    def _reaches_above(self, names: Sequence[str]) -> bool:
        """Whether the file, as the module with these names, has a relative import that leads out of all packages."""
        packages = len(names) - (Path(self.file).name != "__init__.py")
        return any(len(dots) > packages for dots in RELATIVE_IMPORT.findall(self._source()))

    def _source(self) -> str:
        text = self.text(self.file)
        return Path(self.file).read_text(encoding="utf-8", errors="replace") if text is None else text

    def _nearest_root(self, folder: Path) -> Path | None:
        return next((path for path in [folder, *folder.parents] if path in self._roots), None)

    def _hides_package(self, folder: str, roots: Sequence[str]) -> bool:
        """Whether a module in ``folder`` has the name of a package in ``roots`` of which the file imports a part.

        Then the program is started in one of the ``roots``: ``layers/utils.py`` is no package, but ``utils`` is one.
        """
        names = set(_PACKAGES.findall(self._source()))
        modules = {
            name for name in names if self._exists(Path(folder, f"{name}.py")) and not Path(folder, name).is_dir()
        }
        return any(Path(root, name).is_dir() for root in roots for name in modules)

    def _import_roots(self) -> Iterator[str]:
        for root in self.folders:
            yield root
            if (source := Path(root, "src")).is_dir():
                yield str(source)

    def _forget_shadowed(self, entries: Sequence[str]) -> None:
        """Drop loaded modules that come from elsewhere and have the name of one of the workspace's own files."""
        own = {
            path.stem if path.suffix == ".py" else path.name
            for entry in entries
            if Path(entry).is_dir()
            for path in Path(entry).iterdir()
            if path.suffix == ".py" or (path / "__init__.py").is_file()
        }
        own.update(self.namespaces)
        shadowed = {name for name in own - set(self._builtin) if name in sys.modules}
        # Iterating over all names touches the memory of each, so that this process gets its own copy of it.
        for name in list(sys.modules) if shadowed else ():
            if name.partition(".")[0] in shadowed:
                del sys.modules[name]


def _list_folders_again() -> None:
    """Have imports list the folders on ``sys.path`` again, or notice that one exists now.

    ``importlib.invalidate_caches`` would do the same for each folder of each package that is loaded, and copy the
    memory of hundreds of finders that this process shares with the one that forked it. Python notices by itself when
    these folders change.
    """
    for entry in sys.path:
        sys.path_importer_cache.pop(entry, None)


def is_notebook(path: str) -> bool:
    """Whether the file at ``path`` is a notebook with Python code in its cells, rather than a Python file."""
    return path.endswith(NOTEBOOK)


class _Finder(importlib.abc.MetaPathFinder):
    """Records the files that Python finds, and has those of the workspace loaded from the editor's text."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if path is None and (folder := self._workspace.namespaces.get(fullname)) is not None:
            namespace = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            namespace.submodule_search_locations = [str(folder)]
            return namespace
        for finder in sys.meta_path:
            if finder is self or (spec := finder.find_spec(fullname, path, target)) is None:
                continue
            if spec.origin is not None and spec.has_location:
                _leave_scratch_folder(spec)
                self._workspace.found(spec.origin)
                if isinstance(spec.loader, importlib.machinery.SourceFileLoader) and self._workspace.owns(spec.origin):
                    spec.loader = self._workspace.loader(fullname, spec.origin)
            return spec
        return self._workspace.provide(fullname) if path is None else None


def _leave_scratch_folder(spec: importlib.machinery.ModuleSpec) -> None:
    """Have a module of the working directory, found by a relative path, loaded from there, not through a link."""
    assert spec.origin is not None
    if (origin := original_of(spec.origin)) == spec.origin:
        return
    spec.origin = origin
    if isinstance(spec.loader, importlib.machinery.SourceFileLoader):
        spec.loader.path = origin
    if spec.submodule_search_locations is not None:
        spec.submodule_search_locations = [original_of(folder) for folder in spec.submodule_search_locations]


def _is_package(folder: Path, wanted: str) -> bool:
    """Whether a folder has modules, or contains the module ``wanted``, whose first name is the folder's."""
    below = folder.joinpath(*wanted.split(".")[1:])
    return any(folder.glob("*.py")) or (below != folder and (below.is_dir() or below.with_suffix(".py").is_file()))


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of the workspace: from the editor's text if there is one, otherwise from the file."""

    def __init__(self, name: str, path: str, workspace: Workspace) -> None:
        super().__init__(name, path)
        self._workspace = workspace
        self._unsaved = workspace.text(path)
        self._own_spec: importlib.machinery.ModuleSpec | None = None
        """If the module has been run under another name, the spec that it was run with."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """The module that the traced file has been loaded as, if this is that file; otherwise None, for a new one.

        Without an ``__init__.py``, nothing shows whether the workspace imports the file as ``models.net`` or as
        ``net``. With two modules, there would be two classes of each name. A file in a package has one name.
        """
        loaded = self._workspace.loaded
        if loaded is None or loaded.__package__ or spec.name == loaded.__name__:
            return None
        if real(self.path) != real(self._workspace.file):
            return None
        self._own_spec = loaded.__spec__
        return loaded

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, or only its definitions if it is a notebook or a script that does work while it is imported.

        Not all cells of a notebook are meant to be run, and they may call functions that only Jupyter provides. Of a
        module whose import failed before, what fails is skipped. The traced file is not run again under another name.
        """
        if self._own_spec is not None:
            module.__spec__ = self._own_spec  # the import has replaced it
            return
        costly = self._workspace.costly_work_in(self.path)
        has_failed = self.path in self._workspace.failing
        is_script = self._workspace.is_script(self.path)
        tree = self._parsed() if costly or has_failed else self._script()
        notice = costly or (self._notice_of_work(tree) if tree and is_script else None)
        if tree is None or not (notice or has_failed or is_notebook(self.path)):
            with self._workspace.running():
                super().exec_module(module)
            return
        if notice is not None:
            self._workspace.left_out.append(notice)
        leave_out_work = is_script or costly is not None
        line = costly.chain[-1].span.line if costly else None
        with self._workspace.running():
            run_definitions(
                *(tree, self.path, vars(module), self._workspace.repair),
                leave_out_work=leave_out_work,
                costly_line=line,
            )

    def _notice_of_work(self, tree: ast.Module) -> Failure | None:
        """A notice about the first statement that does work; None if there is none, or for a notebook."""
        work = None if is_notebook(self.path) else first_work(tree)
        if work is None:
            return None
        span = Span(self.path, work.lineno, work.col_offset, work.end_lineno or 0, work.end_col_offset or 0)
        return Failure("definitions-only", "", (Step("<module>", span),))

    def _script(self) -> ast.Module | None:
        """The syntax tree of a script; None for a file that is not a script, or is known to only define names.

        The result is also None for a syntax error, so that Python itself reports the error.
        """
        if not self._workspace.is_script(self.path):
            return None
        known = cached_bytecode(self.path, self.get_source(self.name) or "")
        return None if known and known.only_defines else self._parsed()

    def _parsed(self) -> ast.Module | None:
        with contextlib.suppress(SyntaxError, ValueError):
            return ast.parse(self.get_source(self.name) or "")
        return None

    def get_code(self, fullname: str) -> CodeType | None:
        if self._unsaved is None:
            return super().get_code(fullname)
        return self.source_to_code(self._unsaved, self.path)

    def get_source(self, fullname: str) -> str | None:
        return super().get_source(fullname) if self._unsaved is None else self._unsaved

    def source_to_code(self, data: Any, path: Any, **kwargs: Any) -> CodeType:  # type: ignore[override]
        """Compile text, never bytes, so that the columns of syntax errors are counted in characters."""
        text = importlib.util.decode_source(data) if isinstance(data, bytes) else data
        if known := cached_bytecode(path, text):
            return known.code
        with without_warnings():
            code = super().source_to_code(text, path, **kwargs)
        self._workspace.compiled(path, text)
        return code


def third_party(names: Iterable[str], workspace: Workspace) -> tuple[str, ...]:
    """The modules in ``names`` that were imported completely and from outside the workspace."""
    return tuple(name for name in names if (module := sys.modules.get(name)) and _is_third_party(module, workspace))


def _is_third_party(module: object, workspace: Workspace) -> bool:
    spec = getattr(module, "__spec__", None)
    if not isinstance(spec, importlib.machinery.ModuleSpec) or getattr(spec, "_initializing", False):
        return False
    return spec.origin is not None and spec.has_location and not workspace.owns(spec.origin)
