"""``fx-lsp doctor`` names the cause and the remedy of set-ups that are really broken."""

import contextlib
import importlib.util
import os
import re
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fx_lsp.cli.main import main
from fx_lsp.doctor.bug_report import bug_report
from fx_lsp.doctor.python_probe import Examination
from fx_lsp.doctor.setup_checks import Setup
from fx_lsp.interpreters.interpreter_choice import Interpreter

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Broken:
    """A set-up that something is wrong with."""

    name: str
    make: Callable[[Path, Patch], object]
    """Makes it in a folder; returns the Python to examine, or None if fx-lsp chooses it."""
    verdict: str
    cause: str
    """A regular expression."""
    remedy: str


def package(name: str, text: str) -> Callable[[Path, Patch], str]:
    """A package of this name comes before the installed one."""

    def make(folder: Path, patch: Patch) -> str:
        place = folder / "packages" / name
        place.mkdir(parents=True)
        (place / "__init__.py").write_text(text)
        patch.setenv("PYTHONPATH", str(place.parent))
        return sys.executable

    return make


def program(text: str) -> Callable[[Path, Patch], str]:
    """A program that is not the Python that it should be."""

    def make(folder: Path, patch: Patch) -> str:
        (folder / "python").write_text(text)
        (folder / "python").chmod(0o755)
        return str(folder / "python")

    return make


def older(folder: Path, patch: Patch) -> str:
    """A Python that claims to be 3.9."""
    (folder / "sitecustomize.py").write_text("import sys\nsys.version_info = (3, 9, 18, 'final', 0)\n")
    patch.setenv("PYTHONPATH", str(folder))
    return sys.executable


def without_torch(folder: Path, patch: Patch) -> None:
    venv.create(folder / ".venv", symlinks=True)
    patch.setattr(sys, "executable", str(folder / ".venv" / "bin" / "python"))


def left_over(folder: Path, patch: Patch) -> str:
    venv.create(folder / "env", symlinks=True)
    (packages,) = (folder / "env").glob("lib/python*/site-packages")
    (packages / "torch").mkdir()
    return str(folder / "env" / "bin" / "python")


def gone_environment(folder: Path, patch: Patch) -> None:
    venv.create(folder / ".venv", symlinks=True)
    for python in (folder / ".venv" / "bin").glob("python*"):
        python.unlink()
        python.symlink_to(folder / "gone")


def variable(name: str, value: str) -> Callable[[Path, Patch], None]:
    return lambda folder, patch: patch.setenv(name, value.replace("~", str(folder)))


def python_home(folder: Path, patch: Patch) -> str:
    patch.setenv("PYTHONHOME", str(folder))
    return sys.executable


def cache_is_a_file(folder: Path, patch: Patch) -> None:
    (folder / "file").touch()
    patch.setenv("FX_LSP_CACHE", str(folder / "file" / "cache"))


def wrong_setting(folder: Path, patch: Patch) -> None:
    (folder / "pyproject.toml").write_text("[tool.fx-lsp]\ntime-limit = 'long'\n")


def no_libcst(folder: Path, patch: Patch) -> None:
    find = importlib.util.find_spec
    patch.setattr(importlib.util, "find_spec", lambda name: None if name == "libcst" else find(name))


