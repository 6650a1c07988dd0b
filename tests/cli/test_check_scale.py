"""``fx-lsp check`` over many files: at once, in parts, only what has changed, and what it writes of each model."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fx_lsp.errors import CannotCheck
from fx_lsp.workspace.python_files import FileSelection, Shard
from tests.cli.test_cli import BAD, GOOD, check

NET = """\
import torch

class Net(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        {body}

net = Net(3)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of several lengths, some of which fail; the working directory."""
    folder = tmp_path / "project"
    (folder / "models").mkdir(parents=True)
    for number in range(6):
        body = "return x / len(x)" if number % 2 else "return x * self.size"
        text = NET.format(body=body) + "# longer\n" * number
        (folder / "models" / f"net{number}.py").write_text(text, encoding="utf-8")
    (folder / "bad.py").write_text(BAD, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def report_of(done: subprocess.CompletedProcess[str], file: Path) -> list[dict[str, Any]]:
    """What was written of each model, but for how long it took."""
    assert done.stderr == ""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_several_jobs_find_the_same_in_the_same_order(project: Path) -> None:
    runs = []
    for jobs in ("1", "3"):
        out = check(".", "--jobs", jobs, "--no-cache", "--format", "json", "--report", "report.jsonl", cwd=project)
        runs.append((out.returncode, out.stdout, report_of(out, project / "report.jsonl")))
    assert runs[0] == runs[1]
    assert [row["path"] for row in runs[0][2]] == ["bad.py", *(f"models{os.sep}net{n}.py" for n in range(6))]


def test_a_second_run_finds_the_same_without_an_agent(project: Path) -> None:
    first, second = (check(".", "--format", "json", "--report", f"{n}.jsonl", cwd=project) for n in "12")
    assert (first.returncode, first.stdout) == (second.returncode, second.stdout)
    assert (project / "1.jsonl").read_text() == (project / "2.jsonl").read_text()


def test_the_result_of_each_model_is_written(project: Path) -> None:
    (project / "odd.py").write_text(
        "import torch\n\nclass Odd(torch.nn.Module):\n    def __init__(self, a):\n        raise ValueError(a)\n\n"
        "    def forward(self, x):\n        return x\n",
        encoding="utf-8",
    )
    (project / "missing.py").write_text(
        "import nowhere\nimport torch\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.block = nowhere.Block(3)\n\n"
        "    def forward(self, x):\n        return self.block(x)\n",
        encoding="utf-8",
    )
    files = ("models/net0.py", "models/net1.py", "missing.py", "odd.py")
    done = check(*files, "--report", "report.jsonl", cwd=project)
    ok, fails, conditional, *others = report_of(done, project / "report.jsonl")
    assert (ok["verdict"], ok["reason"], ok["nodes"], ok["failures"]) == ("ok", "", 3, [])
    assert (ok["qualname"], ok["line"], ok["recipe"], ok["intent"]) == ("Net", 11, "net", "inferred")
    assert (ok["schema"], ok["capture"], ok["condition"]) == (1, "fx", "")
    assert (fails["verdict"], fails["condition"]) == ("fails", "")
    assert conditional["verdict"] == "ok"
    assert conditional["condition"] == "up to `nowhere.Block` (missing, so not looked into)"
    (failure,) = fails["failures"]
    assert (failure["code"], failure["path"], failure["first"]) == ("len", str(Path("models/net1.py")), True)
    assert failure["range"]["start"] == {"line": 8, "character": 19}
    assert {row["verdict"] for row in others} == {"unknown"}
    assert all(row["reason"] for row in others)


def test_only_a_terminal_shows_progress(project: Path) -> None:
    shown = check("bad.py", cwd=project, FORCE_COLOR="1", TERM="xterm")  # rich's word for: take it for a terminal
    assert "bad.py" in shown.stderr
    assert check("bad.py", cwd=project).stderr == ""


def test_a_summary_counts_by_folder(project: Path) -> None:
    done = check(".", "--summary", cwd=project)
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["files", "ok", "fails", "unknown", "skipped"],
        [".", "1", "0", "1", "0", "0"],
        ["models", "6", "3", "3", "0", "0"],
        ["total", "7", "3", "4", "0", "0"],
    ]


class TestShards:
    def test_all_shards_together_are_all_files(self, project: Path) -> None:
        parts = [FileSelection(Shard.parse(f"{number}/3")).of([project]) for number in (1, 2, 3)]
        assert sorted(file for part in parts for file in part) == sorted(FileSelection().of([project]))
        assert sorted(map(len, parts)) == [2, 2, 3]

    @pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "-1/3", "1/3/"])
    def test_an_invalid_shard_is_reported(self, text: str, project: Path) -> None:
        done = check(".", f"--shard={text}", cwd=project)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"fx-lsp: '{text}' is not a valid shard; use I/N, e.g. 2/3.\n"


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


class TestChangedSince:
    @pytest.fixture
    def repository(self, project: Path) -> Path:
        """A package whose modules import each other, all committed."""
        package = project / "src" / "zoo"
        package.mkdir(parents=True)
        texts = {
            "__init__": "",
            "base": "def scale(x): return x\n",
            "layers": "from . import base\n",
            "net": "import torch\nfrom zoo.layers import base\n",
            "late": "import torch\ndef f():\n    import zoo.layers as layers\n",
            "apart": "import torch\n",
        }
        for name, text in texts.items():
            (package / f"{name}.py").write_text(text, encoding="utf-8")
        (project / "script.py").write_text("import torch\nfrom zoo import net\n", encoding="utf-8")
        git(project, "init", "-q", "-b", "main")
        git(project, "add", ".")
        git(project, "commit", "-q", "-m", "all")
        return project

    def names(self, project: Path, paths: Sequence[Path] = (Path(),)) -> list[str]:
        return [file.name for file in FileSelection(since="HEAD").of(list(paths))]

    def test_nothing_has(self, repository: Path) -> None:
        assert self.names(repository) == []

    def test_edited_files_and_those_that_import_them_count(self, repository: Path) -> None:
        (repository / "src/zoo/base.py").write_text("def scale(x): return -x\n", encoding="utf-8")
        assert self.names(repository) == ["script.py", "late.py", "net.py"]

    def test_deleted_renamed_and_new_files_count(self, repository: Path) -> None:
        (repository / "src/zoo/base.py").unlink()
        (repository / "models/net0.py").rename(repository / "models/renamed.py")
        assert self.names(repository) == ["script.py", "renamed.py", "late.py", "net.py"]

    def test_a_package_runs_before_its_modules(self, repository: Path) -> None:
        (repository / "src/zoo/__init__.py").write_text("import torch\n", encoding="utf-8")
        assert self.names(repository) == ["script.py", "__init__.py", "apart.py", "late.py", "net.py"]

    def test_a_missing_commit_is_reported(self, repository: Path) -> None:
        for commit in ("no-such-branch", "--output=x"):
            with pytest.raises(CannotCheck, match="git could not list the changed files"):
                FileSelection(since=commit).of([repository])
        assert not (repository / "x").exists()

    def test_where_there_is_no_repository(self, project: Path) -> None:
        with pytest.raises(CannotCheck, match="git could not list the changed files"):
            FileSelection(since="HEAD").of([project])


class TestProject:
    """What ``[tool.fx-lsp]`` in ``pyproject.toml`` says."""

    def test_the_nearest_project_says_what_is_traced_and_reported(self, project: Path) -> None:
        (project / "pyproject.toml").write_text('[tool.fx-lsp]\nignore = ["len"]\nexclude = ["models/net3.py"]\n')
        (project / "models/pyproject.toml").write_text("[project]\nname = 'none of ours'\n")
        assert check(".", cwd=project).stdout == ""
        (project / "models/pyproject.toml").write_text("[tool.fx-lsp]\ninclude = ['net[13].py']\n")
        assert check(".", "--format", "json", "--report", "r.jsonl", cwd=project).returncode == 1
        paths = [json.loads(line)["path"] for line in (project / "r.jsonl").read_text().splitlines()]
        assert paths == ["bad.py", str(Path("models/net1.py")), str(Path("models/net3.py"))]

    def test_the_command_line_overrides_the_project(self, project: Path) -> None:
        (project / "pyproject.toml").write_text('[tool.fx-lsp]\nselect = ["control-flow"]\n')
        assert check("bad.py", cwd=project).returncode == 0
        assert check("bad.py", "--select", "len", cwd=project).returncode == 1

    def test_how_serious_a_rule_is(self, project: Path) -> None:
        (project / "pyproject.toml").write_text('[tool.fx-lsp.severity]\nlen = "hint"\n')
        done = check("bad.py", "--format", "json", cwd=project)
        assert [done.returncode, *(item["severity"] for item in json.loads(done.stdout))] == [0, "hint"]

    def test_leaves_wrapped_functions_and_the_tracer(self, project: Path) -> None:
        (project / "ops.py").write_text(
            "import torch\nfrom torch import fx\n\ndef odd(x):\n    return x if x.sum() > 0 else -x\n\n"
            "class Leaf(torch.nn.Module):\n    def forward(self, x):\n        return odd(x)\n\n"
            "class All(fx.Tracer):\n    def is_leaf_module(self, m, name):\n        return True\n",
            encoding="utf-8",
        )
        (project / "uses.py").write_text(
            "import torch\nimport ops\n\nclass A(torch.nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.leaf = ops.Leaf()\n\n"
            "    def forward(self, x):\n        return self.leaf(x)\n\n"
            "class B(torch.nn.Module):\n    def forward(self, x):\n        return ops.odd(x)\n",
            encoding="utf-8",
        )

        def failing(table: str) -> list[str]:
            (project / "pyproject.toml").write_text(f"[tool.fx-lsp]\n{table}\n")
            check("uses.py", "--report", "r.jsonl", cwd=project)
            rows = [json.loads(line) for line in (project / "r.jsonl").read_text().splitlines()]
            return [row["qualname"] for row in rows if row["verdict"] != "ok"]

        assert failing("") == ["A", "B"]
        assert failing('leaf-modules = ["ops.Leaf"]') == ["B"]
        assert failing('tracer = "ops.All"') == ["B"]
        assert failing('autowrap = ["ops.odd"]') == []

    @pytest.mark.parametrize(
        ("text", "line", "reason"),
        [
            ("[tool.fx-lsp]\ntime-limit = 0", 2, "`time-limit` must be more than 0"),
            ("[tool.fx-lsp]\n\n'ignore' = ['lenn']", 3, "`ignore` contains 'lenn', which must be one of argument, "),
            (
                "[tool.fx-lsp]\nnonsense = 1",
                2,
                "`nonsense` is not a setting; the settings are `interpreter`, `time-limit`, ",
            ),
            ("[tool.fx-lsp]\nhover = true", 2, "`hover` is not a setting"),
            (
                "[tool.fx-lsp.severity]\nlen = 'bad'",
                1,
                "`severity` contains 'bad', which must be one of error, warning, ",
            ),
            ("[tool.fx-lsp]\nseverity.len = 'bad'", 2, "`severity` contains 'bad'"),
            ("[tool]\nfx-lsp = { jobs = -1 }", 1, "`jobs` must be at least 0"),
            ("[tool.fx-lsp]\njobs = = 1", 2, "This is not valid TOML"),
        ],
    )
    def test_a_wrong_setting_is_reported_at_its_line(self, project: Path, text: str, line: int, reason: str) -> None:
        (project / "pyproject.toml").write_text(text)
        done = check("bad.py", cwd=project)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"fx-lsp: {project / 'pyproject.toml'}:{line}: {reason}")

    def test_a_broken_file_without_fx_lsps_table_is_left_alone(self, project: Path) -> None:
        (project / "pyproject.toml").write_text("[tool.other]\nx = = 1\n")
        (project / "good.py").write_text(GOOD, encoding="utf-8")
        assert check("good.py", cwd=project).returncode == 0
