"""The layouts of projects and environments in which an interpreter has to be found, each with the expected one.

A layout is made of empty files at the places where the tools put them; only torch's folder is looked for. To write the
table of docs/interpreters.md: ``python -m tests.interpreters.layouts``.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "interpreters.md"


@dataclass(frozen=True)
class Home:
    """A made-up home folder."""

    path: Path

    def write(self, name: str, text: str = "") -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def environment(self, name: str, *, torch: bool = True, mark: str = "pyvenv.cfg") -> None:
        """An environment as venv makes it (or conda, whose mark is ``conda-meta/history``), with or without torch."""
        self.write(f"{name}/bin/python").chmod(0o755)
        self.write(f"{name}/{mark}", "home = /nowhere\nversion = 3.11.7\n")
        packages = f"{name}/lib/python3.11/site-packages"
        self.write(f"{packages}/pip/__init__.py")
        if torch:
            self.torch(packages)

    def python(self, folder: str, *, torch: bool = False) -> None:
        """A Python that is no virtual environment; ``folder`` holds its ``bin``."""
        self.write(f"{folder}/bin/python3.11").chmod(0o755)
        (self.path / folder / "bin" / "python3").symlink_to("python3.11")
        (self.path / folder / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
        if torch:
            self.torch(f"{folder}/lib/python3.11/site-packages")

    def torch(self, packages: str) -> None:
        self.write(f"{packages}/torch/__init__.py")
        self.write(f"{packages}/torch-2.13.0.dist-info/METADATA")

    def digest(self, name: str) -> str:
        """How poetry and hatch shorten the path of a folder."""
        return base64.urlsafe_b64encode(hashlib.sha256(str(self.path / name).encode()).digest()).decode()[:8]


OWN = "the Python that runs fx-lsp"


@dataclass(frozen=True)
class Layout:
    """A layout; paths are relative to the home folder, and the project is in ``work``."""

    about: str
    make: Callable[[Home], object]
    expected: str
    """The interpreter that a person would expect."""
    file: str = "work/model.py"
    environ: Mapping[str, str] = field(default_factory=dict)
    """Environment variables; ``~`` is the home folder."""
    in_editor: bool = False
    setting: Sequence[str] = ()
    own_has_torch: bool = False
    """Whether the Python that runs fx-lsp has torch."""

    @property
    def name(self) -> str:
        return re.sub(r"\W+", "-", self.about).strip("-")


def _with(*steps: Callable[[Home], object]) -> Callable[[Home], None]:
    def make(home: Home) -> None:
        for step in steps:
            step(home)

    return make


def env(name: str, *, torch: bool = True) -> Callable[[Home], object]:
    return lambda home: home.environment(name, torch=torch)


def conda(name: str, *, torch: bool = True) -> Callable[[Home], object]:
    return lambda home: home.environment(name, torch=torch, mark="conda-meta/history")


def text(name: str, content: str) -> Callable[[Home], object]:
    return lambda home: home.write(name, content.replace("~", str(home.path)))


def python(folder: str, *, torch: bool = False) -> Callable[[Home], object]:
    return lambda home: home.python(folder, torch=torch)


def pyproject(content: str = "") -> Callable[[Home], object]:
    return text("work/pyproject.toml", f'[project]\nname = "work"\n{content}')


def poetry(home: Home) -> None:
    """What ``poetry env use`` makes, beside an environment of another version that it does not use."""
    folder = ".cache/pypoetry/virtualenvs"
    home.environment(f"{folder}/work-{home.digest('work')}-py3.10")
    home.environment(f"{folder}/work-{home.digest('work')}-py3.11")
    home.environment(f"{folder}/other-AAAAAAAA-py3.11")
    home.write(f"{folder}/envs.toml", f'[work-{home.digest("work")}]\nminor = "3.11"\npatch = "3.11.7"\n')


def pipenv(home: Home) -> None:
    for name, project in (("aaa-11111111", "other"), ("work-22222222", "work")):
        home.environment(f".local/share/virtualenvs/{name}")
        home.write(f".local/share/virtualenvs/{name}/.project", str(home.path / project))
    home.write("work/Pipfile")


def hatch(home: Home) -> None:
    for name in ("docs", "work"):
        home.environment(f".local/share/hatch/env/virtual/work/{home.digest('work')}/{name}")


def editable_torch(home: Home) -> None:
    home.environment("work/.venv", torch=False)
    home.write("work/.venv/lib/python3.11/site-packages/__editable__.torch.pth", f"{home.path}/pytorch\n")
    home.write("pytorch/torch/__init__.py")


def system_packages(home: Home) -> None:
    home.environment("work/.venv", torch=False)
    home.python("usr", torch=True)
    configured = f"home = {home.path}/usr/bin\ninclude-system-site-packages = true\nversion = 3.11.7\n"
    home.write("work/.venv/pyvenv.cfg", configured)


LAYOUTS = (
    Layout("`.venv` of venv, virtualenv or uv", env("work/.venv"), "work/.venv/bin/python"),
    Layout("`venv`", env("work/venv"), "work/venv/bin/python"),
    Layout("`env`", env("work/env"), "work/env/bin/python"),
    Layout(
        "a file `.venv` that names an environment (PEP 832)",
        _with(text("work/.venv", "../envs/of-work\n"), env("envs/of-work")),
        "envs/of-work/bin/python",
    ),
    Layout("`.venv` in a folder above the workspace", env(".venv"), ".venv/bin/python"),
    Layout("pixi", env("work/.pixi/envs/default"), "work/.pixi/envs/default/bin/python"),
    Layout(
        "uv with `UV_PROJECT_ENVIRONMENT`",
        _with(pyproject(), env("envs/uv")),
        "envs/uv/bin/python",
        environ={"UV_PROJECT_ENVIRONMENT": "../envs/uv"},
    ),
    Layout(
        "poetry, with two versions of Python",
        _with(pyproject(), poetry),
        ".cache/pypoetry/virtualenvs/work-DIGEST-py3.11/bin/python",
    ),
    Layout(
        "poetry with `virtualenvs.path`",
        _with(
            pyproject(),
            text("work/poetry.toml", '[virtualenvs]\npath = "~/kept"\n'),
            lambda home: home.environment(f"kept/work-{home.digest('work')}-py3.11"),
        ),
        "kept/work-DIGEST-py3.11/bin/python",
    ),
    Layout("pipenv", pipenv, ".local/share/virtualenvs/work-22222222/bin/python"),
    Layout(
        "hatch",
        _with(pyproject(), hatch),
        ".local/share/hatch/env/virtual/work/DIGEST/work/bin/python",
    ),
    Layout(
        "pdm with an environment elsewhere",
        _with(text("work/.pdm-python", "~/envs/pdm/bin/python"), env("envs/pdm")),
        "envs/pdm/bin/python",
    ),
    Layout(
        "`venvPath` and `venv` of pyright",
        _with(pyproject('[tool.pyright]\nvenvPath = "../envs"\nvenv = "p"\n'), env("envs/p")),
        "envs/p/bin/python",
    ),
    Layout(
        "`environment.python` of ty",
        _with(pyproject('[tool.ty.environment]\npython = "../envs/ty"\n'), env("envs/ty")),
        "envs/ty/bin/python",
    ),
    Layout(
        "`python-interpreter-path` of pyrefly",
        _with(pyproject('[tool.pyrefly]\npython-interpreter-path = "../envs/r/bin/python"\n'), env("envs/r")),
        "envs/r/bin/python",
    ),
    Layout(
        "pyenv's local version, shortened",
        _with(
            text("work/.python-version", "3.11\n"),
            python(".pyenv/versions/3.11.9", torch=True),
            python(".pyenv/versions/3.11.10", torch=True),
        ),
        ".pyenv/versions/3.11.10/bin/python3",
    ),
    Layout(
        "pyenv's commands on the PATH",
        _with(
            text(".pyenv/version", "3.11.9\n"),
            python(".pyenv/versions/3.11.9", torch=True),
            lambda home: home.write(".pyenv/shims/python3", "#!/bin/sh\n").chmod(0o755),
        ),
        ".pyenv/versions/3.11.9/bin/python3",
        environ={"PATH": "~/.pyenv/shims"},
    ),
    Layout("the PATH", python("usr", torch=True), "usr/bin/python3", environ={"PATH": "~/usr/bin"}),
    Layout(
        "an activated environment, in a terminal",
        _with(env("work/.venv"), env("active")),
        "active/bin/python",
        environ={"VIRTUAL_ENV": "~/active"},
    ),
    Layout(
        "an activated environment, in an editor",
        _with(env("work/.venv"), env("active")),
        "work/.venv/bin/python",
        environ={"VIRTUAL_ENV": "~/active"},
        in_editor=True,
    ),
    Layout(
        "an activated conda environment",
        _with(env("work/.venv"), conda("conda/envs/torch")),
        "conda/envs/torch/bin/python",
        environ={"CONDA_PREFIX": "~/conda/envs/torch"},
    ),
    Layout(
        "conda's base is active",
        _with(env("work/.venv"), conda("conda"), text("conda/condabin/conda", "")),
        "work/.venv/bin/python",
        environ={"CONDA_PREFIX": "~/conda", "PATH": "~/conda/bin"},
    ),
    Layout(
        "`.venv` without torch, conda with",
        _with(env("work/.venv", torch=False), conda("conda/envs/torch")),
        "conda/envs/torch/bin/python",
        environ={"CONDA_PREFIX": "~/conda/envs/torch"},
        in_editor=True,
    ),
    Layout(
        "an activated environment without torch, `.venv` with",
        _with(env("work/.venv"), env("active", torch=False)),
        "work/.venv/bin/python",
        environ={"VIRTUAL_ENV": "~/active"},
    ),
    Layout(
        "no torch on the PATH, the Python that runs fx-lsp has it",
        python("usr"),
        OWN,
        environ={"PATH": "~/usr/bin"},
        own_has_torch=True,
    ),
    Layout(
        "no torch anywhere: the first is named, so that torch is installed there",
        _with(env("work/.venv", torch=False), python("usr")),
        "work/.venv/bin/python",
        environ={"PATH": "~/usr/bin"},
    ),
    Layout(
        "several packages: a file of `packages/a`",
        _with(env("work/packages/a/.venv"), env("work/packages/b/.venv"), env("work/.venv")),
        "work/packages/a/.venv/bin/python",
        file="work/packages/a/src/model.py",
    ),
    Layout(
        "several packages: a file of `packages/b`",
        _with(env("work/packages/a/.venv"), env("work/packages/b/.venv"), env("work/.venv")),
        "work/packages/b/.venv/bin/python",
        file="work/packages/b/model.py",
    ),
    Layout(
        "several packages: one without an environment of its own",
        _with(env("work/packages/a/.venv"), env("work/.venv")),
        "work/.venv/bin/python",
        file="work/packages/c/model.py",
    ),
    Layout("torch installed from its own checkout (`pip install -e`)", editable_torch, "work/.venv/bin/python"),
    Layout("`.venv` with `--system-site-packages`", system_packages, "work/.venv/bin/python"),
    Layout(
        "a setting names an environment without torch",
        _with(env("work/.venv"), env("named", torch=False)),
        "named/bin/python",
        setting=("~/named/bin/python",),
    ),
)


def table() -> str:
    """The layouts as a table for the manual."""
    rows = (
        f"| {layout.about}{'' if 'editor' in layout.about or not layout.in_editor else ', in an editor'} | "
        f"{layout.expected if layout.expected == OWN else f'`~/{layout.expected}`'} |"
        for layout in LAYOUTS
    )
    return "\n".join(("| layout | Python that traces `~/work/model.py` |", "|---|---|", *rows))


def with_table(page: str) -> str:
    """The text of the page with the current table in place of the one that it has."""
    return re.sub(r"\| layout \|.*?(?=\n\n|\n\Z|\Z)", lambda match: table(), page, count=1, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{len(LAYOUTS)} layouts\n")
