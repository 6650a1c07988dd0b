"""What the server shows of a wrong ``pyproject.toml``, and that settings are of the nearest one."""

from pathlib import Path

from lsprotocol import types

from fx_lsp.documents.documents import Documents
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.server.features.pyproject_diagnostics import ProjectPublisher
from fx_lsp.settings.precedence import override
from fx_lsp.settings.pyproject import project_of
from fx_lsp.settings.settings import Settings


class Shown:
    def __init__(self) -> None:
        self.published: list[types.PublishDiagnosticsParams] = []
        self.publisher = ProjectPublisher(ClientPlaces(Documents()), self.published.append)

    def refresh(self, *files: Path) -> list[tuple[str, int, list[str]]]:
        """What is published anew: the folder, the number of diagnostics, and the text each is about."""
        self.published.clear()
        self.publisher.refresh(map(str, files))
        told = []
        for params in self.published:
            file = Path(params.uri.removeprefix("file://"))
            lines = file.read_text(encoding="utf-8").splitlines()
            texts = [
                lines[item.range.start.line][item.range.start.character : item.range.end.character]
                for item in params.diagnostics
            ]
            told.append((file.parent.name, len(params.diagnostics), texts))
        return told


def test_mistakes_are_shown_at_their_lines_until_they_are_corrected(tmp_path: Path) -> None:
    shown = Shown()
    project = tmp_path / "pyproject.toml"
    model = tmp_path / "deep" / "er" / "model.py"
    assert shown.refresh(model) == []
    project.write_text("[tool.fx-lsp]\n  jobs = 'é'\nselect = []\nnope = 1\n", encoding="utf-8")
    assert shown.refresh(model) == [(tmp_path.name, 2, ["jobs = 'é'", "nope = 1"])]
    assert shown.refresh(model) == []
    project.write_text("[tool.fx-lsp]\njobs = 1\n", encoding="utf-8")
    assert shown.refresh(model) == [(tmp_path.name, 0, [])]


def test_the_nearest_file_applies(tmp_path: Path) -> None:
    for folder, limit in ((tmp_path, 1), (tmp_path / "inner", 2)):
        folder.mkdir(exist_ok=True)
        (folder / "pyproject.toml").write_text(f"[tool.fx-lsp]\ntime-limit = {limit}\nexclude = ['a.py']\n")
    outer, inner = (project_of(str(tmp_path / name)).settings for name in ("b.py", "inner/b.py"))
    assert (outer.time_limit, inner.time_limit) == (1, 2)
    assert inner.exclude == (str(tmp_path / "inner" / "a.py"),)


def test_a_relative_interpreter_is_beside_the_file_that_names_it(tmp_path: Path) -> None:
    for written, meant in (
        ("env/bin/python", str(tmp_path / "env/bin/python")),
        ("python3", "python3"),
        ("~/p", "~/p"),
    ):
        (tmp_path / "pyproject.toml").write_text(f"[tool.fx-lsp]\ninterpreter = ['{written}', '-E']\n# {written}\n")
        assert project_of(str(tmp_path / "a.py")).settings.interpreter == (meant, "-E")


def test_the_editor_overrides_the_project() -> None:
    project = Settings(time_limit=1, ignore=("len",))
    assert override(project, Settings(time_limit=2)) == Settings(time_limit=2, ignore=("len",))
    assert override(project, Settings()) == project
