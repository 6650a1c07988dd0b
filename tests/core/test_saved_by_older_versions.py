"""What fxcore 0.1 wrote still loads, although the modules that its pickles name are in other places now.

``saved_by_fxcore_0_1.zip`` holds pickles of a graph and a graph module, the same two for a program that takes a tuple
(``pytree_*``), the output of `GraphModule.to_folder`, and the module with the programs.
"""

from __future__ import annotations

import importlib
import pickle
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import fxcore

from .versions import TORCH

SAVED = Path(__file__).with_name("saved_by_fxcore_0_1.zip")
needs_torch_2_13 = pytest.mark.skipif(TORCH < (2, 13), reason="contains a TreeSpec of torch 2.13")


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with zipfile.ZipFile(SAVED) as archive:
        archive.extractall(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("models_of_mine", "folder", "folder.module"):
        sys.modules.pop(name, None)


def load(file: Path) -> Any:
    return pickle.loads(file.read_bytes())


def runs(module: torch.nn.Module) -> None:
    assert module(torch.ones(1, 2)).shape == (1, 3)


def test_a_pickled_graph_module_loads_and_runs(saved: Path) -> None:
    module = load(saved / "graph_module.pkl")
    assert isinstance(module, fxcore.GraphModule)
    runs(module)


def test_a_pickled_graph_loads_with_its_nodes_and_their_users(saved: Path) -> None:
    graph = load(saved / "graph.pkl")
    graph.lint()
    assert [node.name for node in graph.nodes] == ["x", "lin", "act", "half", "_tensor_constant0", "add", "output"]
    assert [user.name for user in next(iter(graph.nodes)).users] == ["lin"]


@needs_torch_2_13
@pytest.mark.filterwarnings("ignore:.*LeafSpec.*:FutureWarning")
def test_a_pickled_graph_module_that_takes_a_tuple_loads_and_runs(saved: Path) -> None:
    module = load(saved / "pytree_graph_module.pkl")
    assert module((torch.tensor(1), torch.tensor(2))) == 3


@needs_torch_2_13
@pytest.mark.filterwarnings("ignore:.*LeafSpec.*:FutureWarning")
def test_a_pickled_graph_that_takes_a_tuple_keeps_its_code_generator(saved: Path) -> None:
    graph = load(saved / "pytree_graph.pkl")
    assert graph._codegen.pytree_info.orig_args == ["self", "pair"]


def test_a_module_written_to_a_folder_is_imported_and_runs(saved: Path) -> None:
    runs(importlib.import_module("folder").Net())
