"""The sessions that stay after a trace (``keeping/kept_session.py``), as the agent sees them."""

from __future__ import annotations

import dataclasses
from typing import Generic, TypeVar

from fx_lsp.agent.messages import Cancel, Limits, Trace
from fx_lsp.agent.processes.children import ForkedChild
from fx_lsp.agent.processes.request_pipe import RequestWriter

MOST_KEPT = 2
"""For how many files a session is kept; those that were used last are kept."""

MOST_REFUSALS = 3
"""After how many sessions of a file that could not be kept, one after the other, no more are tried."""

R = TypeVar("R")


class KeptChild(Generic[R]):
    """One session, and the request that it is working on."""

    def __init__(self, trace: Trace, request: R, requests: RequestWriter) -> None:
        """``trace`` is the message of ``request``, which the session is started for."""
        self.child: ForkedChild
        self.request: R | None = request
        """What the session is working on; None if that was cancelled or is done."""
        self.is_kept = False
        """Whether the session has answered the request that it was started for."""
        self.is_fit = False
        """Whether it can take other requests, as far as is known."""
        self._surroundings = _surroundings(trace)
        self._requests = requests
        self._last = trace.id

    def ask(self, trace: Trace, request: R, seconds: float, longest: float) -> bool:
        """Have the session answer ``trace`` as `ForkedChildren.fork` limits it; False if it can't."""
        if self._surroundings != _surroundings(trace) or not self._requests.send(trace):
            return False
        self.request, self._last = request, trace.id
        self.child.resume(seconds, longest)
        return True

    def cancel(self) -> None:
        """Have the session give up what it is working on."""
        self.request = None
        if not self._requests.send(Cancel(self._last)):
            self.child.kill()

    def settled(self, number: int) -> bool:
        """Note that the session is done with request ``number``; return whether it has nothing else to do."""
        is_last = number == self._last
        if is_last:
            self.child.park()
        return is_last

    def close(self) -> None:
        """Give up the pipe to a session that is dead."""
        self._requests.close()


class KeptChildren(Generic[R]):
    """The sessions that wait for requests, by file."""

    def __init__(self) -> None:
        self._by_file: dict[str, KeptChild[R]] = {}
        """Those used last are last."""
        self.edited: dict[str, tuple[str, ...]] = {}
        """By file, the keys of the targets that the last edits concerned."""
        self._refusals: dict[str, int] = {}
        """By file, how many sessions could not be kept since the last one that could."""

    def get(self, file: str) -> KeptChild[R] | None:
        """The session of a file, if one is kept."""
        kept = self._by_file.pop(file, None)
        if kept is not None:
            self._by_file[file] = kept
        return kept

    def keep(self, file: str, kept: KeptChild[R]) -> None:
        """Keep a session instead of an earlier one of the same file."""
        kept.is_kept = True
        if (before := self._by_file.pop(file, None)) is not None:
            before.child.kill()
        self._by_file[file] = kept
        while len(self._by_file) > MOST_KEPT:
            self._by_file.pop(next(iter(self._by_file))).child.kill()

    def release(self, file: str) -> None:
        """End the session of a file. A request that it is working on is answered by another one."""
        kept = self._by_file.pop(file, None)
        if kept is not None:
            kept.child.kill()

    def note_rest(self, file: str, kept: KeptChild[R]) -> None:
        """Note that a session rests, and so can take requests."""
        kept.is_fit = True
        self._refusals.pop(file, None)

    def note_refusal(self, file: str) -> None:
        """Note that a session that was to be kept has ended."""
        self._refusals[file] = self._refusals.get(file, 0) + 1

    def may_keep(self, file: str) -> bool:
        """Whether a session of a file is likely to stay."""
        return self._refusals.get(file, 0) < MOST_REFUSALS

    def drop(self, file: str, kept: KeptChild[R]) -> None:
        """Forget a session that has ended, if it is still kept for this file."""
        if self._by_file.get(file) is kept:
            del self._by_file[file]
            if not kept.is_fit:
                self.note_refusal(file)


def _surroundings(trace: Trace) -> tuple[tuple[str, ...], Limits]:
    """What a session can't change about a request after it has begun."""
    return trace.roots, dataclasses.replace(trace.limits, at_once=0)
