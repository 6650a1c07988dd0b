"""``fx-lsp check --costs``: what each model costs, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_cli import check

MODEL = """\
import torch
from torch import nn


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(512, 512)
        self.rest = nn.Sequential(nn.Linear(512, 256), nn.Sequential(nn.Tanh()))

    def forward(self, x):
        return self.rest(self.linear(x))


class Branch(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


Half()(torch.ones(4, 512))
Branch()(torch.ones(4, 512))
"""

TABLE = """\
model.py:5: Half, x: [4, 512]
          parameters   FLOPs  activations    peak
Half           394 k  3.15 M       16 KiB  12 KiB
  linear       263 k   2.1 M        8 KiB   8 KiB
  rest         131 k  1.05 M        8 KiB  12 KiB
    0          131 k  1.05 M        4 KiB  12 KiB
    1              0       0        4 KiB   8 KiB
Parameters: 394 k (1.5 MiB float32), 394 k of them trainable.
3.15 MFLOPs; a multiplication and the addition of its result count as two.
The FLOPs leave out operators that torch has no formula for. Their results hold 1.02 k numbers: aten.tanh (1 × 1.02 k).
"""


def test_a_table_shows_the_costs_by_submodule(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    told = check("--costs", "model.py", cwd=tmp_path)
    assert told.stdout == TABLE
    assert (told.stderr, told.returncode) == ("", 1), "the model that fails has no table, and is still a problem"


def test_json_has_the_exact_numbers(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    told = check("--costs", "model.py", "--format", "json", cwd=tmp_path)
    (model,) = json.loads(told.stdout)
    assert (model["path"], model["qualname"], model["line"], model["input"]) == ("model.py", "Half", 5, "x: [4, 512]")
    assert (model["at_least"], model["reason"], model["unknown"]) == (False, "", [])
    modules = {module["path"]: module for module in model["modules"]}
    assert list(modules) == ["", "linear", "rest", "rest.0", "rest.1", "rest.1.0"]
    assert modules["rest"]["parameters"] == {"count": 512 * 256 + 256, "bytes": {"float32": 4 * (512 * 256 + 256)}}
    assert modules[""]["flops"] == 2 * 4 * 512 * (512 + 256)
    assert modules["rest.1.0"] == {
        "path": "rest.1.0",
        "type": "Tanh",
        "parameters": {"count": 0, "bytes": {}},
        "trainable": 0,
        "buffers": {"count": 0, "bytes": {}},
        "flops": 0,
        "activations": 4096,
        "peak": 8192,
    }
    assert [(node["name"], node["bytes"]) for node in model["nodes"]] == [
        ("linear", 8192),
        ("rest_0", 4096),
        ("rest_1_0", 4096),
    ]


def test_a_file_without_a_model_that_can_be_traced_says_so(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import torch\n", encoding="utf-8")
    assert check("--costs", "model.py", cwd=tmp_path).stdout == "No model was found that can be traced.\n"


def test_a_cluster_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    told = check("--costs", "--cluster", "tcp://127.0.0.1:1", "model.py", cwd=tmp_path)
    assert told.returncode == 2
    assert "use --costs without --cluster" in told.stderr


def test_costs_are_those_after_the_fixes(tmp_path: Path) -> None:
    text = MODEL.replace("return x if x.sum() > 0 else -x", "return x * len(x)")
    (tmp_path / "model.py").write_text(text, encoding="utf-8")
    before = check("--costs", "model.py", "--format", "json", cwd=tmp_path)
    assert [model["qualname"] for model in json.loads(before.stdout)] == ["Half"]
    told = check("--costs", "--fix", "model.py", "--format", "json", cwd=tmp_path)
    half, branch = json.loads(told.stdout)
    assert half["modules"] == json.loads(before.stdout)[0]["modules"]
    assert (branch["qualname"], branch["input"], branch["modules"][0]["activations"]) == ("Branch", "x: [4, 512]", 8192)
    assert "len(x)" not in (tmp_path / "model.py").read_text(encoding="utf-8")
