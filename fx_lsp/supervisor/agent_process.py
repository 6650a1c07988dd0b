"""One run of an agent: its process in the user's Python, the messages to and from it, and its last output.

The agent's code is in ``fx_lsp/agent``; the server loads only three of its modules: ``messages.py``, ``wire.py`` and
``processes/patience.py``.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import shutil
import signal
import tempfile
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from fx_lsp.agent.messages import (
    PROTOCOL,
    Cancel,
    Costs,
    Details,
    Done,
    Heartbeat,
    Hello,
    Message,
    Proof,
    Prove,
    Report,
    Trace,
    Urgency,
)
from fx_lsp.agent.processes.patience import SLEEP_FACTOR, Patience
from fx_lsp.agent.wire import HEADER, body_length, decode, encode
from fx_lsp.locations import AGENT_FOLDER, FXCORE_FOLDER
from fx_lsp.supervisor.agent_environment import without_secrets
from fx_lsp.supervisor.process_ending import end_agent

LOAD = """
import sys
if sys.path[:1] == [""]:
    del sys.path[0]
if sys.version_info < (3, 10):
    sys.exit("Tracing needs Python 3.10 or later, but this is Python %d.%d." % sys.version_info[:2])
from importlib.util import module_from_spec, spec_from_file_location
package = sys.modules["fx_lsp"] = type(sys)("fx_lsp")
package.__path__ = []
spec = spec_from_file_location("fx_lsp.agent", sys.argv[1] + "/__init__.py")
agent = sys.modules["fx_lsp.agent"] = package.agent = module_from_spec(spec)
spec.loader.exec_module(agent)
"""
"""The beginning of every program that the user's Python runs. Its first argument is the folder of fx_lsp.agent.

It makes ``fx_lsp.agent`` importable, and nothing else from the folder that contains it. It removes the current folder
from ``sys.path``, so that a user's ``json.py`` can't replace the standard library's in the agent; the code that imports
the user's files adds their folders.
"""

BOOT = f"""{LOAD}
from fx_lsp.agent.serving.agent_main import main
main(*sys.argv[2:])
"""
"""The agent. Its arguments are the folders of fx_lsp.agent, fxcore and scratch files, and its `Urgency`."""

REPRODUCIBLE = {"PYTHONHASHSEED": "0"}
"""Environment variables of every agent, unless the user sets them. They fix the order of sets, so that all agents
report the same."""

START_SECONDS = 100.0
"""How long an agent may take to send its `Hello`, as `Patience` counts it: it imports torch, perhaps from a cold disk
while other agents do the same."""

SILENT_SECONDS = 60.0
"""How long an agent may be silent about a request before it counts as hung, as `Patience` counts it: however long the
agent waits for a processor. It sends a heartbeat every second, but not while it imports a package."""

CLOSE_SECONDS = 3.0
"""How long an agent may take to exit when its input is closed, and when it is killed."""

LAST_WORDS = 20
"""How many of the last lines of an agent's standard error are kept."""

LOGGED_LINES = 500
"""How many lines of standard error are logged for one request; the user's code may print without end."""

LONGEST_LINE = 2000
"""How many characters of a line of standard error are kept."""


T = TypeVar("T")

Answer = Report | Details | Costs | Proof | Heartbeat | Done
"""An answer to a request."""


class AgentFailed(Exception):
    """An agent could not be started, died, or sent something invalid. The message is for the user."""


class AgentNotSpawned(AgentFailed):
    """The system could not start the agent's process, e.g. for lack of memory or of the executable; that may change."""


class AgentKilled(AgentFailed):
    """A signal ended the agent, which may not happen to the next agent."""


