"""An agent whose process is started when it is needed and replaced when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from fx_lsp.agent.messages import (
    Costs,
    Details,
    Done,
    Failure,
    Hello,
    Preload,
    Proof,
    Prove,
    Release,
    Report,
    Trace,
    Urgency,
)
from fx_lsp.interpreters.interpreter_choice import Interpreter
from fx_lsp.supervisor.agent_process import AgentFailed, AgentKilled, AgentNotSpawned, AgentProcess, Answer

BACK_OFF_SECONDS = (0.0, 0.5, 2.0, 5.0)
"""How long to wait before a process is started, by the number of deaths in a row. After as many deaths as there are
entries, no process is started."""

RETRY_SECONDS = 5.0
"""How long requests get no process after the system could not start one; the next request tries again."""

Phase = Literal["starting", "ready", "busy", "no-torch", "failed", "stopped"]


@dataclass(frozen=True)
class AgentState:
    """The state of an agent's process."""

    phase: Phase
    hello: Hello | None = None
    """What the agent reported about itself when it started."""
    problem: str | None = None
    """In the phases ``no-torch`` and ``failed``: why, in one or two sentences."""


def why_not(state: AgentState, interpreter: Interpreter, remedy: str) -> str | None:
    """One line that says why an agent can't trace, in which Python, and what to do; None while it can trace.

    ``remedy`` says how to choose another Python.
    """
    python = f"{' '.join(interpreter.command)} (from {interpreter.origin})"
    reason = " ".join((state.problem or "").split())
    if state.phase == "no-torch":
        return f"{python} has no usable PyTorch. {reason} Install torch there, or {remedy}."
    if state.phase == "failed":
        return f"the tracing process of {python} is not running. {reason}"
    return None


