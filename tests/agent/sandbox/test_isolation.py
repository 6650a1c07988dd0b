"""What traced code is kept from. What code that is out to do harm does against it: tests/lsp/test_hostile.py."""

from __future__ import annotations

import ast
import sys
import tempfile
from pathlib import Path

import pytest

from fx_lsp.agent.sandbox import confinement, seccomp
from tests.agent.client import Client, gone, text_at
from tests.agent.conftest import Connect

pytestmark = pytest.mark.asyncio(loop_scope="session")

TRIES = """
    import os
    import socket
    import subprocess
    from pathlib import Path

    tries = []
    for attempt in (
        lambda: Path("{outside}").write_text("gone"),
        lambda: subprocess.run(["true"]),
        lambda: socket.create_connection(("127.0.0.1", 9)),
        lambda: os.kill(os.getppid(), 9),
    ):
        try:
            tries.append(attempt())
        except PermissionError as error:
            tries.append(str(error))

    def model(x):
        print(*tries, sep="\\n", flush=True)
        return x
"""

DENIED = ["writing to {outside}", "starting a process", "using the network", "signaling another process"]


@pytest.mark.parametrize("without", ["", "landlock", "seccomp", "landlock,seccomp", "fork", "fork,landlock,seccomp"])
async def test_the_audit_hook_alone_denies_as_much(connect: Connect, tmp_path: Path, without: str) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("as it was")
    client = connect(env={"FX_LSP_WITHOUT": without})
    client.write("package/__init__.py", "")
    file = client.write("package/net.py", TRIES.format(outside=outside))
    report = (await client.trace(file, "model")).only
    assert report.outcome == "traced"
    denied = [words.format(outside=outside) for words in DENIED]
    assert [line for line in client.log if "allowed" in line] == [
        f"{words} is not allowed while tracing" for words in denied
    ]
    assert [notice.error for notice in report.notices] == denied
    assert {notice.kind for notice in report.notices} == {"denied"}
    assert text_at(report.notices[1].chain[-1]) == 'subprocess.run(["true"])'
    assert outside.read_text() == "as it was"
    beginnings = ("This system cannot fork", "Landlock ", "seccomp ")
    missing = [sentence for sentence in client.log if sentence.startswith(beginnings)]
    assert len(missing) == (0 if not without else len(without.split(",")))


@pytest.mark.parametrize(("endings", "kinds"), [("except OSError: pass", []), ("finally: pass", ["denied"])])
async def test_what_a_package_tries_while_it_is_imported(
    connect: Connect, tmp_path: Path, endings: str, kinds: list[str]
) -> None:
    """Many packages ask whether there is a network or a tool, and can do without: nobody has to hear of it."""
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "asks_the_system.py").write_text(
        f"import socket\ntry:\n    socket.socket().bind(('::1', 0))\n{endings}\n"
    )
    client = connect(env={"PYTHONPATH": str(packages)})
    file = client.write("net.py", "import asks_the_system\n\ndef model(x):\n    return x.relu()\n")
    report = (await client.trace(file, "model")).only
    assert report.outcome == "traced"
    assert [notice.kind for notice in report.notices] == kinds


async def test_the_environment_that_a_child_sees(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        import os, sys, tempfile
        from pathlib import Path

        here = Path.cwd()
        places = [os.environ["XDG_CACHE_HOME"], os.environ["TORCHINDUCTOR_CACHE_DIR"], tempfile.gettempdir()]
        assert all(Path(place).is_relative_to(here) for place in places)
        assert sys.dont_write_bytecode
        Path("made.txt").write_text("of the trace")

        def model(x):
            return x
        """,
    )
    assert (await client.trace(file, "model")).only.outcome == "traced"
    assert [path.name for path in client.root.iterdir()] == ["net.py"]


async def test_the_limits_of_a_child(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(2048, most), most))
        limits = [
            resource.getrlimit(limit)
            for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)
        ]

        def model(x):
            print(limits, flush=True)
            return x
        """,
    )
    assert (await client.trace(file, "model")).only.outcome == "traced"
    ((core, _), (size, _), (files, _), (processes, hard)) = ast.literal_eval(client.log[-1])
    assert (core, size) == (0, 256 << 20)
    assert 0 < files <= 2048
    assert 0 < processes == hard


async def test_nothing_is_left_in_the_temporary_folder(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    client = connect()
    file = client.write(
        "net.py",
        """
        import tempfile
        from pathlib import Path

        Path(tempfile.mkdtemp(), "left.txt").write_text("of the trace")

        def model(x):
            return x
        """,
    )
    assert (await client.trace(file, "model")).only.outcome == "traced"
    (scratch,) = tmp_path.glob("fx-lsp-*")
    assert [path for path in scratch.rglob("*") if path.is_file()] == []
    await client.agent.close()
    assert list(tmp_path.glob("fx-lsp-*")) == []


async def test_nothing_is_left_when_the_server_is_gone(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    client = connect()
    await client.agent.start()
    process = client.agent._process
    assert process is not None
    assert process._process.stdin is not None
    process._process.stdin.close()  # what the agent hears of a server that was ended
    await gone(process._process.pid)
    assert list(tmp_path.glob("fx-lsp-*")) == []


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
async def test_the_numbers_of_system_calls() -> None:
    """They are those of the system's own header, where it is installed."""
    header = Path("/usr/include/asm-generic/unistd.h")
    if not header.exists():
        pytest.skip("the kernel's headers are not installed")
    words = (line.split() for line in header.read_text().splitlines() if line.startswith("#define __NR"))
    numbers = {line[1].partition("_NR")[2].lstrip("3264_"): line[2] for line in words if len(line) > 2}
    arm = seccomp.MACHINES["aarch64"]
    named = {name for name, number in numbers.items() if number.isdigit() and int(number) in (*arm.refused, arm.clone)}
    assert {"socket", "execve", "execveat", "setsid", "setpgid", "ptrace", "mount", "bpf", "clone"} <= named
    pretended = {name for name, number in numbers.items() if number.isdigit() and int(number) in arm.pretended}
    assert pretended == {
        *("fchmod", "fchmodat", "fchown", "fchownat", "utimensat"),
        *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"),
    }


async def test_the_available_confinement_is_used() -> None:
    missing = list(confinement.missing_protections())
    means = confinement.mechanisms()
    assert len(missing) == (means.landlock < 6) + (means.machine is None) + (not confinement.can_fork())
