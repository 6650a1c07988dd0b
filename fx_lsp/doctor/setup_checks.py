"""Checks a set-up: each check is a function that yields what it found, with the remedy if something is wrong."""

from __future__ import annotations

import errno
import importlib.util
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fx_lsp import __version__
from fx_lsp.doctor.python_probe import Examination, examine
from fx_lsp.interpreters.environment_layout import python_of
from fx_lsp.interpreters.interpreter_choice import Interpreter, choose
from fx_lsp.settings.pyproject import FILE, project_of
from fx_lsp.workspace.disk_cache import cache_folder

OLDEST_TORCH = (2, 4)

_PACKAGES = ("pygls", "lsprotocol", "markdown_it", "platformdirs", "ruamel.yaml", "wcwidth")
_DOES_NOT_FIT = re.compile(r"operator torchvision::|undefined symbol|Symbol not found|Couldn't load custom C\+\+ ops")
_LACKS = "which fx-lsp needs."
"""Ends the agent's sentence about what an unknown torch lacks; what the user can do comes next."""
_ENVIRONMENTS = (".venv", "venv", "env")


@dataclass(frozen=True)
class Result:
    """What a check found."""

    verdict: Literal["ok", "warning", "problem"]
    """``problem``: nothing can be traced, or fx-lsp can't do what it is asked; ``warning``: it works, with less."""
    found: str
    """The state or the cause, in one sentence."""
    remedy: str = ""
    """What to do, in one sentence; empty if nothing has to be done."""


@dataclass(frozen=True)
class Setup:
    """What is checked."""

    file: Path
    """The file or folder whose Python is examined; absolute."""
    interpreter: Interpreter
    examination: Examination


def set_up(file: Path, python: tuple[str, ...] = ()) -> Setup:
    """Choose the Python of ``file`` (or take the command ``python``), and have it examine itself."""
    inside = str(file / FILE if file.is_dir() else file)
    interpreter = choose(file, Path.cwd(), given=python, setting=project_of(inside).settings.interpreter)
    return Setup(file, interpreter, examine(interpreter.command))


def check_all(setup: Setup) -> Iterator[Result]:
    """Every result, from the server's own Python to the Python that traces."""
    yield from _own_python()
    yield from _folders()
    yield from _settings(setup)
    yield from _environments(setup)
    yield from _tracing_python(setup)


def _own_python() -> Iterator[Result]:
    """The Python that runs fx-lsp, and its packages."""
    yield Result("ok", f"fx-lsp {__version__} runs on Python {platform.python_version()} ({sys.executable}).")
    for name in _PACKAGES:
        if not _is_installed(name):
            yield Result(
                "problem",
                f"The package {name} is missing in the Python that runs fx-lsp.",
                "Install fx-lsp again there, with its dependencies.",
            )
    if not _is_installed("libcst"):
        yield Result(
            "warning",
            "The package libcst is missing in the Python that runs fx-lsp, so fx-lsp offers no fixes.",
            "Install libcst there.",
        )


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _folders() -> Iterator[Result]:
    """The folders that fx-lsp writes to."""
    cache = cache_folder()
    problem = _why_not_writable(cache)
    yield (
        Result("ok", f"The cache is in {cache}.")
        if not problem
        else Result(
            "warning",
            f"The cache folder {cache} can't be written to ({problem}), so every trace is run again.",
            "Make the folder writable, or name another in the environment variable FX_LSP_CACHE.",
        )
    )
    try:
        temporary = tempfile.gettempdir()
    except OSError as error:
        yield Result(
            "problem",
            f"There is no folder for temporary files: {error.strerror}.",
            "Name a folder that you can write to in the environment variable TMPDIR.",
        )
    else:
        yield Result("ok", f"Temporary files are in {temporary}.")


def _why_not_writable(folder: Path) -> str:
    """Why ``folder`` can't be written to, or created; empty if it can."""
    nearest = next(path for path in (folder, *folder.parents) if os.path.exists(path))  # noqa: PTH110 (never raises)
    if not nearest.is_dir():
        return f"{nearest} is not a folder"
    return "" if os.access(nearest, os.W_OK | os.X_OK) else os.strerror(errno.EACCES)


def _settings(setup: Setup) -> Iterator[Result]:
    """The settings of the project."""
    inside = setup.file / FILE if setup.file.is_dir() else setup.file
    for mistake in project_of(str(inside)).mistakes:
        yield Result("problem", f"{mistake.file}:{mistake.line}: {mistake.reason}", "Correct this line.")
    if without := os.environ.get("FX_LSP_WITHOUT"):
        yield Result(
            "warning",
            f"The environment variable FX_LSP_WITHOUT switches off {without}.",
            "Remove the variable unless you are testing fx-lsp.",
        )


