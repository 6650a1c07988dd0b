"""The agent's main loop: a process with everything loaded that runs none of the user's code and forks per request."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from .children import Brood, Child, Emit, Job, adopt_orphans
from .confinement import confine, missing
from .endings import ending, unanswered
from .frames import CHUNK, Frames, write_all
from .guard import GUARD
from .limits import GRACE, limit_resources
from .messages import Cancel, Details, Done, Message, Proof, Prove, Report, Trace, Waiting
from .proof import prove
from .rehearsal import Rehearsal
from .rounds import Imported
from .scratch import move_into, remove, scratch_folder
from .session import Session
from .warmup import freeze
from .wire import decode, encode


@dataclass
class _Request:
    """A request that is being worked on."""

    message: Trace | Prove
    child: Child | None = None
    waiting: set[str] = field(default_factory=set)
    """Keys of the targets that are not reported yet."""
    dependencies: tuple[str, ...] = ()
    answered: bool = False
    cancelled: bool = False


class Zygote:
    """Answers the server's requests, each in a child, as many at a time as there are."""

    def __init__(self, read: int, write: int) -> None:
        self._read = read
        self._write = write
        self._frames = Frames()
        self._brood = Brood(private=[write], waiting=self._ask_for_patience)
        self._rehearsal = Rehearsal(self._brood)
        self._requests: dict[int, _Request] = {}
        self._serving = True
        self._builtin = frozenset(name.partition(".")[0] for name in sys.modules) | sys.stdlib_module_names

    def serve(self) -> None:
        """Serve until the server hangs up; then leave no child behind."""
        for sentence in missing():
            sys.stderr.write(f"{sentence}\n")
        adopt_orphans()
        GUARD.install()
        freeze()
        self._brood.listen(self._read, self._receive)
        try:
            while self._serving:
                self._brood.wait()
                if not self._brood or self._rehearsal.is_due:
                    self._rehearsal.proceed()
        finally:
            self._brood.kill_all()
            remove(Path(tempfile.gettempdir()))  # where the server was ended, nobody else does

    def _receive(self) -> None:
        data = os.read(self._read, CHUNK)
        self._serving = bool(data)
        for body in self._frames.feed(data):
            message = decode(body)
            if isinstance(message, Trace):
                self._start_trace(message)
            elif isinstance(message, Prove):
                self._start_proof(message)
            elif isinstance(message, Cancel):
                self._cancel(message.id)

    def _send(self, message: Message) -> None:
        write_all(self._write, encode(message))

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
            partial(_shut_in, job),
            seconds=seconds,
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
            request.dependencies = item.dependencies
            self._rehearsal.want(item.third_party)
        elif isinstance(item, Waiting):
            self._send(item)
        elif isinstance(item, Report | Details | Proof) and not request.cancelled:
            request.answered = True
            if isinstance(item, Report):
                request.waiting.discard(item.target)
            self._send(item)

    def _ask_for_patience(self) -> None:
        for number in self._requests:
            self._send(Waiting(number))

    def _gone(self, request: _Request, child: Child) -> None:
        remove(scratch_folder(child.pid))
        message = request.message
        del self._requests[message.id]
        if not request.cancelled:
            self._answer_for(request, child)
        self._send(Done(message.id, request.dependencies or (message.file,), request.cancelled))

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


def _shut_in(job: Job, emit: Emit) -> None:
    """In the child: do the job in a scratch folder, allowed nothing but what it takes to trace."""
    scratch = scratch_folder(os.getpid())
    move_into(scratch)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(write_through=False)  # a million lines are not a million calls of the system
    limit_resources()
    GUARD.close(str(scratch))
    confine(str(scratch))
    job(emit)
