"""The agent where processes can be forked: each request is answered by a child that begins with all that is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from .asked import is_answer, texts
from .attempts import Imported
from .children import Brood, Child, Emit, Job
from .compiled import Compilation
from .enclosure import shut_in
from .endings import ending, unanswered
from .limits import GRACE
from .messages import Details, Done, Proof, Prove, Report, Trace, Waiting
from .proof import prove
from .rehearsal import Rehearsal, installed
from .scratch import remove, scratch_folder
from .service import Service
from .session import Session
from .warmup import freeze

LONGEST = 20
"""So many times as long as it may be silent a request may take for each of its targets, and once more: it has several
ways to build a target, and may stand in line for a processor."""

MOST_NAMED = 10_000
"""Files, and modules, that a request may have imported."""


@dataclass
class _Request:
    """A request that is being worked on."""

    message: Trace | Prove
    child: Child | None = None
    waiting: set[str] = field(default_factory=set)
    """Keys of the targets that are not reported yet."""
    dependencies: set[str] = field(default_factory=set)
    third_party: dict[str, None] = field(default_factory=dict)
    """Modules from elsewhere that it has imported, in order."""
    answered: bool = False
    cancelled: bool = False

    def note(self, imported: Imported) -> None:
        """Keep what its processes have imported; they may name what they like."""
        self.dependencies.update(texts(imported.dependencies)[: MOST_NAMED - len(self.dependencies)])
        self.third_party.update(dict.fromkeys(texts(imported.third_party)[: MOST_NAMED - len(self.third_party)]))


class Zygote(Service[_Request]):
    """A process with everything loaded that forks per request."""

    def __init__(self, read: int, write: int) -> None:
        self._brood = Brood(private=[write], waiting=self._ask_for_patience)
        super().__init__(read, write, self._brood)
        self._rehearsal = Rehearsal(self._brood)
        self._compilation = Compilation(self._brood)
        freeze()

    def _proceed(self) -> None:
        if not self._brood or self._rehearsal.is_due:
            self._rehearsal.proceed()
        if not self._brood or self._compilation.is_due:
            self._compilation.proceed()

    def _start_trace(self, trace: Trace) -> None:
        request = _Request(trace, waiting={target.key for target in trace.targets})
        # A session speaks after the import and after each target, whose children it ends itself.
        self._start(request, partial(self._session, trace), trace.limits.seconds + 2 * GRACE)

    def _start_proof(self, message: Prove) -> None:
        job = partial(prove, message, self._builtin)
        self._start(_Request(message), job, message.limits.seconds + 2 * GRACE)

    def _start(self, request: _Request, job: Job, seconds: float) -> None:
        self._requests[request.message.id] = request
        request.child = self._brood.fork(
            partial(shut_in, job),
            seconds=seconds,
            longest=LONGEST * seconds * (1 + len(request.waiting)),
            hear=partial(self._heard, request),
            gone=partial(self._gone, request),
            leads_group=True,
        )

    def _session(self, trace: Trace, emit: Emit) -> None:
        """In the child: the request."""
        Session(trace, self._builtin, emit).run()

    def _cancel(self, number: int) -> None:
        request = self._requests.get(number)
        if request is not None and request.child is not None:
            request.cancelled = True
            request.child.kill()

    def _heard(self, request: _Request, item: object) -> None:
        if isinstance(item, Imported):
            request.note(item)
            self._compilation.want(texts(item.compiled))
        elif isinstance(item, Waiting) and is_answer(item, request.message):
            self._send(item)
        elif isinstance(item, Report | Details | Proof) and is_answer(item, request.message) and not request.cancelled:
            request.answered = True
            if isinstance(item, Report):
                request.waiting.discard(item.target)
            self._send(item)

    def _gone(self, request: _Request, child: Child) -> None:
        remove(scratch_folder(child.pid))
        message = request.message
        del self._requests[message.id]
        self._rehearsal.heed(message)
        self._rehearsal.want(installed([*request.third_party], message))
        if not request.cancelled:
            self._answer_for(request, child)
        self._send(Done(message.id, tuple(sorted({message.file, *request.dependencies})), request.cancelled))

    def _answer_for(self, request: _Request, child: Child) -> None:
        """Answer what a child that is dead did not."""
        message = request.message
        if isinstance(message, Prove):
            if not request.answered:
                self._send(Proof(message.id, "untried", f"the process that tried it {ending(child.status)}"))
            return
        for target in message.targets:
            if target.key in request.waiting:
                self._send(unanswered(message, target.key, child))