def _environments(setup: Setup) -> Iterator[Result]:
    """Environments that exist by name but have no Python that can be run."""
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        named = os.environ.get(variable)
        if named and _is_closed(Path(named)):
            yield _closed(Path(named))
        elif named and python_of(Path(named)) is None:
            yield Result(
                "warning",
                f"${variable} names {named}, which has no Python.",
                "Deactivate that environment, or create it again.",
            )
    for folder in (setup.file, *setup.file.parents):
        for name in _ENVIRONMENTS:
            environment = folder / name
            if _is_closed(environment):
                yield _closed(environment)
            elif (environment / "pyvenv.cfg").is_file() and python_of(environment) is None:
                yield Result(
                    "warning",
                    f"The Python that {environment} was made with is gone, so the environment can't be used.",
                    "Delete this environment and create it again.",
                )


def _is_closed(environment: Path) -> bool:
    """Whether the environment's folder, or that of its programs, exists but can't be searched."""
    folders = (environment, environment / "bin", environment / "Scripts")
    return any(os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK) for folder in folders)  # noqa: PTH112


def _closed(environment: Path) -> Result:
    return Result(
        "warning",
        f"You may not read the environment {environment}, so fx-lsp passes it over.",
        "Give yourself the right to read it, or delete it and create it again.",
    )


def _tracing_python(setup: Setup) -> Iterator[Result]:
    """The Python that traces."""
    python = f"{' '.join(setup.interpreter.command)} ({setup.interpreter.origin})"
    if setup.examination.failed:
        yield _did_not_start(python, setup.examination.failed)
        return
    said = setup.examination.said
    if said["torch_problem"]:
        yield _no_torch(python, said)
    elif _version(said["torch"]) < OLDEST_TORCH:
        yield Result("problem", f"{python} has torch {said['torch']}.", "Install torch 2.4 or newer there.")
    else:
        yield Result("ok", f"{python} is Python {said['python']} and has torch {said['torch']}.")
    for name, reason in said["companions"].items():
        yield _companion(name, reason, said)
    for sentence in said["protections"]:
        yield Result("warning", sentence, "Open only workspaces that you trust, or use Linux 6.12 or newer.")


def _did_not_start(python: str, reason: str) -> Result:
    if os.environ.get("PYTHONHOME"):
        remedy = f"Remove the environment variable PYTHONHOME ({os.environ['PYTHONHOME']}), which misleads this Python."
    elif "Python 3.10 or later" in reason:
        remedy = "Choose a newer Python with --python or the setting fxLsp.interpreter."
    else:
        remedy = "Choose another Python with --python or the setting fxLsp.interpreter, or install this one again."
    return Result("problem", f"{python} can't trace: {reason}", remedy)


def _no_torch(python: str, said: Any) -> Result:
    problem = said["torch_problem"]
    if "torch is not installed" in problem:
        remedy = "Install torch there (https://pytorch.org/get-started), or choose the Python of your project."
    elif "numpy" in problem:
        remedy = "Install numpy again there, in a version that fits this torch: torch imports it."
    elif said["torch"] is None and "can't be imported" not in problem:
        problem += f" It was imported from {said['torch_file'] or 'a folder without __init__.py'}."
        remedy = "Remove that folder or file, which is not PyTorch, or rename it, and install torch."
    elif said["torch"] and _version(said["torch"]) < OLDEST_TORCH:
        remedy = "Install torch 2.4 or newer there."
    elif _LACKS in problem:
        problem, end, remedy = problem.partition(_LACKS)
        problem += end
    else:
        remedy = "Install torch again there: pip install --force-reinstall torch."
    return Result("problem", f"{python} can't trace. {problem}", remedy.strip())


def _companion(name: str, reason: str, said: Any) -> Result:
    version = said["packages"].get(name, "of unknown version")
    found = f"{name} {version} is installed but can't be used with torch {said['torch']}: {reason}."
    if _DOES_NOT_FIT.search(reason):
        remedy = f"Install the {name} that was released with this torch, from the same index (CPU or CUDA) as torch."
    else:
        remedy = f"Install {name} again. Until then, fx-lsp replaces it with a stand-in."
    return Result("warning", found, remedy)


def _version(text: str | None) -> tuple[int, int]:
    """Major and minor version; (0, 0) if there is none."""
    match = re.match(r"(\d+)\.(\d+)", text or "")
    return (int(match[1]), int(match[2])) if match else (0, 0)