class AgentProcess:
    """A running agent. `start` makes one."""

    def __init__(self, process: Process, scratch: str, log: Callable[[str], None]) -> None:
        self._process = process
        self._scratch = scratch
        self._log = log
        self._answers: dict[int, asyncio.Queue[Answer | None]] = {}
        """The answers to each open request, by its id; None marks their end."""
        self._last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._lines_to_log = LOGGED_LINES
        self._tasks = [asyncio.create_task(self._listen_to_stderr())]
        self.dead = False
        """Whether the agent has stopped answering requests."""
        self.hello: Hello
        self._is_ready = False

    @classmethod
    async def start(
        cls,
        python: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None,
        log: Callable[[str], None],
        urgency: Urgency = "background",
    ) -> AgentProcess:
        """Start an agent and wait for its `Hello`. Raises AgentFailed if it does not start.

        If ``cwd`` does not exist (yet), the agent works in the nearest folder above it that does. ``env`` is set in
        addition to the environment variables that the agent inherits. ``urgency`` says whether the agent gives way to
        other processes.
        """
        environ = {**REPRODUCIBLE, **without_secrets(os.environ), **(env or {})}
        scratch = ""
        try:
            scratch = tempfile.mkdtemp(prefix="fx-lsp-")
            arguments = ("-X", "utf8", "-u", "-c", BOOT, str(AGENT_FOLDER), str(FXCORE_FOLDER), scratch, urgency)
            process = await asyncio.create_subprocess_exec(
                *(*python, *arguments),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=next(filter(Path.is_dir, (cwd, *cwd.parents)), None),
                env=environ,
                start_new_session=True,
            )
        except BaseException as error:
            shutil.rmtree(scratch, ignore_errors=True)
            if isinstance(error, OSError):
                raise AgentNotSpawned(f"{' '.join(python)} can't be run: {error.strerror}.") from error
            raise
        self = cls(process, scratch, log)
        try:
            self.hello = await self._patiently(self._hello(), START_SECONDS)
            self._is_ready = True
        except BaseException as error:
            await self.kill()
            if isinstance(error, asyncio.TimeoutError):
                problem = f"The tracing process did not start within {START_SECONDS * SLEEP_FACTOR:g} seconds."
                raise AgentFailed(problem) from error
            raise
        self._tasks.append(asyncio.create_task(self._listen()))
        return self

    async def ask(self, request: Trace | Prove) -> AsyncGenerator[Answer, None]:
        """The answers to ``request``, ending with `Done`. Closing the iterator early cancels the request.

        Raises AgentFailed if the agent dies or hangs.
        """
        answers = self._answers[request.id] = asyncio.Queue()
        self._lines_to_log = LOGGED_LINES
        done = False
        try:
            self.send(request)
            while not done:
                answer = await self._next(answers)
                done = isinstance(answer, Done)
                if not isinstance(answer, Heartbeat):
                    yield answer
        finally:
            del self._answers[request.id]
            if not done and not self.dead:
                self.send(Cancel(request.id))

    async def close(self) -> None:
        """Close the agent's input, and wait until the agent and its children are gone."""
        self.dead = True
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), CLOSE_SECONDS)
        await self.kill()

    async def kill(self) -> None:
        """End the agent at once; open requests end with AgentFailed."""
        self.dead = True
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                end_agent(self._process.pid)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), CLOSE_SECONDS)
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        for answers in self._answers.values():
            answers.put_nowait(None)
        with contextlib.suppress(RecursionError):  # the agent removes folders that a trace has nested too deeply
            await asyncio.to_thread(shutil.rmtree, self._scratch, ignore_errors=True)

    async def _next(self, answers: asyncio.Queue[Answer | None]) -> Answer:
        try:
            answer = await self._patiently(answers.get(), SILENT_SECONDS)
        except asyncio.TimeoutError:
            seconds = SILENT_SECONDS * SLEEP_FACTOR
            problem = f"The tracing process was terminated because it did not respond for {seconds:g} seconds."
            self._log(problem)
            await self.kill()
            raise AgentFailed(problem) from None
        if answer is None:
            raise AgentFailed(self._obituary())
        return answer

    async def _patiently(self, answer: Coroutine[object, object, T], seconds: float) -> T:
        """What the agent answers. Raises asyncio.TimeoutError if the agent uses up ``seconds`` first."""
        patience = Patience(self._process.pid, seconds)
        waiting = asyncio.ensure_future(answer)
        try:
            while not waiting.done() and (left := patience.left()):
                await asyncio.wait([waiting], timeout=left)
            if not waiting.done():
                raise asyncio.TimeoutError
            return waiting.result()
        finally:
            waiting.cancel()

    def send(self, message: Message) -> None:
        """Send a message to which no answer is expected."""
        assert self._process.stdin is not None
        self._process.stdin.write(encode(message))

    async def _read(self) -> Message:
        """The next message. Raises AgentFailed if there is none or it is invalid."""
        assert self._process.stdout is not None
        try:
            header = await self._process.stdout.readexactly(HEADER.size)
            message: Message = decode(await self._process.stdout.readexactly(body_length(header)))
            return message
        except (asyncio.IncompleteReadError, ConnectionError):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), CLOSE_SECONDS)
            is_killed = (self._process.returncode or 0) < 0
            raise (AgentKilled if is_killed else AgentFailed)(self._obituary()) from None
        except ValueError as error:
            raise AgentFailed(f"The tracing process sent an invalid message: {error}.") from error

    async def _hello(self) -> Hello:
        hello = await self._read()
        if not isinstance(hello, Hello):
            raise AgentFailed(f"The tracing process sent {type(hello).__name__} before Hello.")
        if hello.protocol != PROTOCOL:
            raise AgentFailed(
                f"The tracing process uses version {hello.protocol} of the protocol and the server uses {PROTOCOL}, so "
                "they belong to different installations of fx-lsp."
            )
        return hello

    async def _listen(self) -> None:
        """Pass each answer on to its request, until no more answers come."""
        try:
            while True:
                message = await self._read()
                if isinstance(message, Answer) and message.id in self._answers:
                    self._answers[message.id].put_nowait(message)
        except AgentFailed as error:
            if not self.dead:
                self._log(str(error))
            await self.kill()

    async def _listen_to_stderr(self) -> None:
        assert self._process.stderr is not None
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        while data := await self._process.stderr.read(1 << 16):
            *lines, rest = (rest + decoder.decode(data)).split("\n")
            if len(rest) > LONGEST_LINE:
                lines, rest = [*lines, rest], ""
            for line in lines:
                self._note(line.rstrip("\r")[:LONGEST_LINE])
        if rest:
            self._note(rest)

    def _note(self, line: str) -> None:
        self._last_words.append(line)
        self._lines_to_log -= 1
        if self._lines_to_log >= 0:
            self._log(line)
        elif self._lines_to_log == -1:
            self._log("… (further output is not shown)")

    def _obituary(self) -> str:
        """How the agent ended and, if it was never ready, its last line of output.

        Once the agent is ready, its output may come from the user's code.
        """
        code = self._process.returncode
        if code is None:
            ending = "closed its connection"
        elif code < 0:
            ending = f"was terminated by {signal.Signals(-code).name}"
        else:
            ending = f"exited with status {code}"
        words = [line for line in self._last_words if line.strip()] if not self._is_ready else []
        return f"The tracing process {ending}" + (f": {words[-1].strip()}" if words else ".")
