"""Third-party modules on their way into the agent, so that the children to come are born with them.

Importing runs code that is not ours in the one process that has to last. A child imports them first: only what did
that without an error, a crash, a hang or a thread is then imported in the agent itself.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from fx_lsp.agent.importing.workspace_roots import Roots, real
from fx_lsp.agent.messages import Prove, Trace
from fx_lsp.agent.processes.children import Emit, ForkedChildren
from fx_lsp.agent.processes.watchdog import ChildProcess
from fx_lsp.agent.sandbox.audit_guard import GUARD
from fx_lsp.agent.serving.warmup import freeze
from fx_lsp.agent.wire import wire_message

MODULE_SECONDS = 30.0
"""How long the import of one module may take."""


@wire_message
@dataclass(frozen=True)
class ImportPassed:
    """To the agent: this module was imported without harm."""

    module: str


class Preloader:
    """What is wanted, what has been refused, and what has passed."""

    def __init__(self, children: ForkedChildren) -> None:
        self._children = children
        self._wanted: list[str] = []
        self._tried: list[str] = []
        self._passed: list[str] = []
        self._roots: dict[tuple[str, ...], Roots] = {}
        """By their folders, the workspaces that there have been requests about."""
        self._refused: set[str] = set()
        """Packages with a module that failed; none of theirs is tried again."""
        self._running = False
        self._repeated = False
        """Several requests have imported the same module."""

    @property
    def is_due(self) -> bool:
        """Whether to go on although there is other work: it may never pause, and each request pays for the imports."""
        return not self._running and (self._repeated or bool(self._passed))

    def heed(self, request: Trace | Prove) -> None:
        """Import nothing of the workspace that ``request`` is about, directly or indirectly."""
        folders = _folders(request)
        self._roots.setdefault(folders, Roots(folders))

    def want(self, modules: Iterable[str]) -> None:
        """Consider ``modules``, which a request has imported, in that order."""
        wanted = set(self._wanted)
        for name in modules:
            self._repeated |= name in wanted and package(name) not in self._refused
            self._wanted.append(name)

    def proceed(self) -> None:
        """Take the next step; best while there are no children, since those that there are wait for its end."""
        self._repeated = False
        if self._passed:
            self._import()
        new = [name for name in dict.fromkeys(self._wanted) if name not in sys.modules]
        self._tried = [name for name in new if package(name) not in self._refused]
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
        """Refuse the package of the module that ended the rehearsal; what comes after it is still wanted."""
        self._running = False
        if len(self._passed) < len(self._tried):
            failed, *rest = self._tried[len(self._passed) :]
            self._refused.add(package(failed))
            self._wanted[:0] = rest

    def _import(self) -> None:
        GUARD.close(tempfile.gettempdir())
        with _without_workspaces(self._roots.values()):
            for name in self._passed:
                if package(name) not in self._refused:
                    try:
                        importlib.import_module(name)
                    except (Exception, SystemExit):
                        self._refused.add(package(name))
        self._passed.clear()
        GUARD.reopen()
        freeze()


def _try_imports(modules: Iterable[str], roots: Sequence[Roots], emit: Emit) -> None:
    """In the child: import ``modules`` as long as all goes well, and emit the name of each."""
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


def third_party_modules(modules: Sequence[str], trace: Trace | Prove) -> list[str]:
    """Those of ``modules``, which working on ``trace`` has imported, whose packages are none of its workspace's.

    That is for the agent to see: what named them has run the user's code, which the agent is never to run.
    """
    roots = Roots(_folders(trace))
    own = {name: roots.own_package(name) for name in set(map(package, modules))}
    real.cache_clear()  # the children to come look for themselves
    return [module for module in modules if not own[package(module)]]


def _folders(request: Trace | Prove) -> tuple[str, ...]:
    return request.roots or (str(Path(request.file).parent),)


class _WorkspaceBarrier(MetaPathFinder):
    """Has what belongs to workspaces not be found."""

    def __init__(self, roots: Sequence[Roots]) -> None:
        self._roots = roots

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What other finders find. Raises ImportError where that is a workspace's."""
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(fullname, path, target)):
                if any(roots.own_module(spec) for roots in self._roots):
                    raise ImportError(f"{fullname} belongs to a workspace", name=fullname)
                return spec
        return None


@contextlib.contextmanager
def _without_workspaces(roots: Iterable[Roots]) -> Iterator[None]:
    """Within it, what belongs to workspaces can't be imported."""
    barrier = _WorkspaceBarrier([*roots])
    sys.meta_path.insert(0, barrier)
    try:
        yield
    finally:
        sys.meta_path.remove(barrier)
        real.cache_clear()


def package(module: str) -> str:
    """The outermost package that a module is in."""
    return module.partition(".")[0]
