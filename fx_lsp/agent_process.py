"""One run of an agent: its process in the user's Python, the messages to and from it, and its last words.

What an agent does is in ``fx_lsp/agent``; all that the two sides share is ``messages.py`` and
``wire.py`` there.
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
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path

from fx_lsp.agent.messages import (
    PROTOCOL,
    Cancel,
    Details,
    Done,
    Hello,
    Message,
    Proof,
    Prove,
    Report,
    Trace,
    Waiting,
)
from fx_lsp.agent.wire import HEADER, decode, encode, length
from fx_lsp.agent_environment import without_secrets

BOOT = """
import sys
if sys.path[:1] == [""]:
    del sys.path[0]
if sys.version_info < (3, 10):
    sys.exit("Tracing needs Python 3.10 or later, and this is Python %d.%d." % sys.version_info[:2])
from importlib.util import module_from_spec, spec_from_file_location
package = sys.modules["fx_lsp"] = type(sys)("fx_lsp")
package.__path__ = []
spec = spec_from_file_location("fx_lsp.agent", sys.argv[1] + "/__init__.py")
agent = sys.modules["fx_lsp.agent"] = package.agent = module_from_spec(spec)
spec.loader.exec_module(agent)
from fx_lsp.agent.main import main
main(*sys.argv[2:])
"""
"""What the user's Python is told to run, with the folders of fx_lsp.agent, of fxcore and for scratch as arguments.

It makes ``fx_lsp.agent`` importable, and nothing else of where that lies. The current folder leaves ``sys.path``, so
that a ``json.py`` of the user's can't take the standard library's place here; whatever imports the user's files puts
their folders there.
"""

REPRODUCIBLE = {"PYTHONHASHSEED": "0"}
"""Variables that have every agent find the same, unless they are set to something else: sets are in the same order."""

AGENT_FOLDER = Path(__file__).parent / "agent"
FXCORE_FOLDER = Path(__file__).parent.parent / "fxcore"

START_SECONDS = 120.0
"""How long an agent may take to say hello: it imports torch, perhaps from a cold disk."""

SLACK_SECONDS = 10.0
"""How much longer than a request's own limit an agent may be silent about it before it counts as hung."""

CLOSE_SECONDS = 3.0
"""How long an agent may take to leave when it is hung up on, and to be gone when it is killed."""

LAST_WORDS = 20
"""Lines kept of what an agent writes to standard error."""

LOGGED_LINES = 500
"""Lines of it that are logged for one request; the user's code may print for ever."""

LONGEST_LINE = 2000
"""Characters kept of one such line."""


Answer = Report | Details | Proof | Waiting | Done
"""What a request is answered with."""


class AgentFailed(Exception):
    """An agent could not be started, died, or made no sense. The text is one for people."""


class AgentKilled(AgentFailed):
    """A signal has ended it, so that another one may well live."""


