"""Imports third-party modules into the agent, so that future children start with them.

Importing runs foreign code in the one process that has to last. Therefore a child imports the modules first. The agent
itself then imports only the modules that caused no error, crash or hang in the child and started no thread there.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from fx_lsp.agent.importing.workspace_roots import Roots, real
from fx_lsp.agent.messages import Preload, Prove, Trace
from fx_lsp.agent.processes.children import Emit, ForkedChildren
from fx_lsp.agent.processes.rare_collections import rare_collections
from fx_lsp.agent.processes.watchdog import ChildProcess
from fx_lsp.agent.sandbox.audit_guard import GUARD
from fx_lsp.agent.wire import wire_message

MODULE_SECONDS = 30.0
"""How long the import of one module may take."""


SECONDS_AT_ONCE = 0.05
"""How long the agent imports modules before it looks for requests again, if no module takes longer."""


@wire_message
@dataclass(frozen=True)
class ImportPassed:
    """A message to the agent: this module was imported without harm."""

    module: str


class Preloader:
    """Imports modules that requests have used, once each has passed a trial import in a child.

    Keeps track of which modules are wanted, which packages are refused and which modules passed their trial.
    """

    def __init__(self, children: ForkedChildren) -> None:
        self._children = children
        self._wanted: list[str] = []
        self._tried: list[str] = []
        self._passed: list[str] = []
        self._roots: dict[tuple[str, ...], Roots] = {}
        """The workspaces of the requests so far, by their folders."""
        self._needed: dict[str, frozenset[str]] = {}
        """The modules that the open files import, by file."""
        self._refused: set[str] = set()
        """Packages with a module that failed; none of their modules is tried again."""
        self._running = False
        self._repeated = False
        """Whether several requests have imported the same module."""
        self._expected = False
        """Whether modules are wanted that no request has imported yet, or that one is waiting for."""

    @property
    def is_due(self) -> bool:
        """Whether to call `proceed` even while there is other work, as long as nobody waits for it.

        That work may take long, and until the agent has imported the modules, each request has to import them.
        """
        return self.is_ready or self.is_pressing or (self._expected and not self._running)

    @property
    def is_pressing(self) -> bool:
        """Whether several requests had to import the same modules, which now have to be tried; that takes no time."""
        return self._repeated and not self._passed and not self._running

    @property
    def is_ready(self) -> bool:
        """Whether modules have passed their trial, so that `proceed` would import them while nothing else runs."""
        return bool(self._passed) and not self._running

    @property
    def is_under_way(self) -> bool:
        """Whether modules are being tried, or have passed and are not imported yet."""
        return self._running or bool(self._passed)

    def heed(self, request: Trace | Prove | Preload) -> None:
        """Keep the workspace of ``request`` from being imported, directly or indirectly."""
        folders = _folders(request)
        self._roots.setdefault(folders, Roots(folders))
        if isinstance(request, Preload):
            self._needed[request.file] = frozenset(request.modules)

    def want(self, modules: Iterable[str]) -> None:
        """Queue ``modules``, in the order in which a request imported them; `proceed` imports those that prove safe."""
        wanted = set(self._wanted)
        for name in modules:
            self._repeated |= name in wanted and package(name) not in self._refused
            self._wanted.append(name)

    def expect(self, modules: Iterable[str]) -> None:
        """Queue ``modules``, in the order in which a file imports them, before those that requests have imported.

        Some modules can only be imported after others, which need not be those that they import themselves.
        """
        new = [name for name in modules if name not in self._wanted and name not in sys.modules]
        self._wanted[:0] = new
        self._expected |= bool(new)

    def hurry(self) -> None:
        """Make what is wanted due: a request is waiting for it."""
        self._expected |= bool(self._new)

    @property
    def _new(self) -> list[str]:
        """The modules to try."""
        new = [name for name in dict.fromkeys(self._wanted) if name not in sys.modules]
        return [name for name in new if package(name) not in self._refused]

    def proceed(self, file: str | None = None) -> None:
        """Import some of the modules that passed; once there are none left, have a child try the new ones.

        ``file`` is about to be traced: import all that it needs. Otherwise, this returns after a while, so that the
        agent can answer, and is to be called again (see `is_ready`), preferably while there are no other children,
        since these have to wait until it returns.
        """
        if self._passed:
            self._import(self._needed.get(file, frozenset(self._passed)) if file is not None else frozenset())
        if self._passed:
            return
        self._repeated = self._expected = False
        self._tried = self._new
        self._wanted.clear()
        if self._tried:
            self._running = True
            self._children.fork(
                partial(_try_imports, self._tried, [*self._roots.values()]),
                seconds=MODULE_SECONDS,
                hear=self._heard,
                gone=self._judge,
            )

    def _heard(self, passed: ImportPassed) -> None:
        self._passed.append(passed.module)

    def _judge(self, child: ChildProcess) -> None:
        """Refuse the package of the module that the child failed at; the modules after it are still wanted."""
        self._running = False
        if len(self._passed) < len(self._tried):
            failed, *rest = self._tried[len(self._passed) :]
            self._refused.add(package(failed))
            self._wanted[:0] = rest

    def load(self, modules: Iterable[str]) -> None:
        """Import modules of torch itself, which need no trial, all at once: a request is waiting that uses them."""
        new = [name for name in modules if name not in sys.modules]
        if new:
            with self._importing():
                for name in new:
                    self._import_one(name)

    def _import(self, needed: Set[str]) -> None:
        """Import modules that passed, in their order: at least one, and all up to the last one that is ``needed``."""
        began = time.monotonic()
        with self._importing():
            while self._passed:
                self._import_one(self._passed.pop(0))
                if needed.isdisjoint(self._passed) and time.monotonic() > began + SECONDS_AT_ONCE:
                    break

    def _import_one(self, name: str) -> None:
        if package(name) not in self._refused:
            try:
                importlib.import_module(name)
            except (Exception, SystemExit):
                self._refused.add(package(name))

    @contextlib.contextmanager
    def _importing(self) -> Iterator[None]:
        """A context in which the agent imports modules; what they do is guarded, and no workspace is imported."""
        GUARD.close(tempfile.gettempdir())
        with _without_workspaces(self._roots.values()), rare_collections():
            yield
        GUARD.reopen()
        if not self._passed:
            gc.freeze()  # as in `serve`


def _try_imports(modules: Iterable[str], roots: Sequence[Roots], emit: Emit) -> None:
    """Import ``modules`` in the child, and emit the name of each; stop at the first one that fails."""
    GUARD.close(tempfile.gettempdir())
    sys.meta_path.insert(0, _WorkspaceBarrier(roots))
    for name in modules:
        try:
            importlib.import_module(name)
        except BaseException:
            return
        if threading.active_count() > 1:  # a process with threads must not fork
            return
        emit(ImportPassed(name))


def third_party_modules(modules: Sequence[str], trace: Trace | Prove | Preload) -> list[str]:
    """Return the ``modules`` (imported by the work on ``trace``) whose packages are not in the workspace.

    The agent must never run the workspace's modules, and has to check this itself: the process that named ``modules``
    has run the user's code, which could have named any.
    """
    roots = Roots(_folders(trace))
    own = {name: roots.own_package(name) for name in set(map(package, modules))}
    real.cache_clear()  # future children look for themselves
    return [module for module in modules if not own[package(module)]]


def _folders(request: Trace | Prove | Preload) -> tuple[str, ...]:
    return request.roots or (str(Path(request.file).parent),)


class _WorkspaceBarrier(MetaPathFinder):
    """Keeps the modules of workspaces from being imported."""

    def __init__(self, roots: Sequence[Roots]) -> None:
        self._roots = roots

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders find. Raises ImportError if the module belongs to a workspace."""
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(fullname, path, target)):
                if any(roots.own_module(spec) for roots in self._roots):
                    raise ImportError(f"{fullname} belongs to a workspace", name=fullname)
                return spec
        return None


@contextlib.contextmanager
def _without_workspaces(roots: Iterable[Roots]) -> Iterator[None]:
    """A context in which the modules of workspaces can't be imported."""
    barrier = _WorkspaceBarrier([*roots])
    sys.meta_path.insert(0, barrier)
    try:
        yield
    finally:
        sys.meta_path.remove(barrier)
        real.cache_clear()


def package(module: str) -> str:
    """The top-level package that a module is in."""
    return module.partition(".")[0]
