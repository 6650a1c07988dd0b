"""The server's side: starting, cancelling, several requests at once, and agents that die, hang or can't be had."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import shlex
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from fx_lsp.agent.messages import Done, Hello, Limits, Preload, Prove, Report, Trace
from fx_lsp.agent.processes.priority import NICENESS
from fx_lsp.agent.wire import encode
from fx_lsp.supervisor import agent_process, supervised_agent
from fx_lsp.supervisor.agent_process import AgentFailed, AgentProcess, Answer
from tests.agent.client import Client, gone, printed_pid
from tests.agent.conftest import Connect

pytestmark = pytest.mark.asyncio(loop_scope="session")

HANG = "import os\n\ndef model(x):\n    print('pid', os.getpid(), flush=True)\n    while True: pass\n"


def agent_pid(client: Client) -> int:
    """The agent's process."""
    process = client.agent._process
    assert process is not None
    return process._process.pid


async def kill_at_work(client: Client) -> int:
    """Kill the agent once the traced code has printed the id of its process, which is returned."""
    pid = await printed_pid(client)
    client.log.clear()
    os.kill(agent_pid(client), signal.SIGKILL)
    return pid


async def test_states_on_the_way(connect: Connect) -> None:
    client = connect()
    file = client.write("net.py", "def model(x):\n    return x\n")
    assert (await client.trace(file, "model")).only.outcome == "traced"
    assert client.phases == ["starting", "ready", "busy", "ready"]
    hello = client.states[-1].hello
    assert hello is not None
    assert hello.torch is not None
    assert hello.executable == sys.executable
    pid = agent_pid(client)
    await client.agent.close()
    assert client.phases[-1] == "stopped"
    await gone(pid)


async def test_expected_packages_are_loaded_before_a_trace_needs_them(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "package_ahead.py").write_text("import os, sys\nprint('loaded in', os.getpid(), file=sys.stderr)\n")
    client = connect(env={"PYTHONPATH": str(tmp_path)})
    file = client.write("net.py", "import package_ahead\n\ndef model(x):\n    return x\n")
    client.write("own.py", "print('own code ran')\n")
    await client.agent.preload(Preload(file, ("own", "no_such_package", "package_ahead"), (str(client.root),)))

    async def loaded() -> None:
        while client.agent._process is None or f"loaded in {agent_pid(client)}" not in client.log:
            await asyncio.sleep(0.02)

    await asyncio.wait_for(loaded(), 60)
    client.log.clear()
    assert (await client.trace(file, "model")).only.outcome == "traced"
    assert not [line for line in client.log if "loaded in" in line or "own code" in line]


async def test_the_editor_goes_first(connect: Connect) -> None:
    client = connect()
    text = "import os\n\ndef model(x):\n    print('niceness', os.nice(0), flush=True)\n    return x\n"
    assert (await client.trace(client.write("net.py", text), "model")).only.outcome == "traced"
    niceness = max(NICENESS, os.nice(0))
    assert os.getpriority(os.PRIO_PROCESS, agent_pid(client)) == niceness
    assert f"niceness {niceness}" in client.log
    session = Path(f"/proc/{agent_pid(client)}/autogroup")
    if os.access(session, os.W_OK) and session.read_text():
        assert session.read_text().split()[-1] == str(NICENESS)


async def test_one_that_is_closed_says_so_before_the_next_one_can_say_anything(connect: Connect) -> None:
    client = connect()
    await client.trace(client.write("net.py", "def model(x):\n    return x\n"), "model")
    closing = asyncio.create_task(client.agent.close())
    await asyncio.sleep(0)  # its first step
    told = list(client.phases)
    await closing
    assert told == client.phases == ["starting", "ready", "busy", "ready", "stopped"]


async def test_the_current_folder_shows_the_workspace_and_takes_what_is_written(connect: Connect) -> None:
    client = connect()
    client.write("config/sizes.txt", "31")
    client.write("kept.txt", "as it was")
    file = client.write(
        "net.py",
        """
        import os
        size = int(open("config/sizes.txt").read())
        os.mkdir("runs")
        print("log", file=open("runs/log.txt", "w"))
        os.remove("kept.txt")

        def model(x):
            return x + size + len(open("runs/log.txt").read())
        """,
    )
    report = (await client.trace(file, "model")).only
    assert "x + 31" in report.code
    assert report.notices == ()
    assert sorted(path.name for path in client.root.iterdir()) == ["config", "kept.txt", "net.py"]