class AgentProcess:
    """A running agent. `start` makes one."""

    def __init__(self, process: Process, scratch: str, log: Callable[[str], None]) -> None:
        self._process = process
        self._scratch = scratch
        self._log = log
        self._answers: dict[int, asyncio.Queue[Answer | None]] = {}
        """For each open request what has come for it; None when nothing else will."""
        self._last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._lines_to_log = LOGGED_LINES
        self._tasks = [asyncio.create_task(self._listen_to_stderr())]
        self.dead = False
        """It can't be asked any more."""
        self.hello: Hello

    @classmethod
    async def start(
        cls, python: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None, log: Callable[[str], None]
    ) -> AgentProcess:
        """Start an agent and hear its hello. Raises AgentFailed.

        ``env`` is set beside what it inherits.
        """
        scratch = tempfile.mkdtemp(prefix="fx-lsp-")
        arguments = ("-X", "utf8", "-u", "-c", BOOT, str(AGENT_FOLDER), str(FXCORE_FOLDER), scratch)
        environ = {**REPRODUCIBLE, **without_secrets(os.environ), **(env or {})}
        try:
            process = await asyncio.create_subprocess_exec(
                *python, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=cwd, env=environ, start_new_session=True
            )
        except BaseException as error:
            shutil.rmtree(scratch, ignore_errors=True)
            if isinstance(error, OSError):
                raise AgentFailed(f"{' '.join(python)} can't be run: {error.strerror}.") from error
            raise
        self = cls(process, scratch, log)
        try:
            self.hello = await asyncio.wait_for(self._hello(), START_SECONDS)
        except BaseException as error:
            await self.kill()
            if isinstance(error, asyncio.TimeoutError):
                raise AgentFailed(f"It didn't start within {START_SECONDS:g} seconds.") from error
            raise
        self._tasks.append(asyncio.create_task(self._listen()))
        return self

    async def ask(self, request: Trace | Prove) -> AsyncGenerator[Answer, None]:
        """The answers to ``request``, `Done` the last. Raises AgentFailed; closed early, it cancels the request."""
        answers = self._answers[request.id] = asyncio.Queue()
        self._lines_to_log = LOGGED_LINES
        done = False
        try:
            self._send(request)
            while not done:
                answer = await self._next(answers, request.limits.seconds + SLACK_SECONDS)
                done = isinstance(answer, Done)
                if not isinstance(answer, Waiting):
                    yield answer
        finally:
            del self._answers[request.id]
            if not done and not self.dead:
                self._send(Cancel(request.id))

    async def close(self) -> None:
        """Hang up, and wait until the agent and its children are gone."""
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
                if os.name == "posix":
                    _end_traces(self._process.pid)
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), CLOSE_SECONDS)
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self._end_requests()
        with contextlib.suppress(RecursionError):  # it is for the agent to remove what a trace has nested
            await asyncio.to_thread(shutil.rmtree, self._scratch, ignore_errors=True)

    async def _next(self, answers: asyncio.Queue[Answer | None], patience: float) -> Answer:
        try:
            answer = await asyncio.wait_for(answers.get(), patience)
        except asyncio.TimeoutError:
            await self.kill()
            raise AgentFailed(f"The agent was silent for {patience:g} seconds and was ended.") from None
        if answer is None:
            raise AgentFailed(self._obituary())
        return answer

    def _send(self, message: Message) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(encode(message))

    async def _read(self) -> Message:
        """The next message. Raises AgentFailed where it ends or makes no sense."""
        assert self._process.stdout is not None
        try:
            header = await self._process.stdout.readexactly(HEADER.size)
            message: Message = decode(await self._process.stdout.readexactly(length(header)))
            return message
        except (asyncio.IncompleteReadError, ConnectionError):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), CLOSE_SECONDS)
            is_killed = (self._process.returncode or 0) < 0
            raise (AgentKilled if is_killed else AgentFailed)(self._obituary()) from None
        except ValueError as error:
            raise AgentFailed(f"The agent made no sense: {error}.") from error

    async def _hello(self) -> Hello:
        hello = await self._read()
        if not isinstance(hello, Hello):
            raise AgentFailed(f"The agent said {type(hello).__name__} before hello.")
        if hello.protocol != PROTOCOL:
            raise AgentFailed(
                f"The agent speaks version {hello.protocol} of the protocol and the server version {PROTOCOL}: "
                "they come from two installations of fx-lsp."
            )
        return hello

    async def _listen(self) -> None:
        """Hand each answer to who asked, until there are no more."""
        try:
            while True:
                message = await self._read()
                if isinstance(message, Answer) and message.id in self._answers:
                    self._answers[message.id].put_nowait(message)
        except AgentFailed as error:
            if not self.dead:
                self._log(str(error))
            await self.kill()

    def _end_requests(self) -> None:
        for answers in self._answers.values():
            answers.put_nowait(None)

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
            self._log("… more was printed than is shown here")

    def _obituary(self) -> str:
        """How the agent ended, and the last that it said."""
        code = self._process.returncode
        if code is None:
            ending = "closed its channel"
        elif code < 0:
            ending = f"was ended by {signal.Signals(-code).name}"
        else:
            ending = f"exited with status {code}"
        words = [line for line in self._last_words if line.strip()]
        return f"The agent {ending}" + (f": {words[-1].strip()}" if words else ".")


def _end_traces(agent: int) -> None:
    """End the process groups of an agent's traces, which it is stopped for: when it is gone, nobody knows of them."""
    os.kill(agent, signal.SIGSTOP)
    with contextlib.suppress(OSError):  # Linux alone tells
        for child in Path(f"/proc/{agent}/task/{agent}/children").read_text().split():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(int(child), signal.SIGKILL)
