#!/usr/bin/env python3
"""Sets up this checkout and runs it: ``python3 dev.py demo``, ``python3 dev.py test``; ``--help`` lists the rest.

Needs Python 3.10 or newer (and Node 20 or newer for the VS Code client). All that it installs goes into ``.venv`` and
``vscode-client/node_modules``; a second run installs nothing that is there already.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
CLIENT = ROOT / "vscode-client"
DIST = ROOT / "dist"
IN_VSCODE = ROOT / "tests" / "vscode"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
TORCH = "torch==2.13.0"
TORCHVISION = (
    "torchvision==0.28.0"  # the release made for that torch; its wheel asks for a torch with CUDA, so --no-deps
)
OLDEST_NODE = 20
VSCODE_MINUTES = 20
"""How long each of these may take: to install a headless VS Code, and to run all tests in it."""

PROCESSES = ("-n", "2")
"""How many processes run tests at once; tests/conftest.py says which process runs which."""

QUICK_TESTS = (
    # The server's parts, without torch:
    "tests/documents",
    "tests/settings",
    "tests/workspace",
    "tests/targets/test_targets.py",
    "tests/analysis",
    "tests/supervisor/test_agent_pool.py",
    "tests/server/features/test_code_actions.py",
    "tests/server/features/test_hover.py",
    "tests/test_boundaries.py",
    # fxcore beside torch.fx:
    "tests/core/test_graph.py",
    "tests/core/test_interpreter.py",
    "tests/core/failures",
    # A real agent, a real server, and a real model, fix by fix:
    "tests/agent/tracing/test_traces.py",
    "tests/lsp/test_proofs.py",
    "tests/fixes/test_raft.py",
)
"""What `quick` runs: one or two files of each part, chosen for what they cover in little time."""


class Stop(Exception):
    """What keeps a command from going on, in a sentence for the person who called it."""


def run(
    command: Sequence[str | Path], *, cwd: Path = ROOT, accept: Sequence[int] = (0,), minutes: float | None = None
) -> None:
    """Run ``command`` in ``cwd``. Raises Stop where its exit status is not one of ``accept``, or it takes too long."""
    words = [str(word) for word in command]
    program = shutil.which(words[0]) or words[0]  # on Windows, npm is npm.cmd
    print(f"$ {' '.join(Path(word).name if index == 0 else word for index, word in enumerate(words))}", flush=True)
    try:
        done = subprocess.run([program, *words[1:]], cwd=cwd, check=False, timeout=minutes and 60 * minutes)
    except FileNotFoundError:
        raise Stop(f"{words[0]} is not installed.") from None
    except subprocess.TimeoutExpired:
        raise Stop(f"'{' '.join(words[:2])}' took longer than {minutes} minutes.") from None
    if done.returncode not in accept:
        raise Stop(f"'{Path(words[0]).name} {' '.join(words[1:3])} …' exited with status {done.returncode}.")


def pip(*arguments: str) -> None:
    """Install into the virtual environment."""
    run([PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments])


def set_up() -> None:
    """Make ``.venv`` with all that is needed to run and test, unless it is up to date with this pyproject.toml."""
    stamp = VENV / "set-up-for"
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + f"{TORCH} {TORCHVISION}".encode()).hexdigest()
    if PYTHON.exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    print("Setting up .venv. The first time, this downloads torch.", flush=True)
    if not PYTHON.exists():
        make_environment()
    pip(TORCH)
    pip("--no-deps", TORCHVISION)
    pip("--editable", ".[dev,zoo]")
    stamp.write_text(wanted)


def make_environment() -> None:
    """Make an empty virtual environment."""
    try:
        run([sys.executable, "-m", "venv", VENV])
    except Stop:
        shutil.rmtree(VENV, ignore_errors=True)
        raise Stop(
            "This Python can't make a virtual environment. On Debian or Ubuntu: apt install python3-venv."
        ) from None


def set_up_client() -> None:
    """Install what the VS Code client is built with, unless it is there for this package-lock.json."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise Stop(
            f"The VS Code client needs Node {OLDEST_NODE} or newer, with npm; install both from your system's packages."
        )
    version = subprocess.run([node, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < OLDEST_NODE:
        raise Stop(f"The VS Code client needs Node {OLDEST_NODE} or newer; this is {version}.")
    installed, wanted = CLIENT / "node_modules" / ".package-lock.json", CLIENT / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
        run([npm, "ci", "--no-audit", "--no-fund"], cwd=CLIENT)


def demo() -> None:
    """Trace the bundled examples and show where tracing breaks."""
    set_up()
    findings = 1
    run([PYTHON, "-m", "fx_lsp", "check", "--format", "full", "--python", PYTHON, "examples"], accept=(findings,))


def side_by_side(*names: str) -> None:
    """Run several commands of this file at once. Raises Stop if one fails."""
    report(failing(*names))


def report(failed: Sequence[str]) -> None:
    """Raise Stop if a command ``failed``."""
    if failed:
        raise Stop(f"These commands failed: {', '.join(failed)}.")


def failing(*names: str, shown: str | None = None) -> list[str]:
    """Run several commands of this file at once, and return those that fail.

    Each one's output is printed when it ends, except for the one that is ``shown`` while it runs.
    """
    print(f"Running in parallel: {', '.join(names)}", flush=True)
    began = time.monotonic()
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        running = {name: start(name, None if name == shown else Path(folder, name)) for name in names}
        try:
            while running:
                time.sleep(0.1)
                for name in [name for name, process in running.items() if process.poll() is not None]:
                    verdict = "FAILED" if running.pop(name).returncode else "passed"
                    failed += [name] if verdict == "FAILED" else []
                    print(f"== {name}: {verdict} after {time.monotonic() - began:.0f} s")
                    if name != shown:
                        print(Path(folder, name).read_text(encoding="utf-8", errors="replace"), flush=True)
        finally:
            for process in running.values():
                end(process)
    return failed


def start(name: str, output: Path | None) -> subprocess.Popen[bytes]:
    """Start a command of this file, in a process group of its own. It writes to ``output``, or else to the terminal."""
    with output.open("wb") if output else contextlib.nullcontext() as file:
        command = [sys.executable, __file__, name]
        return subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)


def end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a process and all that it started, as Ctrl+C does."""
    if os.name == "nt":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
    process.wait()


def lint() -> None:
    """Run ruff, mypy, eslint and tsc."""
    set_up()
    set_up_client()
    side_by_side("lint-python", "types", "types-of-examples", "types-elsewhere", "lint-client")


def lint_python() -> None:
    """Ruff: mistakes and layout."""
    run([PYTHON, "-m", "ruff", "check"])
    run([PYTHON, "-m", "ruff", "format", "--check"])


def types() -> None:
    """Mypy."""
    run([PYTHON, "-m", "mypy"])


def types_of_examples() -> None:
    """Mypy, for examples: models are written as people write them, and torch.nn is only partly typed."""
    options = ("--allow-untyped-calls", "--no-warn-return-any", "--cache-dir", ".mypy_cache/examples")
    run([PYTHON, "-m", "mypy", *options, "examples"])


def types_elsewhere() -> None:
    """Mypy, as on macOS and on Windows: it knows what those systems lack. On Windows, the agent finds out by itself."""
    run([PYTHON, "-m", "mypy", "--platform", "darwin", "--cache-dir", ".mypy_cache/darwin", "fx_lsp", "fxcore"])
    agent = ("--exclude", "^fx_lsp/agent/")
    run([PYTHON, "-m", "mypy", "--platform", "win32", "--cache-dir", ".mypy_cache/win32", "fx_lsp", *agent])


def lint_client() -> None:
    """Eslint, prettier and tsc."""
    run(["npm", "run", "--silent", "lint"], cwd=CLIENT)
    run(["npm", "run", "--silent", "check"], cwd=CLIENT)


def test_client() -> None:
    """The VS Code client's own tests, and its package."""
    run(["npm", "test", "--silent"], cwd=CLIENT)
    package()


def quick() -> None:
    """Run a minute's worth of checks between edits: lint, types, and a sample of the tests of every part."""
    set_up()
    side_by_side("lint-python", "types", "quick-tests")


def quick_tests() -> None:
    """The sample of the tests."""
    run([PYTHON, "-m", "pytest", "-q", *PROCESSES, *QUICK_TESTS])


def test() -> None:
    """Run all that CI checks: lint, all tests (also those in a real VS Code), the documentation and the package."""
    set_up()
    set_up_client()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # thousands of processes would each compile fx_lsp
    # VS Code has the machine nearly to itself: beside all the other tests, what it is asked for would come too late.
    in_vscode = failing("client-tests", "checks", shown="client-tests")
    report(in_vscode + failing("all-tests", shown="all-tests"))


def all_tests() -> None:
    """All of pytest's tests."""
    run([PYTHON, "-m", "pytest", "-q", *PROCESSES])


def checks() -> None:
    """Lint, types and documentation; they take what processor time the tests leave."""
    if hasattr(os, "nice"):
        os.nice(10)
    side_by_side("lint-python", "types", "types-of-examples", "types-elsewhere", "lint-client", "docs")


def client_tests() -> None:
    """The VS Code client's own tests, and those that drive a real, headless VS Code if it can be installed."""
    test_client()
    try:
        set_up_vscode()
    except Stop as reason:
        print(f"SKIPPED the tests in a real VS Code, because it could not be installed: {reason}", flush=True)
        return
    test_in_vscode()


def package() -> None:
    """Build the VS Code extension as vscode-client/*.vsix."""
    set_up()
    set_up_client()
    run(["npm", "run", "--silent", "package"], cwd=CLIENT)


def docs() -> None:
    """Build the documentation as a website in site/."""
    set_up()
    os.environ["NO_MKDOCS_2_WARNING"] = "1"  # Material's advertisement for its successor
    run([PYTHON, "-m", "mkdocs", "build", "--quiet"])


def dist() -> None:
    """Build the sdist and the wheel in dist/, and try each in a clean environment of each Python on the PATH."""
    set_up()
    shutil.rmtree(DIST, ignore_errors=True)
    run([PYTHON, "-m", "build", "--outdir", DIST])
    for built in sorted(DIST.iterdir()):
        for python in pythons():
            with tempfile.TemporaryDirectory() as folder:
                try_package(built, python, Path(folder))
    if uvx := shutil.which("uvx"):
        (wheel,) = DIST.glob("*.whl")
        with tempfile.TemporaryDirectory() as folder:
            check_examples([uvx, "--from", wheel, "fx-lsp"], Path(folder))


def pythons() -> list[str]:
    """The Python that runs this, and those of other versions from 3.10 that can be run by a name like python3.12."""
    named = [shutil.which(f"python3.{minor}") for minor in range(10, 20) if minor != sys.version_info.minor]
    runs = [name for name in named if name and subprocess.run([name, "-c", ""], capture_output=True).returncode == 0]
    return [sys.executable, *runs]


def try_package(built: Path, python: str, folder: Path) -> None:
    """Install a package into a new environment of ``python`` in ``folder``, and check the examples from there."""
    run([python, "-m", "venv", "env"], cwd=folder)
    programs = folder / "env" / PYTHON.parent.name
    run([programs / PYTHON.name, "--version"], cwd=folder)
    run([programs / PYTHON.name, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", built], cwd=folder)
    run([programs / "fx-lsp", "--version"], cwd=folder)
    run([programs / "fx-lsp", "rule", "len"], cwd=folder)
    check_examples([programs / "fx-lsp"], folder)


def check_examples(fx_lsp: Sequence[str | Path], folder: Path) -> None:
    """Have an installed fx-lsp, started by a command, check a copy of the examples in ``folder`` with .venv's torch."""
    found = 1
    shutil.copytree(ROOT / "examples" / "models", folder / "models")
    run([*fx_lsp, "check", "--no-cache", "--python", PYTHON, "models"], cwd=folder, accept=(found,))


def e2e() -> None:
    """Test the examples in a real, headless VS Code; the first run installs it (on Debian, as root)."""
    package()
    set_up_vscode()
    test_in_vscode()


def set_up_vscode() -> None:
    """Install a headless VS Code, unless it is there."""
    run(["sh", IN_VSCODE / "setup.sh"], minutes=VSCODE_MINUTES)


def test_in_vscode() -> None:
    """Drive a real VS Code that has the package. Test files that fail are run once more: a machine may be too busy."""
    with tempfile.TemporaryDirectory() as folder:
        failed = Path(folder, "failed")
        os.environ["FX_LSP_FAILED"] = str(failed)
        try:
            run(["sh", IN_VSCODE / "run.sh"], minutes=VSCODE_MINUTES)
        except Stop:
            files = failed.read_text(encoding="utf-8").split() if failed.exists() else []
            if not files:
                raise
            print(f"FAILED: {', '.join(files)}. Trying once more; a real defect will fail again.", flush=True)
            run(["sh", IN_VSCODE / "run.sh", *files], minutes=VSCODE_MINUTES / 2)


COMMANDS: dict[str, Callable[[], None]] = {
    "setup": set_up,
    "demo": demo,
    "quick": quick,
    "lint": lint,
    "test": test,
    "docs": docs,
    "package": package,
    "dist": dist,
    "e2e": e2e,
}

PARTS: dict[str, Callable[[], None]] = {
    "lint-python": lint_python,
    "types": types,
    "types-of-examples": types_of_examples,
    "types-elsewhere": types_elsewhere,
    "lint-client": lint_client,
    "quick-tests": quick_tests,
    "all-tests": all_tests,
    "checks": checks,
    "client-tests": client_tests,
}
"""Commands too, but ``--help`` does not list them: the others run them side by side."""


def main() -> int:
    """Run the command that the command line names; the exit status is 0 where it worked."""
    if sys.version_info < (3, 10):  # noqa: UP036 (whoever has an older one should read a sentence, not a traceback)
        print(f"fx-lsp needs Python 3.10 or newer; this is {sys.version.split()[0]}.", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        commands.add_parser(name, help=(command.__doc__ or "").splitlines()[0])
    for name in PARTS:
        commands.add_parser(name)
    try:
        (COMMANDS | PARTS)[parser.parse_args().command]()
    except Stop as reason:
        print(f"dev.py: {reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