async def test_two_requests_at_once(client: Client) -> None:
    hanging = client.write("hang.py", HANG)
    file = client.write("net.py", "def model(x):\n    return x\n")
    stream = client.stream(hanging, "model", limits=Limits(seconds=600))
    first = asyncio.ensure_future(anext(stream))
    assert (await client.trace(file, "model")).only.outcome == "traced"
    assert not first.done()
    first.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await first
    await stream.aclose()


async def test_abandoning_a_request_ends_its_processes(client: Client) -> None:
    file = client.write("net.py", HANG + "\ndef good(x):\n    return x\n")
    stream = client.stream(file, "good", "model", limits=Limits(seconds=600))
    async with contextlib.aclosing(stream):
        report = await anext(stream)
        assert isinstance(report, Report)
        assert report.target == "good"
        pid = await printed_pid(client)
    await gone(pid)
    assert (await client.trace(file, "good")).only.outcome == "traced"
    assert client.agent.state.phase == "ready"


async def test_an_agent_killed_while_idle(connect: Connect) -> None:
    client = connect()
    file = client.write("net.py", "def model(x):\n    return x\n")
    assert (await client.trace(file, "model")).only.outcome == "traced"
    os.kill(agent_pid(client), signal.SIGKILL)
    await gone(agent_pid(client))
    assert (await client.trace(file, "model")).only.outcome == "traced"


async def test_an_agent_killed_at_work_costs_nothing(connect: Connect) -> None:
    client = connect()
    once = client.root / "was_here"
    text = (
        "import os\n\ndef model(x):\n    print('pid', os.getpid(), flush=True)\n"
        f"    while not os.path.exists({str(once)!r}): pass\n    return x\n"
    )
    trace = asyncio.ensure_future(client.trace(client.write("net.py", text), "model", limits=Limits(seconds=600)))
    pid = await printed_pid(client)
    once.touch()
    os.kill(agent_pid(client), signal.SIGKILL)
    assert (await trace).only.outcome == "traced"
    await gone(pid)


