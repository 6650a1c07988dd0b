"""Code that hangs, exits, crashes, eats memory or talks too much harms one trace: its own."""

from __future__ import annotations

import pytest

from fx_lsp.agent.messages import Limits
from tests.agent.client import ENDLESS, Client, failing_text, text_at

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHORT = Limits(seconds=1.0, memory_mb=512)

GOOD = "\n\ndef good(x):\n    return x.cos()\n"


@pytest.mark.parametrize("body", ["while True: pass", "import time; time.sleep(1000)", "for _ in iter(int, 1): pass"])
async def test_a_hang_in_a_forward(client: Client, body: str) -> None:
    file = client.write("net.py", f"def model(x):\n    {body}\n{GOOD}")
    reports = (await client.trace(file, "model", "good", limits=SHORT)).reports
    assert reports["good"].outcome == "traced"
    assert reports["model"].outcome == "timed-out"
    (failure,) = reports["model"].failures
    assert failure.kind == "time-limit"
    assert failure.chain[0].name == "model"
    assert failure.chain[-1].span.line == 2


async def test_a_hang_that_catches_everything(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        def model(x):
            while True:
                try:
                    while True: pass
                except BaseException:
                    pass
        """,
    )
    report = (await client.trace(file, "model", limits=SHORT)).only
    assert report.outcome == "timed-out"
    assert report.failures[0].chain[-1].span.line == 5


async def test_a_hang_that_no_signal_interrupts(client: Client) -> None:
    file = client.write(
        "net.py",
        f"""
        import signal

        def model(x):
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            while True: pass
        {GOOD}
        """.replace("\n\ndef good(x):\n    return", "\n        def good(x):\n            return"),
    )
    reports = (await client.trace(file, "model", "good", limits=SHORT)).reports
    assert reports["model"].outcome == "timed-out"
    assert failing_text(reports["model"]) == ENDLESS
    assert reports["good"].outcome == "traced"


async def test_a_crash_behind_a_form_feed_in_unsaved_text(client: Client) -> None:
    file = client.write("net.py", "")
    text = "import os\x0c\r\n\x0c\r\ndef model(x):\r\n    os.abort()\r\n"
    report = (await client.trace(file, "model", overlays={file: text})).only
    span = report.failures[0].chain[-1].span
    assert (span.line, span.col, span.end_col) == (4, 4, 14)


@pytest.mark.parametrize("block", ["", "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])"])
async def test_a_hang_at_import(client: Client, block: str) -> None:
    client.write("package/__init__.py", "")
    file = client.write("package/net.py", "from . import helpers\n")
    client.write("package/helpers.py", f"{block}\ndef spin():\n    while True: pass\nvalue = spin()\nother = spin()\n")
    reports = (await client.trace(file, "one", "two", limits=SHORT)).reports
    assert {report.outcome for report in reports.values()} == {"timed-out"}
    for report in reports.values():
        assert text_at(report.failures[0].chain[-1]) == ENDLESS


async def test_memory_eaten_by_a_constructor(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        import torch

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.pages = []
                while True:
                    self.pages.append(bytearray(1 << 24))

        class Tensors(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.arange(1 << 40)

        def good(x):
            return x.cos()
        """,
    )
    limits = Limits(seconds=60, memory_mb=512)
    reports = (await client.trace(file, "Net()", "Tensors()", "good", limits=limits)).reports
    assert reports["Net()"].outcome == reports["Tensors()"].outcome == "out-of-memory"
    assert failing_text(reports["Net()"]) == "bytearray(1 << 24)"
    assert failing_text(reports["Tensors()"]) == "torch.arange(1 << 40)"
    assert reports["good"].outcome == "traced"


@pytest.mark.parametrize(
    ("body", "ending", "placed"),
    [
        ("os._exit(0)", "exited with status 0", False),
        ("os._exit(7)", "exited with status 7", False),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV", True),
        ("os.abort()", "SIGABRT", True),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL", False),
    ],
)
async def test_a_crash(client: Client, body: str, ending: str, placed: bool) -> None:
    file = client.write("net.py", f"import os, signal\n\ndef model(x):\n    {body}\n{GOOD}")
    reports = (await client.trace(file, "model", "good")).reports
    assert reports["model"].outcome == "crashed"
    assert ending in reports["model"].failures[0].error
    assert not placed or failing_text(reports["model"]) == body
    assert reports["good"].outcome == "traced"
    client.write("net.py", f"import os, signal\n{body}\n")
    reports = (await client.trace(file, "model", "good")).reports
    assert {report.outcome for report in reports.values()} == {"crashed"}
    assert all(ending in report.failures[0].error for report in reports.values())
    assert not placed or {failing_text(report) for report in reports.values()} == {body}


async def test_an_exit_while_tracing(client: Client) -> None:
    file = client.write("net.py", "import sys\n\ndef model(x):\n    sys.exit('enough')\n")
    report = (await client.trace(file, "model")).only
    assert report.outcome == "failed"
    assert report.failures[0].error == "SystemExit: enough"
    assert failing_text(report) == "sys.exit('enough')"


async def test_nothing_that_is_printed_reaches_the_channel(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        import os
        import sys

        print("printed é")
        os.write(1, b"\\x00\\x00\\x00\\x05written\\n")
        sys.__stdout__.write("to the original\\n")
        assert sys.stdin.read() == ""

        def model(x):
            print(x)
            return x
        """,
    )
    assert (await client.trace(file, "model")).only.outcome == "traced"
    file = client.write("quiet.py", GOOD)
    assert (await client.trace(file, "good")).only.outcome == "traced"
    logged = "\n".join(client.log)
    for text in ("printed é", "written", "to the original"):
        assert text in logged


async def test_writing_to_every_open_descriptor(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        import os

        def model(x):
            for fd in range(3, 256):
                try:
                    os.write(fd, b"garbage" * 100)
                except OSError:
                    pass
            return x

        def good(x):
            return x.cos()
        """,
    )
    reports = (await client.trace(file, "model")).reports
    assert reports["model"].outcome == "crashed"
    assert (await client.trace(file, "good")).only.outcome == "traced"


async def test_endless_printing_is_cut(client: Client) -> None:
    file = client.write("net.py", f"for i in range(100_000): print(i)\n{GOOD}")
    assert (await client.trace(file, "good")).only.outcome == "traced"
    assert len(client.log) < 1000
    assert "further output is not shown" in client.log[-1]
