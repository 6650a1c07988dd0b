"""The environments that poetry, pipenv, hatch and pdm keep for a project, found by the files that these tools write.

None of the tools is run. Poetry and hatch name an environment after a digest of the project's path, and pipenv writes
the project's path into it.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from fx_lsp.interpreters.found_files import small_text
from fx_lsp.interpreters.toml_files import table

# platformdirs is imported when it is needed, because an editor waits for the server to start.


def of_poetry(project: Path) -> Iterator[Path]:
    """Poetry's environments outside of the project; the one that ``poetry env use`` has chosen comes first."""
    if not (project / "pyproject.toml").is_file():
        return
    folder, digest = _poetry_folder(project), _digest(os.path.normcase(os.path.realpath(project)))
    found = sorted(folder.glob(f"*-{digest}-py3*"))
    used = table(folder / "envs.toml")
    chosen = {f"{name}-py{said.get('minor')}" for name, said in used.items() if isinstance(said, dict)}
    yield from sorted(found, key=lambda environment: environment.name not in chosen)


def of_pipenv(project: Path) -> Iterator[Path]:
    """Pipenv's environment outside of the project."""
    if not (project / "Pipfile").is_file():
        return
    shared = Path.home() / (".virtualenvs" if os.name == "nt" else ".local/share/virtualenvs")
    for file in sorted(Path(os.environ.get("WORKON_HOME") or shared).expanduser().glob("*/.project")):
        if os.path.realpath(_first_line(file)) == os.path.realpath(project):
            yield file.parent


def of_hatch(project: Path) -> Iterator[Path]:
    """Hatch's environment ``default``."""
    from platformdirs import user_data_path

    named = [
        table(project / "pyproject.toml", "tool", "hatch", "envs", "default"),
        table(project / "hatch.toml", "envs", "default"),
    ]
    for said in named:
        if isinstance(path := said.get("path"), str):
            yield project / path
    if not any((project / name).is_file() for name in ("pyproject.toml", "hatch.toml")):
        return
    data = Path(os.environ.get("HATCH_DATA_DIR") or user_data_path("hatch", appauthor=False))
    for environment in sorted(data.glob(f"env/virtual/*/{_digest(str(project))}/*")):
        if environment.name == environment.parts[-3]:  # other environments are named after themselves
            yield environment


def of_pdm(project: Path) -> Iterator[Path]:
    """The interpreter that pdm uses for the project."""
    if line := _first_line(project / ".pdm-python"):
        yield project / line


def _poetry_folder(project: Path) -> Path:
    """Where poetry keeps its environments."""
    from platformdirs import user_cache_path, user_config_path

    configured = user_config_path("pypoetry", appauthor=False, roaming=True) / "config.toml"
    files = [project / "poetry.toml", configured]
    kept = [table(file).get("cache-dir") for file in files]
    said = [table(file, "virtualenvs").get("path") for file in files]
    default = str(user_cache_path("pypoetry", appauthor=False))
    cache = next(filter(None, [os.environ.get("POETRY_CACHE_DIR"), *kept]), default)
    path = next(filter(None, [os.environ.get("POETRY_VIRTUALENVS_PATH"), *said]), "{cache-dir}/virtualenvs")
    return Path(str(path).replace("{cache-dir}", str(cache))).expanduser()


def _digest(path: str) -> str:
    """How poetry and hatch shorten a path."""
    return base64.urlsafe_b64encode(hashlib.sha256(path.encode()).digest()).decode()[:8]


def _first_line(file: Path) -> str:
    """The first line of a file, without spaces around it; empty if the file can't be read."""
    return small_text(file).strip().partition("\n")[0].strip().replace("\0", "")
