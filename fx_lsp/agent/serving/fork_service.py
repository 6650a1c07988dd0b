"""The agent on systems that can fork: each request is answered by a child that starts with everything loaded."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from fx_lsp.agent.capturing.modules import MODULES as COMPILER_MODULES
from fx_lsp.agent.importing.bytecode_cache import BackgroundCompiler
from fx_lsp.agent.inventing.plan_memory import Invented
from fx_lsp.agent.keeping.kept_session import Answered, IsStale, KeptSession, Settled
from fx_lsp.agent.messages import Costs, Details, Done, Failure, Preload, Proof, Prove, Report, Target, Trace
from fx_lsp.agent.processes.children import Emit, ForkedChild, ForkedChildren, Job
from fx_lsp.agent.processes.huge_pages import use_huge_pages
from fx_lsp.agent.processes.limits import grace
from fx_lsp.agent.processes.request_pipe import RequestWriter
from fx_lsp.agent.processes.scratch_folder import remove, scratch_folder
from fx_lsp.agent.processes.watchdog import ChildProcess
from fx_lsp.agent.proving.proof_memory import Remembered
from fx_lsp.agent.proving.prove_edit import prove
from fx_lsp.agent.sandbox.sandbox_entry import run_confined
from fx_lsp.agent.serving.kept_children import KeptChild, KeptChildren
from fx_lsp.agent.serving.preload import Preloader, third_party_modules
from fx_lsp.agent.serving.remembered_proofs import RememberedProofs
from fx_lsp.agent.serving.reply_filter import is_answer, only_strings
from fx_lsp.agent.serving.service import Service
from fx_lsp.agent.serving.traced_plans import TracedPlans
from fx_lsp.agent.tracing.attempt import CostlyImport, Imported
from fx_lsp.agent.tracing.death_reports import death_report, describe_exit
from fx_lsp.agent.tracing.trace_request import TraceSession

LONGEST = 20
"""A child may live for `LONGEST` times its allowed silence for each of its targets, and as long again for the rest.

A target can be built in several ways, and may have to wait for a processor.
"""

MOST_NAMED = 10_000
"""The maximum number of files, and of modules, that are recorded as imported for a request."""


@dataclass
class _Request:
    """A request that is being worked on."""

    message: Trace | Prove
    sessions: deque[Trace] = field(default_factory=deque)
    """For a trace: the session that is running, and those that will follow."""
    is_second_try: bool = False
    """Whether targets that an earlier session left unreported are being tried again."""
    imported: bool = False
    """Whether the file was imported at least once."""
    child: ForkedChild | None = None
    """None as long as the request is held back."""
    waiting: set[str] = field(default_factory=set)
    """Keys of the targets that are not reported yet."""
    dependencies: set[str] = field(default_factory=set)
    third_party: dict[str, None] = field(default_factory=dict)
    """Modules from outside the workspace that the request has imported, in order."""
    costly_work: Failure | None = None
    """The work in the running session's `CostlyImport`, if it sent one; its other answers are then ignored."""
    answered: bool = False
    cancelled: bool = False
    kept: KeptChild[_Request] | None = None
    """The session that stays afterward and that answers the request, if one does."""
    quick: bool = False
    """Whether that session was kept from an earlier trace."""
    unprepared: bool = False
    """Whether that session could build targets ahead."""

    def note(self, imported: Imported) -> None:
        """Record what the request's processes claim to have imported; the claim may be false."""
        self.dependencies.update(only_strings(imported.dependencies)[: MOST_NAMED - len(self.dependencies)])
        self.third_party.update(dict.fromkeys(only_strings(imported.third_party)[: MOST_NAMED - len(self.third_party)]))


