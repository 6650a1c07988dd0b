"""How a session begins and ends, and what is said about settings and interpreters."""

import asyncio
import re
import signal
import sys
from pathlib import Path

import pytest
from lsprotocol import types

from tests.lsp.editor import PATIENCE, ROOT, SERVER, Editor
from tests.lsp.strict import StrictClient

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODEL = """\
import torch.fx

def f(x):
    return x / len(x)

torch.fx.symbolic_trace(f)
"""

BEGIN = {"kind": "begin", "title": "Tracing", "cancellable": True}

on_linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes in /proc")


def is_gone(process: int) -> bool:
    try:
        return ") Z" in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return True


async def gone(processes: list[int]) -> None:
    """Wait until processes that are not our children have ended."""

    async def poll() -> None:
        while not all(map(is_gone, processes)):
            await asyncio.sleep(0.05)

    await asyncio.wait_for(poll(), PATIENCE)


@on_linux
async def test_shutdown_then_exit_leaves_nothing_behind(folder: Path) -> None:
    editor = Editor(folder)
    async with editor.session():
        editor.open("net.py", MODEL)
        await editor.diagnostics("net.py")
        agents = editor.agents()
        assert agents
    assert editor.server.returncode == 0
    assert all(map(is_gone, agents))
    assert editor.client.messages == [], "no message box was shown"


async def test_exit_without_shutdown_is_an_error(folder: Path) -> None:
    editor = Editor(folder)
    await editor.start()
    editor.client.exit(None)
    assert await asyncio.wait_for(editor.server.wait(), PATIENCE) == 1


@on_linux
async def test_a_client_that_hangs_up_is_the_end(folder: Path) -> None:
    editor = Editor(folder)
    await editor.start()
    editor.open("net.py", MODEL)
    await editor.diagnostics("net.py")
    agents = editor.agents()
    assert editor.server.stdin is not None
    editor.server.stdin.close()
    assert await asyncio.wait_for(editor.server.wait(), PATIENCE) == 0
    await gone(agents)


@on_linux
async def test_agents_do_not_outlive_a_server_that_is_killed(folder: Path) -> None:
    editor = Editor(folder)
    await editor.start()
    editor.open("net.py", MODEL)
    await editor.diagnostics("net.py")
    agents = editor.agents()
    editor.server.send_signal(signal.SIGKILL)
    await gone(agents)


async def test_a_python_without_torch_is_named_once_and_in_no_message_box(folder: Path) -> None:
    async with Editor(folder).session(python=[sys.executable, "-S"]) as editor:
        for name in ("a.py", "b.py"):
            editor.open(name, MODEL)
            assert await editor.diagnostics(name) == []
        assert editor.statuses[-1].phase == "no-torch"
        (logged,) = editor.client.log_messages
        assert sys.executable in logged.message
        assert "torch" in logged.message
        assert editor.client.messages == []
        assert "not been traced" in await editor.hover("a.py", "f(x)")


async def test_another_interpreter_is_traced_with_from_then_on(folder: Path) -> None:
    async with Editor(folder).session(python=[sys.executable, "-S"]) as editor:
        editor.open("a.py", MODEL)
        assert await editor.diagnostics("a.py") == []
        editor.client.protocol.notify("fx/interpreterChanged", {"interpreter": [sys.executable]})
        await editor.until(lambda: bool(editor.published["a.py"].diagnostics))
        assert [status.torch for status in editor.statuses if status.phase == "ready"][-1]
        editor.client.protocol.notify("fx/interpreterChanged", {"interpreter": [sys.executable, "-S"]})
        await editor.until(lambda: not editor.published["a.py"].diagnostics)


async def test_a_notification_that_makes_no_sense_is_logged_and_shows_no_message_box(editor: Editor) -> None:
    editor.client.protocol.notify("fx/interpreterChanged", {"no": "interpreter"})
    editor.client.protocol.notify("fx/interpreterChanged", {"interpreter": "python"})
    editor.open("a.py", MODEL)
    assert await editor.diagnostics("a.py")
    assert editor.client.messages == []


async def test_the_interpreter_setting_takes_precedence_over_the_selected_one(folder: Path) -> None:
    settings = {"interpreter": [sys.executable]}
    async with Editor(folder).session(python=["/no/such/python"], settings=settings) as editor:
        editor.open("a.py", MODEL)
        assert len(await editor.diagnostics("a.py")) == 1


async def test_a_python_that_does_not_start_is_a_status_and_the_next_choice_is_tried(folder: Path) -> None:
    async with Editor(folder).session(python=["/no/such/python"]) as editor:
        editor.open("a.py", MODEL)
        assert await editor.diagnostics("a.py") == []
        assert editor.statuses[-1].phase == "failed"
        assert "/no/such/python" in editor.statuses[-1].message
        editor.client.set_configuration({"fxLsp": {"interpreter": [sys.executable]}})
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        await editor.until(lambda: bool(editor.published["a.py"].diagnostics))


