"""Errors that a constructor raises whatever arguments it is given."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from fx_lsp.agent.building.impossible_calls import fails_for_all_arguments

INSTALLED = """
import torch


class Pretrained(torch.nn.Module):
    def __init__(self, config):
        super().__init__()

    def init_weights(self):
        self.tie_weights(again=False)

    def tie_weights(self, again):
        keys = {} if again else self.tied

    def post_init(self):
        self.tied = {}
"""

MODEL = """
from installed import Pretrained


class Net(Pretrained):
    def __init__(self, config, is_tied=False):
        super().__init__(config)
        self.init_weights()
"""


def fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: str, model: str) -> bool:
    """Whether ``Net`` fails for all arguments; it is built with one that means nothing."""
    (tmp_path / "installed.py").write_text(installed)
    (tmp_path / "model.py").write_text(model)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "installed", raising=False)
    spec = importlib.util.spec_from_file_location("model", tmp_path / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(AttributeError, match="tied") as caught:
        module.Net(None)
    return fails_for_all_arguments(module.Net, caught.value, lambda file: file.endswith("model.py"))


def test_what_a_base_class_needs_is_never_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fails(tmp_path, monkeypatch, INSTALLED, MODEL)


@pytest.mark.parametrize(
    ("installed", "model"),
    [
        (INSTALLED.replace("else self.tied", "else self.tied\n        self.tied = keys"), MODEL),
        (
            INSTALLED,
            MODEL.replace("        self.init", "        if is_tied:\n            self.post_init()\n        self.init"),
        ),
        (INSTALLED, MODEL.replace("self.init_weights()", "is_tied or self.init_weights()")),
        (INSTALLED, MODEL + "\n    def post_init(self):\n        self.tied = {}\n"),
        (INSTALLED.replace("        self.tied = {}", "        pass"), MODEL),
    ],
)
def test_other_arguments_may_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: str, model: str) -> None:
    assert not fails(tmp_path, monkeypatch, installed, model)