BROKEN = (
    Broken("no torch", without_torch, "problem", r"\.venv in .*torch is not installed in this Python", "Install torch"),
    Broken("no such Python", lambda *_: "/no/such/python", "problem", "can't be run: No such file", "another Python"),
    Broken("not a Python", program("#!/bin/sh\nexit 3\n"), "problem", "ended with status 3", "another Python"),
    Broken(
        "a script that talks", program("#!/bin/sh\necho hello\necho no >&2"), "problem", "trace: no", "another Python"
    ),
    Broken("an old Python", older, "problem", "needs Python 3.10 or later, but this is Python 3.9", "a newer Python"),
    Broken(
        "torch without its libraries",
        package("torch", "raise ImportError('libtorch_cpu.so: cannot open shared object file')\n"),
        "problem",
        "torch is installed in this Python but can't be imported: .*libtorch_cpu.so",
        "Install torch again",
    ),
    Broken(
        "an old torch", package("torch", "__version__ = '1.13.1'\n"), "problem", "torch 1.13.1 can't be used", "2.4"
    ),
    Broken(
        "a torch that lacks a module",
        package("torch", "__version__ = '2.99.0'\n"),
        "problem",
        r"torch 2\.99\.0 can't be used for tracing: it lacks torch\.\w+, which fx-lsp needs\.$",
        "Update fx-lsp, or install a torch that it was tested with",
    ),
    Broken("what is left of a torch", left_over, "problem", "a folder without __init__.py", "Remove that"),
    Broken("a file that hides torch", package("torch", "x = 1\n"), "problem", "imported from .*__init__", "rename it"),
    Broken(
        "a torchvision that does not fit",
        package("torchvision", "raise RuntimeError('operator torchvision::nms does not exist')\n"),
        "warning",
        "torchvision .*can't be used with torch 2.*operator torchvision::nms does not exist",
        "torchvision that was released with this torch",
    ),
    Broken(
        "a broken torchaudio",
        package("torchaudio", "raise OSError('libsox.so')\n"),
        "warning",
        "torchaudio .*OSError: libsox.so",
        "Install torchaudio again",
    ),
    Broken(
        "a broken numpy",
        package("numpy", "raise ImportError('numpy.core.multiarray failed to import')\n"),
        "problem",
        "can't be imported: .*multiarray failed",
        "Install numpy again",
    ),
    Broken("an unusable cache", cache_is_a_file, "warning", "file/cache can't be written to", "FX_LSP_CACHE"),
    Broken("an environment whose Python is gone", gone_environment, "warning", "made with is gone", "create it again"),
    Broken("an activated environment that is gone", variable("VIRTUAL_ENV", "~/x"), "warning", "no Python", "Deactiv"),
    Broken("PYTHONHOME", python_home, "problem", "can't trace", "Remove the environment variable PYTHONHOME"),
    Broken("a wrong setting", wrong_setting, "problem", "pyproject.toml:2: `time-limit` must be a number", "Correct"),
    Broken("no fork", variable("FX_LSP_WITHOUT", "fork"), "warning", "cannot fork", "trust"),
    Broken("no Landlock", variable("FX_LSP_WITHOUT", "landlock"), "warning", "Landlock is not available", "trust"),
    Broken("no seccomp", variable("FX_LSP_WITHOUT", "seccomp"), "warning", "seccomp is not available", "trust"),
    Broken("no libcst", no_libcst, "warning", "libcst is missing", "Install libcst"),
)


@pytest.fixture(autouse=True)
def _clean(monkeypatch: Patch, tmp_path: Path) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "PYENV_VERSION", "FX_LSP_WITHOUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def findings(text: str) -> list[tuple[str, str, str]]:
    """Verdict, cause and remedy of each result that was printed."""
    found = re.findall(r"^(ok|warning|problem) +(.*)(?:\n +-> (.*))?", text, re.MULTILINE)
    assert found
    return found


