"""Values that the workspace gives to settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fx_lsp.agent.inventing.written_settings import WrittenSettings, written_settings
from fx_lsp.agent.messages import Recipe, Snippet, Span, Target
from tests.agent.client import Client


def first_settings(names: list[str], folder: Path) -> WrittenSettings:
    """The settings of the class ``Net`` that are tried first."""
    return next(iter(written_settings(names, "Net", [str(folder)], str(folder / "net.py"))))


@pytest.mark.parametrize(
    ("name", "text", "path", "value"),
    [
        ("main.py", "parser.add_argument('-d', '--d-model', type=int, default=96)", "args.d_model", 96),
        ("main.py", "parser.add_argument('--width', dest='d_model', default=96)", "args.d_model", 96),
        ("main.py", "parser.add_argument('--flash', action='store_true')", "args.flash", False),
        ("main.py", "parser.set_defaults(d_model=96)", "args.d_model", 96),
        ("main.py", "parser.add_argument('--dim', default=8)\nparser.set_defaults(dim=9)", "args.dim", 9),
        ("main.py", "_C.MODEL = Node()\n_C.MODEL.DEPTHS = [2, 2]", "cfg.MODEL.DEPTHS", [2, 2]),
        ("main.py", "_C.MODEL = Node()\n_C.MODEL.DEPTHS = [2, 2]", "model_cfg.DEPTHS", [2, 2]),
        ("main.py", "net = Net(ModelArgs(dim=8, act='gelu'))", "args.act", "gelu"),
        ("main.py", "CONFIG = {'dim': 8, 'deep': compute()}", "config.dim", 8),
        ("main.py", "class NetConfig:\n    dim: int = 8\n    act = 'gelu'", "config.act", "gelu"),
        ("main.py", "class NetConfig:\n    def __init__(self, a, dim=8, *, act='gelu'): ...", "config.dim", 8),
        ("main.py", "class NetConfig:\n    def __init__(self, a, dim=8, *, act='gelu'): ...", "config.act", "gelu"),
        ("main.py", "_C.DEPTHS = [2, (3, 4)]", "cfg.DEPTHS[0]", 2),
        ("main.py", "_C.DEPTHS = [2, (3, 4)]", "cfg.DEPTHS[1][0]", 3),
        ("main.py", "_C.DEPTHS = 2 * [1, 4 * 2] + [3 - 1]", "cfg.DEPTHS", [1, 8, 1, 8, 2]),
        ("net.json", '{"model": {"dim": 8}}', "config.model.dim", 8),
        ("net.yaml", "model:\n  dim: 8 # wide\n  flash: true\n", "config.model.flash", True),
        ("net.yaml", "model:\n  dim: 8 # wide\n  flash: true\n", "config.model.dim", 8),
        ("net.yaml", "model:\n  - name: gelu\n", "config.name", "gelu"),
    ],
)
def test_what_is_read(tmp_path: Path, name: str, text: str, path: str, value: Any) -> None:
    (tmp_path / name).write_text(text)
    found = first_settings([re.split(r"[.\[]", path)[-1 - path.count("[")]], tmp_path)
    assert found.find(path) == [value]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("main.py", "self.dim = 8"),
        ("main.py", "dim = 8"),
        ("main.py", "cfg.dim = compute()"),
        ("main.py", "cfg.dim ="),
        ("main.py", "cfg.dim = [0] * 10 ** 9"),
        ("main.py", "cfg.dim = [0] * 1000000000"),
        ("main.py", "cfg.dim = 1 / 0"),
        ("net.json", "{"),
        ("net.yaml", "dim:\n"),
    ],
)
def test_what_is_left_out(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert not list(written_settings(["dim"], "Net", [str(tmp_path)], str(tmp_path / "net.py")))


def test_the_settings_with_the_longest_common_name_count(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("_C.OTHER.DEPTH = 1\n_C.MODEL.DEPTH = 2\n")
    found = first_settings(["DEPTH"], tmp_path)
    assert found.find("cfg.MODEL.DEPTH") == [2]
    assert found.find("cfg.DEPTH") == [1]


def test_a_configuration_overrides_the_defaults_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "defaults.py").write_text("_C.DEPTH = 1\n_C.WIDTH = 8\n")
    (tmp_path / "long.yaml").write_text("DEPTH: 3\n# a large model\n")
    (tmp_path / "short.yaml").write_text("DEPTH: 2\n")
    found = first_settings(["DEPTH", "WIDTH"], tmp_path)
    assert (found.find("cfg.DEPTH"), found.find("cfg.WIDTH")) == ([2], [8])


def test_files_that_name_the_class_count_first(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_text("NAME: Other\nDEPTH: 3\nWIDTH: 4\n")
    (tmp_path / "small.yaml").write_text("NAME: Net\nDEPTH: 2\n")
    found = first_settings(["DEPTH", "WIDTH"], tmp_path)
    assert (found.find("cfg.DEPTH"), found.find("cfg.WIDTH")) == ([2], [4])


def test_programs_alone_are_tried_in_case_that_the_configuration_is_for_another_model(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("_C.DEPTH = 1\n")
    (tmp_path / "net.yaml").write_text("DEPTH: 2\n")
    found = written_settings(["DEPTH"], "Net", [str(tmp_path)], str(tmp_path / "net.py"))
    assert [settings.find("cfg.DEPTH") for settings in found] == [[2], [1]]


NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        stages = [[]] * cfg.MODEL.DEPTH
        for at, *strides in cfg.MODEL.STRIDES:
            stages[at] = strides
        kernel = [stride + 1 for stride in stages[0]]
        self.layer = nn.Conv2d(3, cfg.MODEL.WIDTH, kernel, stages[0])

    def forward(self, x):
        return self.layer(x)
"""


@pytest.mark.asyncio(loop_scope="session")
async def test_a_class_is_built_with_them(client: Client) -> None:
    client.write("configs/small.yaml", "MODEL:\n  DEPTH: 2\n  STRIDES: [[0, 1, 1], [1, 2, 2]]\n")
    client.write("defaults.py", "_C.MODEL = Node()\n_C.MODEL.DEPTH = 0\n_C.MODEL.STRIDES = []\n_C.MODEL.WIDTH = 8\n")
    file = client.write("net.py", NET)
    recipe = Recipe(Snippet("Net", 4), made_up=True)
    net = Target("Net", "Net", Span(file, 4, 6, 4, 9), recipe, intent="assumed", symbol="Net")
    report = (await client.trace(file, net)).only
    assert (report.outcome, report.reason) == ("traced", "")
