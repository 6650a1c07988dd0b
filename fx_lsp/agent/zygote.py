"""The agent's main loop: a process with everything loaded that runs none of the user's code and forks per request."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from functools import partial

from .children import Brood, Child, Emit
from .endings import unanswered
from .frames import CHUNK, Frames, write_all
from .limits import GRACE
from .messages import Cancel, Done, Message, Report, Trace, decode, encode
from .rehearsal import Rehearsal
from .session import Imported, Session
from .warmup import freeze


@dataclass
class _Request:
    """A request that is being worked on."""

    trace: Trace
    child: Child | None = None
    waiting: set[str] = field(default_factory=set)
    """Keys of the targets that are not reported yet."""
    dependencies: tuple[str, ...] = ()
    cancelled: bool = False


class Zygote:
    """Answers the server's requests, each in a child, as many at a time as there are."""

    def __init__(self, read: int, write: int) -> None:
        self._read = read
        self._write = write
        self._frames = Frames()
        self._brood = Brood(private=[write])
        self._rehearsal = Rehearsal(self._brood)
        self._requests: dict[int, _Request] = {}
        self._serving = True
        self._builtin = frozenset(name.partition(".")[0] for name in sys.modules) | sys.stdlib_module_names

    def serve(self) -> None:
        """Serve until the server hangs up; then leave no child behind."""
        freeze()
        self._brood.listen(self._read, self._receive)
        try:
            while self._serving:
                self._brood.wait()
                if not self._brood:
                    self._rehearsal.proceed()
        finally:
            self._brood.kill_all()

    def _receive(self) -> None:
        data = os.read(self._read, CHUNK)
        self._serving = bool(data)
        for body in self._frames.feed(data):
            message = decode(body)
            if isinstance(message, Trace):
                self._start(message)
            elif isinstance(message, Cancel):
                self._cancel(message.id)

    def _send(self, message: Message) -> None:
        write_all(self._write, encode(message))

    def _start(self, trace: Trace) -> None:
        request = self._requests[trace.id] = _Request(trace, waiting={target.key for target in trace.targets})
        request.child = self._brood.fork(
            partial(self._session, trace),
            # A session speaks after the import and after each target, whose children it ends itself.
            seconds=trace.limits.seconds + 3 * GRACE,
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
        elif isinstance(item, Report) and not request.cancelled:
            request.waiting.discard(item.target)
            self._send(item)

    def _gone(self, request: _Request, child: Child) -> None:
        del self._requests[request.trace.id]
        if not request.cancelled:
            for target in request.trace.targets:
                if target.key in request.waiting:
                    self._send(unanswered(request.trace, target.key, child))
        self._send(Done(request.trace.id, request.dependencies or (request.trace.file,), request.cancelled))
