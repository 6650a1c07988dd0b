"""The command line, run as a person runs it: in a process of its own, on files, with a real Python to trace with."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from fx_lsp import __version__
from fx_lsp.cli.main import main
from fx_lsp.documents.positions import LineIndex, Position
from fx_lsp.documents.source_size import LARGEST
from fx_lsp.errors import CannotCheck
from fx_lsp.rules import all_rules
from fx_lsp.workspace.python_files import files_of
from tests.agent.client import ENDLESS

ROOT = Path(__file__).parents[2]
BAD = "import torch.fx\n\ndef f(x):\n    return 'é😋', len(x)\n\ntorch.fx.symbolic_trace(f)\n"
GOOD = "import torch.fx\n\ndef f(x):\n    return x + x\n\ntorch.fx.symbolic_trace(f)\n"


def run(*arguments: str | Path, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fx_lsp", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **env},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=600,
    )


def check(*arguments: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return run("check", "--python", sys.executable, *arguments, cwd=cwd, **env)


class TestArguments:
    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="0"):
            main(["--version"])
        assert capsys.readouterr().out == f"fx-lsp {__version__}\n"

    @pytest.mark.parametrize("command", [[], ["check"], ["rule"], ["which"], ["doctor"], ["mcp"]])
    def test_help_names_every_argument(self, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="0"):
            main([*command, "--help"])
        text = capsys.readouterr().out
        named = {
            "": ["--tcp", "check", "rule"],
            "check": ["PATH", "--format", "--python", "--time-limit"],
            "which": ["FILE"],
            "mcp": ["FOLDER", "--python"],
            "doctor": ["FILE", "--python", "--bundle"],
            "rule": ["CODE", "--all", "--format"],
        }
        assert [word for word in named["".join(command)] if word not in text] == []

    @pytest.mark.parametrize(
        "arguments",
        [
            ["--nonsense"],
            ["nonsense"],
            ["check"],
            ["check", "--format", "xml", "."],
            ["check", "--time-limit", "0", "."],
            ["check", "--time-limit", "soon", "."],
            ["check", "--memory-limit", "-1", "."],
            ["check", "--time-limit", "inf", "."],
            ["rule"],
            ["--tcp", "localhost"],
            ["--tcp", "localhost:99999"],
            ["--tcp", "localhost:http"],
            ["--tcp", "localhost:1", "--stdio"],
        ],
    )
    def test_a_wrong_one_is_told_in_one_line(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        out, error = capsys.readouterr()
        assert out == ""
        assert re.fullmatch(r"fx-lsp: .+\n", error)

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["check", "no/such/path"], "fx-lsp: no/such/path does not exist.\n"),
            (
                ["check", "--python", "no-such-python", "."],
                "fx-lsp: no-such-python is not an executable program.\n",
            ),
        ],
    )
    def test_what_does_not_exist(self, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(arguments) == 2
        assert capsys.readouterr() == ("", sentence)

    def test_rule_explains(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["rule", "len"]) == 0
        assert capsys.readouterr().out == (ROOT / "docs/rules/len.md").read_text(encoding="utf-8") + "\n"

    def test_rule_lists_all(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["rule", "--all", "--format", "json"]) == 0
        listed = json.loads(capsys.readouterr().out)
        assert [rule["code"] for rule in listed] == [rule.code for rule in all_rules()]
        assert all(rule["title"] and rule["why"] and rule["bad"] and rule["good"] for rule in listed)
        assert main(["rule", "--all"]) == 0
        shown = capsys.readouterr().out
        assert [rule.code for rule in all_rules() if f"# {rule.code}: {rule.title}\n" not in shown] == []

    def test_rule_names_those_that_there_are(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["rule", "lenght"]) == 2
        assert ", ".join(rule.code for rule in all_rules()) in capsys.readouterr().err


class TestCheck:
    def test_formats_and_status(self, tmp_path: Path) -> None:
        folder = tmp_path / "mes modèles"
        folder.mkdir()
        (folder / "bad.py").write_text(BAD, encoding="utf-8")
        (folder / "good.py").write_text(GOOD, encoding="utf-8")
        concise, full = check(folder, cwd=tmp_path), check("--format", "full", "mes modèles/bad.py", cwd=tmp_path)
        assert concise.stdout.startswith(f"{Path('mes modèles/bad.py')}:4:18: len `len(x)` needs the length")
        assert concise.stdout.count("\n") == 1
        assert "4 |     return 'é😋', len(x)\n  |                   ^^^^^^\n" in full.stdout
        assert "\x1b" not in full.stdout
        assert [concise.returncode, full.returncode] == [1, 1]
        assert [concise.stderr, full.stderr] == ["", ""]

    def test_a_notebook_is_told_of_by_its_cells(self, tmp_path: Path) -> None:
        notebook = ROOT / "examples/models/gate.ipynb"
        concise, full, objects = (
            check("--format", style, notebook, cwd=ROOT).stdout for style in ("concise", "full", "json")
        )
        where = f"{Path('examples/models/gate.ipynb')}:cell 5:5:8"
        assert concise.startswith(f"{where}: control-flow `x.mean() > 0`")
        assert concise.count("\n") == 1
        assert f"--> {where}\n  |\n5 |     if x.mean() > 0:\n  |        ^^^^^^^^^^^^\n" in full
        assert f"--> {Path('examples/models/gate.ipynb')}:cell 4:7:16\n" in full
        (problem,) = json.loads(objects)
        assert (problem["cell"], problem["range"]["start"]) == (5, {"line": 4, "character": 7})
        assert [link["cell"] for link in problem["related"]][:1] == [4]

    def test_what_is_no_notebook_is_not_traced_and_none_is_mended(self, tmp_path: Path) -> None:
        (tmp_path / "a.ipynb").write_text("[]", encoding="utf-8")
        (tmp_path / "b.ipynb").write_bytes(b"\xff")
        done = check("a.ipynb", "b.ipynb", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.count("was not traced: it is not a notebook in version 4 of Jupyter's format") == 2
        done = check("--fix", "a.ipynb", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "can't be fixed" in done.stderr

    def test_json_of_the_examples(self) -> None:
        done = check("--format", "json", "examples/models", cwd=ROOT)
        found: list[dict[str, Any]] = json.loads(done.stdout)
        assert done.returncode == 1
        places = [(item["path"], item["code"], _text(item), item["target"]) for item in found]
        folder = Path("examples", "models")
        heads, flow = str(folder / "heads.py"), "control-flow"
        assert places == [
            (heads, flow, "x.shape[-2] > self.size", "ShrinkingHead"),
            (heads, flow, "x.dim() == 4", "CheckedHead"),
            (heads, flow, "x.mean() >= 0", "SignedHead"),
            (heads, flow, "height == width", "torch.fx.symbolic_trace(head)"),
            (heads, flow, "height >= self.smallest", "torch.fx.symbolic_trace(head)"),
            (str(folder / "normalize.py"), "len", "len(x)", "torch.fx.symbolic_trace(normalize)"),
            (str(folder / "padding.py"), flow, "missing > 0", "WindowEncoder"),
            (str(folder / "rectify.py"), flow, "x.sum() > 0", "fx.symbolic_trace(rectify)"),
        ]
        assert [item["severity"] for item in found].count("information") == 1  # the second half of an `and`
        frame = found[6]["related"][0]
        assert (frame["path"], _text(frame)) == (str(folder / "encoder.py"), "pad_to_multiple(x, self.window)")
        fixes = {item["path"]: [fix["title"] for fix in item["fixes"]] for item in found}
        assert fixes[str(folder / "normalize.py")] == [
            "Replace with x.size(0)",
            'Insert torch.fx.wrap("len") in normalize.py',
        ]
        assert fixes[str(folder / "padding.py")] == [
            "Choose with torch.sym_ite",
            'Insert torch.fx.wrap("pad_to_multiple") in encoder.py',
            "Move the if into _pad_to_multiple_x and record its call",
            "Always run the body of this `if`",
            "Require missing > 0",
            "Require missing <= 0",  # this one leaves out code
        ]

    def test_the_fixes_mend_what_they_are_for(self, tmp_path: Path) -> None:
        shutil.copytree(ROOT / "examples/models", tmp_path / "models")
        found = json.loads(check("--format", "json", "models", cwd=tmp_path).stdout)
        several = str(Path("models/heads.py"))  # edits of one file, made one after another, would move each other
        for item in found:
            if item["path"] != several:
                _apply(item["fixes"][0]["edits"], tmp_path)
        left = json.loads(check("--format", "json", "models", cwd=tmp_path).stdout)
        assert left == [item for item in found if item["path"] == several]

    def test_findings_do_not_depend_on_libcst(self, tmp_path: Path) -> None:
        (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
        (tmp_path / "broken").mkdir()
        (tmp_path / "broken/libcst.py").write_text("raise ImportError('not here')\n", encoding="utf-8")
        paths = os.pathsep.join([str(tmp_path / "broken"), str(ROOT)])
        done = check("bad.py", "--format", "json", cwd=tmp_path, PYTHONPATH=paths)
        assert [(item["code"], item["fixes"]) for item in json.loads(done.stdout)] == [("len", [])]
        assert done.stderr == "fixes are not available: not here\n"

    def test_nothing_found(self, tmp_path: Path) -> None:
        (tmp_path / "good.py").write_text(GOOD, encoding="utf-8")
        (tmp_path / "empty").mkdir()
        done = check("--format", "full", "good.py", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "Traced 1 model or function in 1 file: no problem found.\n")
        done = check("empty", "--format", "json", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "[]\n")

    def test_an_information_alone_is_shown_and_is_no_failure(self, tmp_path: Path) -> None:
        lost = next(rule for rule in all_rules() if rule.code == "lost-write")
        (tmp_path / "lost.py").write_text(lost.bad, encoding="utf-8")
        done = check("--format", "concise", "lost.py", cwd=tmp_path)
        assert (done.returncode, done.stdout.count(": lost-write ")) == (0, 1)

    def test_rules_are_selected_and_ignored_by_their_codes(self, tmp_path: Path) -> None:
        (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
        assert check("bad.py", "--select", "control-flow", cwd=tmp_path).returncode == 0
        assert check("bad.py", "--ignore", "iteration,len", cwd=tmp_path).returncode == 0
        statistics = check("bad.py", "--select", "len", "--statistics", cwd=tmp_path)
        assert (statistics.returncode, statistics.stdout.split()[:2]) == (1, ["1", "len"])
        unknown = check("bad.py", "--select", "nonsense", cwd=tmp_path)
        assert (unknown.returncode, unknown.stdout) == (2, "")
        assert "There is no rule 'nonsense'" in unknown.stderr

    def test_a_baseline_keeps_known_problems_quiet(self, tmp_path: Path) -> None:
        (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
        assert check("bad.py", "--write-baseline", cwd=tmp_path).returncode == 2
        written = check("bad.py", "--baseline", "known.json", "--write-baseline", cwd=tmp_path)
        assert (written.returncode, written.stdout) == (0, "")
        (tmp_path / "bad.py").write_text(f"# moved\n{BAD}torch.fx.symbolic_trace(lambda x: [*x])\n", encoding="utf-8")
        done = check("bad.py", "--baseline", "known.json", cwd=tmp_path)
        assert (done.returncode, done.stdout.partition(" `")[0]) == (1, "bad.py:8:35: iteration")

    def test_a_package_outside_of_the_working_directory(self, tmp_path: Path) -> None:
        shutil.copytree(ROOT / "examples/models", tmp_path / "project/deep/models")
        (tmp_path / "here").mkdir()
        done = check(tmp_path / "project", cwd=tmp_path / "here")
        assert f"{Path('..', 'project', 'deep', 'models', 'padding.py')}:11:8: control-flow " in done.stdout
        assert done.stdout.count("\n") == 8

    def test_a_file_that_does_not_parse(self, tmp_path: Path) -> None:
        (tmp_path / "half.py").write_text("import torch\ndef f(:\n", encoding="utf-8")
        (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
        done = check(".", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stdout.startswith("bad.py:4:")
        assert (
            done.stderr
            == f"fx-lsp: {tmp_path / 'half.py'} was not traced: it is not valid Python (line 2): invalid syntax\n"
        )

    def test_files_that_are_not_named_as_python_are_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
        (tmp_path / "README.md").write_text("A model, by hand\n", encoding="utf-8")
        (tmp_path / "weights.bin").write_bytes(b"\0\xff")
        done = check("README.md", "bad.py", "weights.bin", "--report", "report.jsonl", cwd=tmp_path)
        assert done.returncode == 1
        assert (tmp_path / "report.jsonl").read_text(encoding="utf-8").count("\n") == 1
        reasons = re.findall(r"fx-lsp: .*/(\S+) was not traced: it ", done.stderr)
        assert sorted(reasons) == ["README.md", "weights.bin"]
        assert check("README.md", cwd=tmp_path).returncode == 0

    def test_a_file_that_is_no_text(self, tmp_path: Path) -> None:
        (tmp_path / "torch.py").write_bytes(b"torch = '\xff'\n")
        done = check(".", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(
            f"fx-lsp: {tmp_path / 'torch.py'} was not traced: it is not valid Python: invalid "
        )

    def test_a_file_that_is_too_large(self, tmp_path: Path) -> None:
        (tmp_path / "table.py").write_text(f"import torch\nx = '{'0' * LARGEST}'\n", encoding="utf-8")
        done = check(".", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        reason = "it has 2,000,020 characters, and fx-lsp reads only files of up to 2,000,000"
        assert done.stderr == f"fx-lsp: {tmp_path / 'table.py'} was not traced: {reason}\n"

    def test_a_python_without_torch(self, tmp_path: Path) -> None:
        venv.create(tmp_path / "bare", with_pip=False)
        (tmp_path / "bad.py").write_text(BAD, encoding="utf-8")
        python = tmp_path / "bare" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        done = run("check", "--python", python, "bad.py", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert re.fullmatch(
            rf"fx-lsp: {re.escape(str(python))} \(from --python\) has no usable PyTorch\. .+\n", done.stderr
        )

    @pytest.mark.skipif(not hasattr(os, "getpriority"), reason="Windows has no niceness")
    def test_who_waits_for_a_check_need_not_wait_for_other_programs(self, tmp_path: Path) -> None:
        raising = "raise RuntimeError(f'niceness {os.getpriority(os.PRIO_PROCESS, 0)}')"
        (tmp_path / "net.py").write_text("import os\n" + GOOD.replace("return x + x", raising), encoding="utf-8")
        assert f"niceness {os.getpriority(os.PRIO_PROCESS, 0)})" in check("net.py", cwd=tmp_path).stdout

    def test_limits_are_kept(self, tmp_path: Path) -> None:
        (tmp_path / "slow.py").write_text(GOOD.replace("return", "while True: pass #"), encoding="utf-8")
        done = check("--time-limit", "1", "slow.py", cwd=tmp_path)
        column = 5 + "while True: pass".index(ENDLESS)
        assert (done.returncode, done.stdout.partition(" `")[0]) == (1, f"slow.py:4:{column}: time-limit")

    @pytest.mark.parametrize("encoding", ["ascii", "cp437", "cp1252"])
    @pytest.mark.parametrize(
        "words", ["--help", "check --help", "doctor --help", "mcp --help", "rule --all", "which ."]
    )
    def test_a_console_of_windows(self, words: str, encoding: str) -> None:
        environ = {**os.environ, "PYTHONIOENCODING": f"{encoding}:strict", "PYTHONUTF8": "0"}
        command = [sys.executable, "-m", "fx_lsp", *words.split()]
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")

    def test_a_stdout_that_does_not_know_every_character(self, tmp_path: Path) -> None:
        (tmp_path / "é.py").write_text(BAD, encoding="utf-8")
        assert check(".", cwd=tmp_path, PYTHONIOENCODING="ascii").stdout.startswith("\\xe9.py:4:18: len ")

    def test_which_files_a_folder_means(self, tmp_path: Path) -> None:
        wanted = ["a.py", "deep/er/b.py"]
        others = [".hidden/a.py", "node_modules/a.py", "env/lib/a.py", "lib/site-packages/a.py", "a.txt"]
        for name in [*wanted, *others]:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(GOOD, encoding="utf-8")
        (tmp_path / "env/pyvenv.cfg").touch()
        (tmp_path / "other.py").write_text("import json\n", encoding="utf-8")
        assert files_of([tmp_path]) == [tmp_path / name for name in wanted]
        assert files_of([tmp_path / "deep", tmp_path / "deep/er/b.py"]) == [tmp_path / "deep/er/b.py"]
        assert files_of([tmp_path / "other.py"]) == [tmp_path / "other.py"]
        with pytest.raises(CannotCheck, match="nowhere does not exist"):
            files_of([tmp_path / "nowhere"])


def _apply(edits: list[dict[str, Any]], folder: Path) -> None:
    """Make a fix's edits, which for these files are of ASCII lines."""
    for edit in sorted(edits, key=lambda edit: _position(edit, "start"), reverse=True):
        file = folder / edit["path"]
        text = file.read_text(encoding="utf-8")
        start, end = (LineIndex(text).offset_of_client(_position(edit, side), "utf-8") for side in ("start", "end"))
        file.write_text(text[:start] + edit["text"] + text[end:], encoding="utf-8")


def _position(edit: dict[str, Any], side: str) -> Position:
    return Position(edit["range"][side]["line"], edit["range"][side]["character"])


def _text(item: dict[str, Any]) -> str:
    """What stands at the range of a problem that lies on one ASCII line."""
    start, end = item["range"]["start"], item["range"]["end"]
    assert start["line"] == end["line"]
    line = (ROOT / item["path"]).read_text(encoding="utf-8").splitlines()[start["line"]]
    text: str = line[start["character"] : end["character"]]
    return text
