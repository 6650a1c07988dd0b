"""The composition root: puts together the documents, the workspace, the agents, the scheduler and the idle work.

The language server makes one engine for each client, and ``fx-lsp check`` makes one for each run. Other programs that
trace a workspace should also start here.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from pathlib import Path

from fx_lsp.agent.messages import Preload
from fx_lsp.analysis.capture_graphs import CaptureGraphs
from fx_lsp.analysis.chosen_inputs import ChosenInputs
from fx_lsp.analysis.costs.cost_counts import CostCounts
from fx_lsp.analysis.costs.cost_growth import CostGrowth
from fx_lsp.analysis.fix_proofs import FixProofs
from fx_lsp.analysis.graph_descriptions import GraphDescriptions
from fx_lsp.analysis.idle_captures import IdleCaptures
from fx_lsp.analysis.idle_work import IdleWork
from fx_lsp.analysis.kept_report_checks import KeptReportChecks
from fx_lsp.analysis.scheduler import Scheduler
from fx_lsp.analysis.target_captures import TargetCaptures
from fx_lsp.documents.documents import Documents
from fx_lsp.documents.positions import Encoding
from fx_lsp.fixes import fixes_for
from fx_lsp.fixes.fix_cache import kept_fixes_for
from fx_lsp.interpreters.interpreter_choice import Interpreter, choose
from fx_lsp.interpreters.recent_choices import RecentChoices
from fx_lsp.interpreters.torch_presence import torch_version
from fx_lsp.settings.pyproject import FILE
from fx_lsp.settings.settings import Settings
from fx_lsp.supervisor.agent_pool import AgentPool, TracingAgent
from fx_lsp.supervisor.cached_agent import CachedAgent
from fx_lsp.supervisor.cluster_agent import Cluster, ClusterAgent
from fx_lsp.supervisor.keeping_agent import KeepingAgent
from fx_lsp.supervisor.supervised_agent import AgentState, SupervisedAgent
from fx_lsp.targets.capture_uses import CaptureUses
from fx_lsp.targets.target_finder import CachedTargetFinder
from fx_lsp.workspace.disk_cache import Cache
from fx_lsp.workspace.import_graph import imported_first
from fx_lsp.workspace.workspace import Workspace

log = logging.getLogger(__name__)

CHOICE_SECONDS = 1.0
"""How long a Python that was chosen for an edited file serves it before the folders are searched again."""

GRACE_SECONDS = 60.0
"""How long agents outlive the last document that they trace, so that it can be closed and opened again at no cost."""

ONNX_BY_EXPORT = (2, 9)
"""The first version of torch whose ``torch.onnx.export`` uses ``torch.export`` by default."""


class Engine:
    """Traces the files of a workspace for an editor or a run of the command line. Must be used from one event loop."""

    def __init__(
        self,
        settings_of: Callable[[str], Settings],
        *,
        folders: Iterable[str] = (),
        encoding: Encoding = "utf-16",
        python: Sequence[str] = (),
        selected: Callable[[Path], Sequence[str]] = lambda folder: (),
        on_agent_state: Callable[[AgentState, Interpreter, Path], None] = lambda state, interpreter, folder: None,
        on_result: Callable[[str, bool], None] = lambda path, complete: None,
        cache: Cache | None = None,
        findings_cache: Cache | None = None,
        cluster: Cluster | None = None,
        interactive: bool = False,
        one_run: bool = False,
    ) -> None:
        """``settings_of`` returns the settings of a file.

        ``folders`` are the workspace's folders, and ``encoding`` is how the client counts characters. ``python`` is the
        command of the Python for all folders and overrides the settings; ``selected`` returns the Python that is
        selected for a folder, which is used if the settings name none. ``on_agent_state`` is called when the state of a
        folder's agent changes, and ``on_result`` whenever `Scheduler.on_result` is. Traces are kept in ``cache``,
        targets and fixes in ``findings_cache``. If there is a ``cluster``, its workers trace. ``interactive``: someone
        is editing the files, so agents start before they are needed, and idle time is used to describe graphs, to try
        fixes and to count what models cost. ``one_run``: someone waits until many files are traced once, so agents do
        not give way to other processes, and the Python of each folder is chosen once.
        """
        self.settings_of = settings_of
        self.documents = Documents(encoding)
        self.workspace = Workspace(folders)
        self._selected = selected
        self._choices = RecentChoices(
            partial(choose, given=python, in_editor=interactive), seconds=math.inf if one_run else CHOICE_SECONDS
        )
        self._on_agent_state = on_agent_state
        self._listener = on_result
        self._cache = cache
        self._cluster = cluster
        self._interactive = interactive
        self._one_run = one_run
        self._agents = AgentPool()
        self._capturing_agents = AgentPool()
        self._agent_keys: dict[str, Hashable] = {}
        """By file: the key of the agent that it was last traced with."""
        self._retiring: asyncio.TimerHandle | None = None
        """Set while agents may be running that no open document needs."""
        self._preloaded: dict[str, tuple[str, ...]] = {}
        """By file, the modules that its agent was last asked to import."""
        self._preloading: set[asyncio.Task[None]] = set()
        finder = None
        if findings_cache:
            finder = CachedTargetFinder(self.workspace.folders, self.documents.text, findings_cache)
        uses = CaptureUses(lambda: self.workspace.folders, self.documents.text, self._exports_to_onnx)
        self.scheduler = Scheduler(
            self.documents, self.workspace, self.agent_for, settings_of, finder, uses, gives_way=interactive
        )
        self.scheduler.on_result = self._on_result
        self.results = self.scheduler.results
        self.proofs = FixProofs(
            self.scheduler,
            partial(kept_fixes_for, findings_cache) if findings_cache else fixes_for,
            self._capturing_agent_for,
        )
        self.descriptions = GraphDescriptions(self.scheduler)
        self.costs = CostCounts(self.scheduler, after=self.descriptions)
        self.chosen_inputs = ChosenInputs(self.scheduler)
        self.growth = CostGrowth(self.scheduler, self.costs)
        self.captures = TargetCaptures(self.scheduler, self._capturing_agent_for)
        self.idle_captures = IdleCaptures(self.scheduler, self.captures)
        self.capture_graphs = CaptureGraphs(self.scheduler, self.captures, after=self.idle_captures)
        checks = KeptReportChecks(self.scheduler, self.agent_for)
        counting = (self.costs, self.chosen_inputs, self.growth)
        idle = (self.proofs, self.descriptions, *counting, self.idle_captures, self.capture_graphs, checks)
        self._idle_work: tuple[IdleWork, ...] = idle if interactive else ()

    def agent_for(self, path: str) -> TracingAgent:
        """The agent that traces the file ``path``."""
        return self._agent_in(self._agents, path, self._start_agent)

    def _capturing_agent_for(self, path: str) -> TracingAgent:
        """The agent that captures the targets of ``path`` by other means; its process starts when it is first used."""
        return self._agent_in(self._capturing_agents, path, self._start_capturing_agent)

    def _agent_in(
        self, agents: AgentPool, path: str, start: Callable[[Interpreter, Settings, Path], TracingAgent]
    ) -> TracingAgent:
        folder, interpreter = Path(self.workspace.folder_of(path)), self.interpreter_of(path)
        key = self._agent_key(path, interpreter)
        if agents is self._agents:
            self._agent_keys[path] = key
        if not self._one_run and key not in agents:
            agents.retain(map(self._current_key, self.documents.paths))
        return agents.agent_for(key, lambda: start(interpreter, self._settings_in(folder), folder))

    def interpreter_of(self, path: str) -> Interpreter:
        """The Python that traces a file, as the files and folders are now, or were a moment ago."""
        folder = Path(self.workspace.folder_of(path))
        setting = self.settings_of(path).interpreter
        return self._choices.of(Path(path).parent, folder, setting=setting, selected=self._selected(folder))

    def forget_interpreters(self) -> None:
        """Choose the Python of each file anew from now on: a file that decides has changed."""
        self._choices.forget()

    def interpreters_may_have_changed(self) -> None:
        """Trace everything again if another Python serves an open file that was traced."""
        self.forget_interpreters()
        traced = [path for path in self.documents.paths if path in self._agent_keys]
        if any(self._agent_keys[path] != self._current_key(path) for path in traced):
            self.scheduler.trace_all()

    def edited(self, path: str) -> None:
        """Trace a file whose text was edited, and pause the idle work."""
        for work in self._idle_work:
            work.pause()
        self.scheduler.edited(path)

    def pause(self) -> None:
        """Stop all work, except for files that the user asks for."""
        self.scheduler.pause()
        for task in self._preloading:
            task.cancel()
        for work in self._idle_work:
            work.pause()

    def resume(self) -> None:
        """Trace what has changed meanwhile, and continue the idle work."""
        self.scheduler.resume()
        for work in self._idle_work:
            work.begin()

    def set_folders(self, folders: Iterable[str]) -> None:
        """Replace the workspace's folders, end the agents of those that are gone, and trace everything again."""
        self.workspace.set_folders(folders)
        self._retire_agents()
        self.scheduler.trace_all()

    def closed(self, path: str) -> None:
        """Close a document, dropping edits that were not saved.

        The agents that no other open document needs end a while later.
        """
        self.documents.close(path)
        self._preloaded.pop(path, None)
        self._agent_keys.pop(path, None)
        self.scheduler.forget(path)
        self._agents.release(path)
        self.scheduler.trace_dependants(path)
        if self._retiring is not None:
            self._retiring.cancel()
        self._retiring = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._retire_agents)

    def trace_anew(self, path: str) -> None:
        """Trace an open file from scratch, without earlier results or cached traces."""
        if self.scheduler.held_back:
            return
        agents = [self.agent_for(path)]
        if self.results[path].captured if path in self.results else {}:
            agents.append(self._capturing_agent_for(path))
        for agent in agents:
            if isinstance(agent, CachedAgent | KeepingAgent):
                agent.forget(path)
        self.scheduler.trace_anew(path)

    def restart_agents(self) -> None:
        """End every tracing process, and trace everything with new ones."""
        self.forget_interpreters()
        self._agents.restart()
        self._preloaded.clear()
        self._capturing_agents.restart()
        self.scheduler.trace_all()

    async def close(self) -> None:
        """Stop all work and every tracing process."""
        if self._retiring is not None:
            self._retiring.cancel()
        for task in self._preloading:
            task.cancel()
        await self.scheduler.close()
        for work in self._idle_work:
            await work.close()
        await self._agents.close()
        await self._capturing_agents.close()

    def _on_result(self, path: str, complete: bool) -> None:
        self._listener(path, complete)
        if self._interactive and self.documents.is_open(path):
            self._preload(path)
        for work in self._idle_work:
            work.on_result(path, complete)

    def _retire_agents(self) -> None:
        """End the agents that no open document needs, or may still be traced with."""
        paths = self.documents.paths
        needed = {*map(self._current_key, paths), *map(self._agent_keys.get, paths)}
        for agents in (self._agents, self._capturing_agents):
            agents.retain(needed)

    def _current_key(self, path: str) -> Hashable:
        return self._agent_key(path, self.interpreter_of(path))

    def _agent_key(self, path: str, interpreter: Interpreter) -> Hashable:
        """What the agent of a file is started with: files with equal keys have the same agent.

        An agent that found no torch is not asked again, so a Python that gets torch gets another agent.
        """
        folder = Path(self.workspace.folder_of(path))
        settings = self._settings_in(folder)
        env = tuple(sorted(settings.env.items()))
        return folder, interpreter.command, interpreter.has_torch, env, settings.cache

    def _preload(self, path: str) -> None:
        """Have the agent import what an open file imports, once the first report on the file is here.

        If the report came from the cache, the agent has not imported anything yet.
        """
        result, text = self.results.get(path), self.documents.text(path)
        if text is None or result is None or not any(traced.report for traced in result.traced.values()):
            return
        modules = imported_first(text)
        if modules and self._preloaded.get(path) != modules:
            self._preloaded[path] = modules
            request = Preload(path, modules, self.workspace.roots_of(path))
            task = asyncio.get_running_loop().create_task(self.agent_for(path).preload(request))
            self._preloading.add(task)
            task.add_done_callback(self._preloading.discard)

    def _settings_in(self, folder: Path) -> Settings:
        return self.settings_of(str(folder / FILE))

    def _exports_to_onnx(self, path: str) -> bool:
        """Whether ``torch.onnx.export`` uses ``torch.export`` by default in the Python that traces a file."""
        version = torch_version(Path(self.interpreter_of(path).command[0]))
        return version is None or version >= ONNX_BY_EXPORT

    def _start_agent(self, interpreter: Interpreter, settings: Settings, folder: Path) -> TracingAgent:
        assert not self.scheduler.held_back, "an agent runs a Python and code that may be the workspace's"
        if self._cluster is not None:
            return ClusterAgent(self._cluster, settings.interpreter, folder)
        log.info("tracing files of %s; %s", folder, "; ".join(interpreter.reasons))
        agent = self._made_agent(
            interpreter,
            settings,
            folder,
            on_state=lambda state: self._on_agent_state(state, interpreter, folder),
            start_early=self._interactive,
        )
        return KeepingAgent(agent) if self._interactive else agent

    def _start_capturing_agent(self, interpreter: Interpreter, settings: Settings, folder: Path) -> TracingAgent:
        """An agent whose state is not reported: the client shows only whether the other one can trace."""
        if self._cluster is not None:
            return ClusterAgent(self._cluster, settings.interpreter, folder)
        return self._made_agent(interpreter, settings, folder, on_state=lambda state: None, start_early=False)

    def _made_agent(
        self,
        interpreter: Interpreter,
        settings: Settings,
        folder: Path,
        *,
        on_state: Callable[[AgentState], None],
        start_early: bool,
    ) -> TracingAgent:
        agent = SupervisedAgent(
            interpreter.command,
            cwd=folder,
            env=settings.env,
            log=lambda line: log.info("agent: %s", line),
            on_state=on_state,
            urgency="foreground" if self._one_run else "background",
        )
        if self._cache is None or not settings.cache:
            return agent
        return CachedAgent(agent, self._cache, interpreter.command, settings.env, start_early=start_early)