@pytest.mark.parametrize("broken", BROKEN, ids=[broken.name for broken in BROKEN])
def test_the_cause_and_the_remedy(
    broken: Broken, tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = broken.make(tmp_path, monkeypatch)
    status = main(["doctor", *(["--python", str(python)] if python else [])])
    found = findings(capsys.readouterr().out)
    assert [
        verdict for verdict, cause, remedy in found if re.search(broken.cause, cause) and broken.remedy in remedy
    ] == [broken.verdict], found
    assert status == (1 if broken.verdict == "problem" else 0)


@contextlib.contextmanager
def as_somebody_else() -> Iterator[None]:
    """Root may read everything, so become a user who has no rights at all."""
    if os.getuid() != 0:
        yield
        return
    nobody = 65534
    os.setresuid(nobody, nobody, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.fixture
def open_folder(monkeypatch: Patch) -> Iterator[Path]:
    """The current folder, which anybody may read; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        monkeypatch.chdir(folder)
        yield Path(folder)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("closed_folder", [".", "bin"])
@pytest.mark.parametrize("how", ["found", "activated"])
def test_an_environment_that_may_not_be_read(
    how: str, closed_folder: str, open_folder: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = open_folder / (".venv" if how == "found" else "other")
    venv.create(environment, symlinks=True)
    if how == "activated":
        monkeypatch.setenv("VIRTUAL_ENV", str(environment))
    for command in (["doctor", "--python", "/no/such/python"], ["which"]):
        main(command)  # loads all modules, which nobody else may be allowed to read
    capsys.readouterr()
    (environment / closed_folder).chmod(0)
    try:
        with as_somebody_else():
            main(["doctor", "--python", "/no/such/python"])
            closed = [found for found in findings(capsys.readouterr().out) if str(environment) in found[1]]
            main(["which"])
    finally:
        (environment / closed_folder).chmod(0o755)
    assert [(verdict, "may not read" in cause, "create it again" in remedy) for verdict, cause, remedy in closed] == [
        ("warning", True, True)
    ]
    assert str(environment) not in capsys.readouterr().out


def test_a_set_up_without_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--python", sys.executable]) == 0
    found = findings(capsys.readouterr().out)
    assert not [verdict for verdict, _, _ in found if verdict == "problem"]
    assert any(f"{sys.executable} (--python) is Python 3." in text and "has torch 2." in text for _, text, _ in found)


def test_the_report_has_no_secrets_and_no_code(
    tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_API_KEY", "hunter2-a")
    monkeypatch.setenv("EDITOR_STATE", "hunter2-b")
    monkeypatch.setenv("PYTHONPATH", "https://me:hunter2-c@index")
    (tmp_path / "model.py").write_text("hunter2_d = 1\n")
    assert main(["doctor", "model.py", "--python", sys.executable, "--bundle", "report.txt"]) == 0
    assert "Read it before you send it." in capsys.readouterr().out
    report = (tmp_path / "report.txt").read_text()
    assert "hunter2" not in report
    assert str(tmp_path) not in report
    for part in ("## Found by fx-lsp doctor", "has torch 2.", "FX_LSP_CACHE=", '"python": "3.', "taken: "):
        assert part in report


@pytest.mark.parametrize(
    ("home", "text", "expected"),
    [
        ("/", "/usr/bin/python", "/usr/bin/python"),
        ("/home/al", "/home/al/a:/home/al, /home/al. /home/alice /home/al.x", "~/a:~, ~. /home/alice /home/al.x"),
        ("/home/a\\l", '"/home/a\\\\l/x" /home/a\\l', '"~/x" ~'),
    ],
)
def test_the_home_folder_is_not_told(home: str, text: str, expected: str, monkeypatch: Patch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path(home))
    said = {"told": home}
    setup = Setup(Path(home), Interpreter((home,), text), Examination(said=said))
    report = bug_report(setup, [])
    assert f"({expected}) has torch" in report
    if home != "/":
        assert '"told": "~"' in report


def test_the_cache_folder_is_not_created(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("FX_LSP_CACHE", str(tmp_path / "none" / "cache"))
    assert main(["doctor", "--python", sys.executable]) == 0
    assert not (tmp_path / "none").exists()


def test_a_report_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--python", "/no/such/python", "--bundle", f"no{os.sep}such{os.sep}report.txt"]) == 2
    assert "Could not write" in capsys.readouterr().err


def test_a_file_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "gone.py"]) == 2
    assert capsys.readouterr().err == "fx-lsp: gone.py does not exist.\n"