async def test_an_agent_killed_after_its_last_report_costs_nothing(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = connect()
    imported = client.write("imported.py", "def relu(x):\n    return x.relu()\n")
    file = client.write("net.py", "from imported import relu\n\ndef model(x):\n    return relu(x)\n")
    ask = AgentProcess.ask
    killed: list[AgentProcess] = []

    async def ask_until_done(self: AgentProcess, request: Trace | Prove) -> AsyncGenerator[Answer, None]:
        async for answer in ask(self, request):
            if isinstance(answer, Done) and not killed:
                killed.append(self)
                await self.kill()
                raise AgentFailed("killed")
            yield answer

    monkeypatch.setattr(AgentProcess, "ask", ask_until_done)
    answer = await client.trace(file, "model")
    assert killed
    assert answer.only.outcome == "traced"
    assert answer.done is not None
    assert imported in answer.done.dependencies


async def test_a_request_that_two_agents_die_of_is_reported_as_crashed(connect: Connect) -> None:
    client = connect()
    file = client.write("net.py", HANG + "\ndef good(x):\n    return x\n")
    stream = client.stream(file, "good", "model", limits=Limits(seconds=600))
    items: list[Report | Done] = []
    async with contextlib.aclosing(stream):
        async for item in stream:
            items.append(item)
            if len(items) == 1:
                await kill_at_work(client)
                killed = asyncio.create_task(kill_at_work(client))
    good, crashed, done = items
    assert isinstance(good, Report)
    assert isinstance(crashed, Report)
    assert isinstance(done, Done)
    assert (good.target, good.outcome) == ("good", "traced")
    assert (crashed.target, crashed.outcome) == ("model", "crashed")
    assert "SIGKILL" in crashed.failures[0].error
    await gone(await killed)
    assert (await client.trace(file, "good")).only.outcome == "traced"


async def test_a_hung_agent_is_replaced(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    client = connect()
    file = client.write("net.py", "def model(x):\n    return x\n")
    await client.agent.start()
    pid = agent_pid(client)
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(agent_process, "SILENT_SECONDS", 0.5)
    trace = asyncio.ensure_future(client.trace(file, "model"))
    await gone(pid)
    monkeypatch.undo()
    assert (await trace).only.outcome == "traced"
    assert any("did not respond for 1.5 seconds" in line for line in client.log)


async def test_an_agent_that_keeps_dying_is_given_up(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervised_agent, "BACK_OFF_SECONDS", (0.0, 0.0))
    client = connect()
    file = client.write("net.py", HANG)
    answer = asyncio.ensure_future(client.trace(file, "model", limits=Limits(seconds=600)))
    for _ in range(2):
        await kill_at_work(client)
    assert (await answer).only.outcome == "crashed"
    assert (await client.trace(file, "model")).reports == {}
    assert client.agent.state.phase == "failed"
    assert client.agent.state.problem == "The tracing process died 2 times in a row."


async def test_a_python_without_torch(connect: Connect) -> None:
    client = connect(sys.executable, "-S")
    file = client.write("net.py", "def model(x):\n    return x\n")
    for _ in range(2):
        assert (await client.trace(file, "model")).reports == {}
    assert client.phases == ["starting", "no-torch"]
    assert client.agent.state.problem == "torch is not installed in this Python."
    hello = client.agent.state.hello
    assert hello is not None
    assert (hello.torch, hello.executable) == (None, sys.executable)


async def test_a_torch_that_is_broken(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libtorch.so: cannot open shared object file')\n")
    client = connect(sys.executable, env={"PYTHONPATH": str(tmp_path)})
    await client.agent.start()
    assert client.agent.state.phase == "no-torch"
    assert "libtorch.so" in str(client.agent.state.problem)


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("exit 3", "exited with status 3"),
        ("echo 'no such version' >&2; exit 1", "no such version"),
        ("printf 'Welcome to this machine'", "sent an invalid message"),
        ("printf '\\000\\000\\000\\002{}'", "sent an invalid message"),
        ("printf '\\000\\000\\000\\377half'", "exited with status 0"),
    ],
)
async def test_a_python_that_is_none(connect: Connect, script: str, problem: str) -> None:
    client = connect("/bin/sh", "-c", f"{script} #")
    await client.agent.start()
    assert client.agent.state.phase == "failed"
    assert problem in str(client.agent.state.problem)


async def test_a_python_that_is_not_there(connect: Connect, tmp_path: Path) -> None:
    client = connect(str(tmp_path / "python"))
    await client.agent.start()
    assert client.agent.state.phase == "failed"
    assert "No such file" in str(client.agent.state.problem)


async def test_a_python_that_could_not_be_started_is_tried_again_a_while_later(
    connect: Connect, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    client = connect(str(python))
    file = client.write("net.py", "def model(x):\n    return x\n")
    for _ in range(2):
        assert (await client.trace(file, "model")).reports == {}
    assert client.phases == ["starting", "failed"], "not for each request"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    client.agent._retry_at = 0.0  # the while is over
    assert (await client.trace(file, "model")).only.outcome == "traced"
    assert client.phases[2:4] == ["starting", "ready"]


async def test_what_can_be_started_but_is_no_agent_is_not_tried_again(connect: Connect) -> None:
    client = connect("/bin/sh", "-c", "exit 3 #")
    await client.agent.start()
    assert client.agent._retry_at == math.inf


async def test_in_a_folder_that_is_not_there_yet_an_agent_starts_all_the_same(connect: Connect) -> None:
    client = connect()
    client.root.rmdir()
    await client.agent.start()
    assert client.agent.state.phase == "ready"
    file = client.write("net.py", "def model(x):\n    return x\n")
    assert (await client.trace(file, "model")).only.outcome == "traced"


async def test_an_agent_of_another_version(connect: Connect, tmp_path: Path) -> None:
    hello = tmp_path / "hello"
    hello.write_bytes(encode(Hello(99, "3.11", "python", "2.13", None)))
    client = connect("/bin/sh", "-c", f"cat {shlex.quote(str(hello))} #")
    await client.agent.start()
    assert client.agent.state.phase == "failed"
    assert "version 99" in str(client.agent.state.problem)


async def test_a_start_outlives_who_asked_for_it(connect: Connect) -> None:
    client = connect()
    file = client.write("net.py", "def model(x):\n    return x\n")
    impatient = asyncio.ensure_future(client.trace(file, "model"))
    while client.phases != ["starting"]:
        await asyncio.sleep(0)
    impatient.cancel()
    assert (await client.trace(file, "model")).only.outcome == "traced"
    assert client.phases.count("starting") == 1


async def test_closing_while_starting(connect: Connect) -> None:
    client = connect()
    file = client.write("net.py", "def model(x):\n    return x\n")
    request = asyncio.ensure_future(client.trace(file, "model"))
    while client.phases != ["starting"]:
        await asyncio.sleep(0)
    await client.agent.close()
    assert (await request).reports == {}
    assert client.phases == ["starting", "stopped"]


async def test_closing_while_at_work(connect: Connect) -> None:
    client = connect()
    file = client.write("net.py", HANG)
    request = asyncio.ensure_future(client.trace(file, "model", limits=Limits(seconds=600)))
    pid = await printed_pid(client)
    await client.agent.close()
    answer = await request
    assert answer.reports == {}
    assert answer.done is not None
    assert answer.done.cancelled
    await gone(pid)
    assert client.agent.state.phase == "stopped"
