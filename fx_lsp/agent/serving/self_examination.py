"""What ``fx-lsp doctor`` asks the user's Python about itself. The answer is printed as one line of JSON."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Iterator

from fx_lsp.agent.sandbox.confinement import missing_protections
from fx_lsp.agent.serving.warmup import load_torch

COMPANIONS = ("torchvision", "torchaudio")
"""Packages that must fit the installed torch; other packages import them."""


def examine(fxcore_folder: str) -> dict[str, object]:
    """The versions of Python and torch, what is wrong with torch and its companions, and the missing protections."""
    version, problem = load_torch(fxcore_folder)
    torch = sys.modules.get("torch")
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "torch": version or getattr(torch, "__version__", None),
        "torch_file": getattr(torch, "__file__", None),
        "torch_problem": problem,
        "companions": dict(_companions()) if version else {},
        "packages": dict(_versions()),
        "protections": list(missing_protections()),
    }


def _companions() -> Iterator[tuple[str, str]]:
    """The companions of torch that are installed but can't be used, each with the reason."""
    for name in COMPANIONS:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                yield name, f"{type(error).__name__}: {error}"
        except Exception as error:  # a package that does not fit may raise anything
            yield name, f"{type(error).__name__}: {error}"


def _versions() -> Iterator[tuple[str, str]]:
    for name in ("torch", "numpy", *COMPANIONS):
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue


def main(fxcore_folder: str) -> None:
    """Print the examination to what was standard output; whatever packages print goes to standard error."""
    answer = os.dup(1)
    os.dup2(2, 1)
    os.write(answer, json.dumps(examine(fxcore_folder)).encode())
