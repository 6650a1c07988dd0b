"""Runs the steps of the Dockerfile in a folder, where there is no Docker: ``python -m tests.scripts.dockerfile_steps``.

A virtual environment takes the place of the base image, and a temporary folder that of the root ``/``; the user is not
changed. Arguments of the build are given as in Docker: ``--build-arg NAME=VALUE``. Then the image's command checks the
examples, in which there are problems to find.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOUND = 1
"""The exit status of a check that found problems."""


class Image:
    """What the steps have made so far."""

    def __init__(self, root: Path, arguments: Mapping[str, str]) -> None:
        self._root = root
        self._given = arguments
        self._folder = root
        self._environ = {**os.environ, "VIRTUAL_ENV": "", "HOME": str(root)}
        self._command: list[str] = []

    def step(self, name: str, words: str) -> None:
        """Run one instruction."""
        print(name, words, flush=True)
        if name == "FROM":
            venv.create(self._root / "env", with_pip=True)
            self._environ["PATH"] = f"{self._root / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        elif name == "ARG":
            argument, _, default = words.partition("=")
            self._environ[argument] = self._given.get(argument, default)
        elif name == "ENV":
            variable, _, value = words.partition("=")
            self._environ[variable] = self._inside(value)
        elif name == "COPY":
            *sources, target = words.split()
            for source in sources:
                self._copy(ROOT / source, Path(self._inside(target)), into=target.endswith("/"))
        elif name == "RUN":
            words = " ".join(self._inside(word) if word == "/src" else word for word in words.split())
            subprocess.run(["sh", "-euc", words], cwd=self._folder, env=self._environ, check=True)
        elif name == "WORKDIR":
            self._folder = Path(self._inside(words))
            self._folder.mkdir(parents=True, exist_ok=True)
        elif name in ("ENTRYPOINT", "CMD"):
            self._command += json.loads(words)
        elif name != "USER":
            raise NotImplementedError(name)

    def check(self, models: Path) -> int:
        """The exit status of the image's command in a copy of ``models``."""
        shutil.copytree(models, self._folder, dirs_exist_ok=True)
        return subprocess.run(self._command, cwd=self._folder, env=self._environ, check=False).returncode

    def _inside(self, path: str) -> str:
        return str(self._root / path.lstrip("/"))

    @staticmethod
    def _copy(source: Path, target: Path, *, into: bool) -> None:
        target = target / source.name if into else target
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)


def main() -> None:
    """Run every step, then the image's command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE")
    given = dict(word.split("=", 1) for word in parser.parse_args().build_arg)
    with tempfile.TemporaryDirectory() as folder:
        image = Image(Path(folder), given)
        for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                name, _, words = line.partition(" ")
                image.step(name, words)
        status = image.check(ROOT / "examples" / "models")
        assert status == FOUND, f"the check exited with status {status}"
        print("The image's steps work, and its command found the problems of the examples.")


if __name__ == "__main__":
    main()