class SupervisedAgent:
    """Traces files in one of the user's Pythons.

    One process serves all requests. The first request starts it, and the next request after a death starts another.
    After several deaths in a row the phase is ``failed``, and only a new `SupervisedAgent` tries again; but if the
    system could not start the process at all, later requests try again.
    """

    def __init__(
        self,
        python: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None,
        log: Callable[[str], None],
        on_state: Callable[[AgentState], None],
        urgency: Urgency = "background",
    ) -> None:
        """``python`` is the command that runs the user's Python. Each line that it writes to standard error is passed
        to ``log``. ``env`` is added to its environment, which is otherwise the server's own without secrets.
        ``urgency`` says whether it gives way to other processes."""
        self._python = tuple(python)
        self._cwd = cwd
        self._env = env
        self._log = log
        self._on_state = on_state
        self._urgency = urgency
        self._numbers = itertools.count(1)
        self._process: AgentProcess | None = None
        self._launch: asyncio.Task[None] | None = None
        """Set while a process is being started."""
        self._deaths = 0
        self._retry_at = math.inf
        """While the phase is ``failed``: when a request may try again, by the loop's clock."""
        self._busy = 0
        self._closed = False
        self.state = AgentState("stopped")

    async def start(self) -> None:
        """Start the process if there is none, and wait until it is ready or has failed to start (see `state`)."""
        with contextlib.suppress(AgentFailed):
            await self._ready()

    async def trace(self, request: Trace) -> AsyncGenerator[Report | Done, None]:
        """A `Report` for each target as it comes, then `Done`. Closing the iterator early cancels the request.

        Raises nothing, whatever the traced code or the agent does. If the process dies or hangs, another process traces
        the remaining targets; if that one dies too, they are reported as ``crashed``. If no process can be started, the
        only answer is `Done`.
        """
        request = replace(request, id=next(self._numbers))
        waiting = {target.key: target for target in request.targets}
        for is_last in (False, True):  # the first process may die of something else, e.g. a package that it preloads
            try:
                process = await self._ready()
            except AgentFailed:
                yield Done(request.id)
                return
            self._note_busy(+1)
            try:
                async with contextlib.aclosing(process.ask(request)) as answers:
                    async for answer in answers:
                        if isinstance(answer, Report):
                            waiting.pop(answer.target, None)
                            yield answer
                        elif isinstance(answer, Done):
                            self._deaths = 0
                            yield answer
                return
            except AgentFailed as error:
                if self._closed:
                    yield Done(request.id, cancelled=True)
                    return
                await self._bury(process)
                if is_last:
                    for key in waiting:
                        yield Report(request.id, key, "crashed", (Failure("crash", str(error)),))
                    yield Done(request.id)
                    return
            finally:
                self._note_busy(-1)
            # If every report has come, one is asked for again: what it depends on was not reported.
            left = tuple(waiting.values()) or request.targets[-1:]
            request = replace(request, id=next(self._numbers), targets=left)

    async def describe(self, request: Trace) -> AsyncGenerator[Details, None]:
        """The `Details` of each target whose trace succeeded or failed. Closing the iterator cancels the request.

        Raises nothing: if no process can be started, or if the process dies, the iterator ends.
        """
        request = replace(request, id=next(self._numbers), details=True)
        async with contextlib.aclosing(self._answers(request)) as answers:
            async for answer in answers:
                if isinstance(answer, Details):
                    yield answer

    async def count(self, request: Trace) -> AsyncGenerator[Costs, None]:
        """The `Costs` of each target that can be traced. Closing the iterator cancels the request.

        Raises nothing: if no process can be started, or if the process dies, the iterator ends.
        """
        request = replace(request, id=next(self._numbers), costs=True)
        async with contextlib.aclosing(self._answers(request)) as answers:
            async for answer in answers:
                if isinstance(answer, Costs):
                    yield answer

    async def prove(self, request: Prove) -> Proof:
        """Try an edit on one target. Cancelling the task cancels the request.

        Raises nothing, whatever the code or the agent does: if no answer comes, the verdict is ``untried``.
        """
        request = replace(request, id=next(self._numbers))
        proof = Proof(request.id, "untried", "no tracing process is running")
        async with contextlib.aclosing(self._answers(request)) as answers:
            async for answer in answers:
                proof = answer if isinstance(answer, Proof) else proof
        return proof

    async def preload(self, request: Preload) -> None:
        """Have the process, which is started if there is none, import modules that it will need. Raises nothing."""
        with contextlib.suppress(AgentFailed):
            (await self._ready()).send(request)

    def release(self, file: str) -> None:
        """Have the process, if there is one, end those that it has kept for a file."""
        if self._process is not None and not self._process.dead:
            self._process.send(Release(file))

    async def close(self) -> None:
        """Stop the process and everything that it runs, and wait until it is gone. Open requests are cancelled."""
        self._closed = True
        # Reported at once: when the process is gone, the state of its successor may already have been reported.
        self._set_state(AgentState("stopped"))
        if self._launch is not None:
            self._launch.cancel()
            await asyncio.wait([self._launch])
        if self._process is not None:
            process, self._process = self._process, None
            await process.close()

    async def _ready(self) -> AgentProcess:
        """The process, started if necessary. Raises AgentFailed if none can be started."""
        if self._process is not None and self._process.dead:
            await self._bury(self._process)
        while self._process is None and not self._closed and self._may_start():
            # All requests that are waiting share this start, so it continues if one of them is cancelled.
            self._launch = self._launch or asyncio.create_task(self._start())
            await asyncio.wait([self._launch])
        if self._process is None:
            raise AgentFailed(self.state.problem)
        return self._process

    async def _answers(self, request: Trace | Prove) -> AsyncGenerator[Answer, None]:
        """The answers to a request. They end early if no process can be started, or if the process dies."""
        process = None
        try:
            process = await self._ready()
            async with contextlib.aclosing(process.ask(request)) as answers:
                async for answer in answers:
                    yield answer
        except AgentFailed:
            if process is not None and not self._closed:
                await self._bury(process)

    def _may_start(self) -> bool:
        """Whether to start a process that is needed, or to wait for one that is being started."""
        if self.state.phase == "failed":
            return asyncio.get_running_loop().time() >= self._retry_at
        return self.state.phase != "no-torch"

    async def _start(self) -> None:
        self._retry_at = math.inf
        try:
            if self._deaths >= len(BACK_OFF_SECONDS):
                raise AgentFailed(f"The tracing process died {self._deaths} times in a row.")
            self._set_state(AgentState("starting"))
            await asyncio.sleep(BACK_OFF_SECONDS[self._deaths])
            process = await AgentProcess.start(
                self._python, cwd=self._cwd, env=self._env, log=self._log, urgency=self._urgency
            )
        except AgentKilled:
            self._deaths += 1
            self._set_state(AgentState("stopped"))
            return
        except AgentFailed as error:
            if isinstance(error, AgentNotSpawned):
                self._retry_at = asyncio.get_running_loop().time() + RETRY_SECONDS
            self._set_state(AgentState("failed", problem=str(error)))
            return
        finally:
            self._launch = None
        if process.hello.problem is None:
            self._process = process
            self._set_state(AgentState("ready", process.hello))
        else:
            self._set_state(AgentState("no-torch", process.hello, process.hello.problem))
            await process.close()

    async def _bury(self, process: AgentProcess) -> None:
        """Record the death of ``process``: once, however many requests notice it."""
        if self._process is process:
            self._process = None
            self._deaths += 1
            await process.kill()
            self._set_state(AgentState("stopped", process.hello))

    def _note_busy(self, change: int) -> None:
        self._busy += change
        if self.state.phase in ("ready", "busy"):
            self._set_state(replace(self.state, phase="busy" if self._busy else "ready"))

    def _set_state(self, state: AgentState) -> None:
        if state != self.state:
            self.state = state
            self._on_state(state)