class ForkService(Service[_Request]):
    """Forks a child for each request; the child starts with everything loaded."""

    def __init__(self, read: int, write: int) -> None:
        self._children = ForkedChildren(private=[write], heartbeat=self._send_heartbeats)
        super().__init__(read, write, self._children)
        self._preloader = Preloader(self._children)
        self._compiler = BackgroundCompiler(self._children)
        self._proofs = RememberedProofs()
        self._plans = TracedPlans()
        self._kept: KeptChildren[_Request] = KeptChildren()
        self._may_stay = 0
        """How many sessions live that are kept or may be."""
        self._is_edited = False
        """Whether the last request was a trace for someone who edits; costs and proofs come once they have paused."""
        self._in_huge_pages = 0
        """How many modules were loaded when this process's memory was last moved into huge pages."""

    def _proceed(self) -> None:
        # Children have to wait while the agent imports a module. Proofs, descriptions and costs can wait, traces can't.
        preloader = self._preloader
        is_idle = not self._children and not self._is_reserved
        if is_idle or preloader.is_pressing or (preloader.is_due and not (self._is_tracing or self._is_reserved)):
            preloader.proceed()
            if preloader.is_ready:
                self._children.wake()
            self._send_heartbeats()  # for proofs that are held back meanwhile
        if is_idle or self._compiler.is_due:
            self._compiler.proceed()
        if is_idle and not preloader.is_ready and len(sys.modules) != self._in_huge_pages:
            self._in_huge_pages = len(sys.modules)
            use_huge_pages()
        for request in [request for request in self._requests.values() if request.child is None]:
            is_proof = isinstance(request.message, Prove)
            if not preloader.is_under_way or (is_proof and (self._is_tracing or self._is_reserved)):
                self._begin(request)

    @property
    def _is_reserved(self) -> bool:
        """Whether this process should stay free, to pass on at once what kept processes answer to the next edit."""
        return self._is_edited and self._may_stay > 0

    @property
    def _is_tracing(self) -> bool:
        """Whether someone is waiting for the result of a trace."""
        messages = [request.message for request in self._requests.values() if not request.cancelled]
        return any(
            isinstance(message, Trace) and message.is_awaited and not (message.details or message.costs)
            for message in messages
        )

    def _start_trace(self, trace: Trace) -> None:
        request = _Request(trace, waiting={target.key for target in trace.targets}, sessions=deque([trace]))
        self._requests[trace.id] = request
        if trace.capture == "fx":
            self._plans.forget(trace)
        if _is_plain(trace) or trace.costs:
            self._is_edited = trace.purpose == "edit"
        if _is_plain(trace):
            if trace.is_awaited:
                self._kept.edited[trace.file] = tuple(request.waiting)
            if self._ask_kept(request, trace):
                return
        # Nobody waits for costs, and until the agent has imported the modules, each child holds copies of them.
        if not (trace.costs and self._preloader.is_under_way):
            self._start_session(request)

    def _ask_kept(self, request: _Request, trace: Trace) -> bool:
        """Have the session that was kept for the file answer, if there is one that has nothing else to do."""
        kept = None if trace.purpose == "confirm" else self._kept.get(trace.file)
        seconds = _session_seconds(trace)
        if (
            kept is None
            or kept.request is not None
            or not kept.ask(trace, request, seconds, _longest(request, seconds))
        ):
            return False
        request.kept, request.child, request.quick = kept, kept.child, True
        return True

    def _start_session(self, request: _Request) -> None:
        """Start the next session of a trace."""
        trace = request.sessions[0]
        if trace.capture != "fx":
            self._preloader.heed(trace)
            self._preloader.load(COMPILER_MODULES)
        if self._preloader.is_ready and (_is_plain(trace) or not self._is_reserved):
            # Otherwise, the session would import these modules itself, and take no less time.
            self._preloader.proceed(trace.file)
        may_stay = _is_plain(trace) and trace.purpose != "once" and self._kept.may_keep(trace.file)
        if may_stay and not request.is_second_try:
            self._start_kept(request, trace)
        else:
            job = partial(_trace, trace, self._builtin)
            self._start(request, job, _session_seconds(trace))

    def _start_kept(self, request: _Request, trace: Trace) -> None:
        """Start a session that stays for later traces of the file."""
        requests = RequestWriter(self._children)
        kept = request.kept = KeptChild(trace, request, requests)
        edited, builtin, seconds = self._kept.edited.get(trace.file, ()), self._builtin, _session_seconds(trace)
        kept.child = request.child = self._children.fork(
            partial(run_confined, lambda emit: KeptSession(trace, edited, builtin, requests.reader, emit).run()),
            seconds=seconds,
            longest=_longest(request, seconds),
            hear=partial(self._heard_kept, kept, trace.file),
            gone=partial(self._gone_kept, kept, trace.file),
            leads_group=True,
        )
        requests.close_reader()
        self._may_stay += 1

    def _start_proof(self, message: Prove) -> None:
        """Hold a proof back until the agent has what earlier requests imported: a proof imports that twice.

        If somebody waits for a trace, the agent imports nothing, and the proof starts at once (see `_proceed`).
        """
        self._is_edited = False
        self._requests[message.id] = _Request(message)
        self._preloader.hurry()

    def _begin(self, request: _Request) -> None:
        """Start the work on a request that was held back."""
        if isinstance(request.message, Trace):
            self._start_session(request)
        else:
            message = request.message
            job = partial(prove, message, self._builtin, self._proofs.of(message), self._plans.of(message))
            limit = message.limits.seconds
            self._start(request, job, limit + 2 * grace(limit))

    def _start(self, request: _Request, job: Job, seconds: float) -> None:
        request.child = self._children.fork(
            partial(run_confined, job),
            seconds=seconds,
            longest=_longest(request, seconds),
            hear=partial(self._heard, request),
            gone=partial(self._gone, request),
            leads_group=True,
        )

    def _preload(self, message: Preload) -> None:
        self._preloader.heed(message)
        self._preloader.expect(third_party_modules(message.modules, message))

    def _release(self, file: str) -> None:
        self._kept.release(file)

    def _cancel(self, number: int) -> None:
        request = self._requests.get(number)
        if request is None:
            return
        request.cancelled = True
        if request.kept is not None and request.kept.is_kept:
            request.kept.cancel()
            self._finish(request)
        elif request.child is None:
            self._finish(request)
        else:
            request.child.kill()

    def _heard_kept(self, kept: KeptChild[_Request], file: str, item: object) -> None:
        request = kept.request
        if isinstance(item, Answered):
            if request is None or item.id != request.message.id:
                return
            if request.waiting or request.cancelled:
                kept.child.kill()  # the user's code got hold of the pipe: nothing has been answered
                return
            kept.request = None
            if not kept.is_kept:
                self._kept.keep(file, kept)
            request.unprepared = item.unprepared is True  # it can be anything
            self._want_imports_of(request)
            self._finish(request)
        elif isinstance(item, Settled):
            if kept.is_kept:
                self._kept.note_rest(file, kept)
            if kept.settled(item.id) and request is not None:
                kept.child.kill()  # the user's code got hold of the pipe: nothing has been answered
        elif isinstance(item, IsStale):
            if not kept.is_kept:
                kept.child.kill()  # likewise: it was started for this very request
            elif kept.settled(item.id) and request is not None:
                kept.request = request.kept = request.child = None
                request.quick = False
                self._start_session(request)
        elif request is not None:
            self._heard(request, item)

    def _gone_kept(self, kept: KeptChild[_Request], file: str, child: ChildProcess) -> None:
        kept.close()
        self._may_stay -= 1
        self._kept.drop(file, kept)
        request, kept.request = kept.request, None
        if request is None:
            remove(scratch_folder(child.pid))
        elif kept.is_kept:  # it has served other requests: another session shows whether this one is to blame
            remove(scratch_folder(child.pid))
            request.kept = request.child = None
            request.quick = False
            trace = request.sessions[0]
            left = tuple(target for target in trace.targets if target.key in request.waiting)
            request.sessions[0] = replace(trace, targets=left)
            self._start_session(request)
        else:
            if request.waiting and not request.cancelled:
                self._kept.note_refusal(file)
            self._gone(request, child)

    def _heard(self, request: _Request, item: object) -> None:
        if isinstance(item, CostlyImport):
            is_first = not request.is_second_try and isinstance(item.work, Failure)  # it can be anything
            request.costly_work = item.work if is_first else None
        elif isinstance(item, Imported):
            request.imported = True
            request.note(item)
            self._compiler.want(only_strings(item.compiled))
        elif isinstance(item, Remembered) and isinstance(request.message, Prove):
            self._proofs.keep(request.message, item)
        elif isinstance(item, Invented) and isinstance(request.message, Trace):
            self._plans.keep(request.message, item)
        elif isinstance(item, Report | Details | Costs | Proof) and self._counts(item, request):
            request.answered = True
            if isinstance(item, Report):
                request.waiting.discard(item.target)
            self._send(item)

    def _counts(self, item: object, request: _Request) -> bool:
        """Whether to pass ``item`` on to the server as an answer to ``request``."""
        return is_answer(item, request.message) and not request.cancelled and request.costly_work is None

    def _gone(self, request: _Request, child: ChildProcess) -> None:
        remove(scratch_folder(child.pid))
        self._want_imports_of(request)
        if not request.cancelled:
            self._answer_for(request, child)
            if request.sessions:
                self._start_session(request)
                return
        self._finish(request)

    def _want_imports_of(self, request: _Request) -> None:
        """Have the agent import what a request has imported."""
        self._preloader.heed(request.message)
        self._preloader.want(third_party_modules([*request.third_party], request.message))

    def _finish(self, request: _Request) -> None:
        """Say that there is nothing more to come."""
        message = request.message
        del self._requests[message.id]
        dependencies = tuple(sorted({message.file, *request.dependencies}))
        self._send(Done(message.id, dependencies, request.cancelled, request.quick, request.unprepared))

    def _answer_for(self, request: _Request, child: ChildProcess) -> None:
        """Send the answers that a dead child still owed, or prepare another try."""
        if isinstance(request.message, Prove):
            if not request.answered:
                reason = f"the process that was trying the edit {describe_exit(child.status)}"
                self._send(Proof(request.message.id, "untried", reason, has_no_program=child.overdue))
            return
        trace = request.sessions.popleft()
        left = [target for target in trace.targets if target.key in request.waiting]
        if request.costly_work is not None:
            request.is_second_try = True
            request.sessions.append(replace(trace, targets=tuple(left), costly_work=request.costly_work))
            request.costly_work = None
            return
        if left and not request.is_second_try and not (child.overdue and not request.imported):
            request.is_second_try = True
            request.sessions.extend(replace(trace, targets=targets) for targets in _tried_again(left, request))
            return
        for target in left:
            request.waiting.discard(target.key)
            self._send(death_report(trace, target.key, child))


def _trace(trace: Trace, builtin: Collection[str], emit: Emit) -> None:
    TraceSession(trace, builtin, emit).run()


def _is_plain(trace: Trace) -> bool:
    """Whether a trace asks for nothing but reports, so that a session that was kept can answer it."""
    return trace.capture == "fx" and not (trace.details or trace.costs or trace.inputs or trace.costly_work)


def _session_seconds(trace: Trace) -> float:
    """How long a session may be silent.

    It sends something after the import, and every second while it waits for its own children.
    """
    limit = trace.limits.seconds
    return limit + 2 * grace(limit)


def _longest(request: _Request, seconds: float) -> float:
    """How long the child of a request may live if it may be silent for ``seconds``."""
    return LONGEST * seconds * (1 + len(request.waiting))


def _tried_again(left: Sequence[Target], request: _Request) -> list[tuple[Target, ...]]:
    """The targets of each session that follows a session that died.

    Each target gets its own session, so that a crash costs only one target. But if the import ended the session, it
    would also end each new session, so a single session gets all targets.
    """
    return [(target,) for target in left] if request.imported else [tuple(left)]
