"""Fills ``bundled/`` with the Python that the extension ships: ``python scripts/bundle.py --target TARGET``.

That is fx_lsp with the rules' pages and fxcore from this checkout, and the packages of requirements.txt from their
wheels. libcst has a compiled part, one file for each Python and platform; a wheel names that file for its Python, so
one folder holds them for every Python that the server runs on, and the target decides the platform.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[1]
BUNDLED = CLIENT / "bundled"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
PACKAGES = ("fx_lsp", "fxcore")

PURE = ("--implementation", "py", "--abi", "none", "--platform", "any")
"""Options of pip for wheels that every Python can use: some packages have compiled ones, too."""

WHEEL_PLATFORMS = {
    "alpine-arm64": "musllinux_1_2_aarch64",
    "alpine-x64": "musllinux_1_2_x86_64",
    "darwin-arm64": "macosx_11_0_arm64",
    "darwin-x64": None,
    "linux-arm64": "manylinux_2_28_aarch64",
    "linux-x64": "manylinux_2_28_x86_64",
    "win32-arm64": "win_arm64",
    "win32-x64": "win_amd64",
}
"""What VS Code and what Python packaging call the same platform; None where libcst has no wheel for it."""


def download(directory: Path, requirements: Iterable[str], *options: str) -> None:
    """Put the wheels of ``requirements`` into ``directory``. Raises CalledProcessError where pip finds none."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", str(directory), *options, *requirements]
    subprocess.run(command, check=True)


def download_all(directory: Path, target: str) -> None:
    """Put every wheel that ``target`` needs into ``directory``."""
    lines = (CLIENT / "requirements.txt").read_text("utf-8").splitlines()
    requirements = [line for line in lines if line and not line.startswith("#")]
    compiled = [line for line in requirements if line.startswith("libcst==")]
    download(directory, [line for line in requirements if line not in compiled], *PURE)
    wheel_platform = WHEEL_PLATFORMS[target]
    for python in PYTHONS if wheel_platform else ():
        download(directory, compiled, "--python-version", python, "--platform", str(wheel_platform))


def unpack(wheel: Path) -> None:
    """Unpack ``wheel`` into ``bundled/``, but for its tests."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(BUNDLED, [name for name in archive.namelist() if "/tests/" not in name])


def main() -> None:
    """Make ``bundled/`` anew for the target that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=WHEEL_PLATFORMS, required=True)
    target = parser.parse_args().target
    shutil.rmtree(BUNDLED, ignore_errors=True)
    with tempfile.TemporaryDirectory() as directory:
        download_all(Path(directory), target)
        for wheel in Path(directory).glob("*.whl"):
            unpack(wheel)
    for package in PACKAGES:
        shutil.copytree(CLIENT.parent / package, BUNDLED / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(CLIENT.parent / "docs" / "rules", BUNDLED / "fx_lsp" / "pages")


if __name__ == "__main__":
    main()