async def test_an_invalid_setting_is_reported_once_and_its_default_is_used(folder: Path) -> None:
    async with Editor(folder).session(settings={"timeLimit": "long"}) as editor:
        editor.open("a.py", MODEL)
        assert len(await editor.diagnostics("a.py")) == 1
        assert [message.message for message in editor.client.messages] == [
            "fxLsp.timeLimit must be a number, so fx-lsp uses its default"
        ]


async def test_a_client_without_configuration_requests_sends_its_settings_itself(folder: Path) -> None:
    async with Editor(folder).session(settings={"hover": False}, pulls=False) as editor:
        editor.open("a.py", MODEL)
        assert len(await editor.diagnostics("a.py")) == 1
        assert await editor.hover("a.py", "f(x)") == ""
        pushed = {"fxLsp": {"interpreter": [sys.executable], "exclude": ["a.py"]}}
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(pushed))
        await editor.until(lambda: not editor.published["a.py"].diagnostics)


async def test_the_agent_can_be_restarted(editor: Editor) -> None:
    editor.open("a.py", MODEL)
    assert await editor.diagnostics("a.py")
    editor.statuses.clear()
    await editor.client.workspace_execute_command_async(types.ExecuteCommandParams("fxLsp.restartAgent", [{}]))
    await editor.until(lambda: [status.phase for status in editor.statuses][-1:] == ["ready"])
    assert "starting" in [status.phase for status in editor.statuses]


async def test_a_file_can_be_traced_from_scratch(editor: Editor) -> None:
    (editor.folder / "flag.txt").write_text("1")
    flag = "from pathlib import Path\n\nFLAG = int(Path(__file__).with_name('flag.txt').read_text())\n"
    text = f"import torch.fx\n{flag}def f(x):\n    return len(x) if FLAG else x\n\ntorch.fx.symbolic_trace(f)\n"
    editor.open("a.py", text)
    assert len(await editor.diagnostics("a.py")) == 1
    (editor.folder / "flag.txt").write_text("0")
    command = types.ExecuteCommandParams("fxLsp.traceFile", [editor.uri("a.py")])
    await editor.client.workspace_execute_command_async(command)
    await editor.until(lambda: not editor.published["a.py"].diagnostics and editor.published["a.py"].version == 1)
    for arguments in ([], [editor.uri("not_open.py")], [None]):
        await editor.client.workspace_execute_command_async(types.ExecuteCommandParams("fxLsp.traceFile", arguments))


async def test_a_long_trace_is_a_progress_that_can_be_cancelled(folder: Path) -> None:
    capabilities = {"window": {"workDoneProgress": True}, "textDocument": {"publishDiagnostics": {}}}
    client = StrictClient(folder, capabilities, {"timeLimit": 60})
    async with client.session():
        text = "import time\nimport torch.fx\n\ndef f(x):\n    time.sleep(600)\n\ntorch.fx.symbolic_trace(f)\n"
        document = {"uri": (folder / "a.py").as_uri(), "languageId": "python", "version": 1, "text": text}
        client.tell("textDocument/didOpen", {"textDocument": document})
        created = await client.until("window/workDoneProgress/create")
        await client.until("$/progress", lambda told: told["value"] == BEGIN)
        client.tell("window/workDoneProgress/cancel", created)
        await client.until("$/progress", lambda told: told["value"]["kind"] == "end")


async def test_documents_that_are_no_python_files_are_left_alone(editor: Editor) -> None:
    for uri, language in (("untitled:Untitled-1", "python"), (editor.uri("notes.md"), "markdown")):
        document = types.TextDocumentItem(uri, language, 1, MODEL)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        identifier = types.VersionedTextDocumentIdentifier(2, uri)
        change = types.TextDocumentContentChangeWholeDocument(MODEL)
        editor.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
        editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
    editor.open("a.py", MODEL)
    assert await editor.diagnostics("a.py")
    assert list(editor.published) == ["a.py"]


async def test_it_serves_over_tcp(folder: Path) -> None:
    server = await asyncio.create_subprocess_exec(
        *SERVER, "--tcp", "127.0.0.1:0", stderr=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert server.stderr is not None
    said = await asyncio.wait_for(server.stderr.readline(), PATIENCE)
    port = re.search(rb"127\.0\.0\.1:(\d+)", said)
    assert port is not None
    editor = Editor(folder)
    await editor.client.start_tcp("127.0.0.1", int(port[1]))
    await editor.client.initialize_session(
        types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=folder.as_uri())
    )
    await asyncio.wait_for(editor.client.shutdown_async(None), PATIENCE)
    editor.client.exit(None)
    assert await asyncio.wait_for(server.wait(), PATIENCE) == 0
