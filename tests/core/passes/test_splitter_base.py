"""splitter_base against torch.fx: the same parts from the same support."""

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.passes.operator_support as their_support
import torch.fx.passes.splitter_base as theirs

import fxcore.passes.operator_support as our_support
import fxcore.passes.splitter_base as ours
from fxcore._symbolic_trace import symbolic_trace
from tests.core.code_text import codes_of
from tests.zoo import torchvision

BOTH: list[tuple[Any, Any, Any]] = [
    (symbolic_trace, ours, our_support),
    (torch.fx.symbolic_trace, theirs, their_support),
]


class Diamond(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.sin(x) + torch.cos(x)


class Mixed(torch.nn.Module):
    """Values that aren't tensors between supported and unsupported operations."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.scale = torch.nn.Parameter(torch.rand(4))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        a = self.linear(x) * self.scale
        rows = a.size(0)
        more = rows * 2
        b = torch.sin(y.reshape(more, -1))
        c = torch.cos(a).reshape(rows, -1)
        parts = torch.chunk(torch.sigmoid(c), 2)
        d = torch.relu(parts[0]) + torch.tanh(parts[1])
        return torch.cat([b.flatten(), d.flatten(), torch.ones(2)]), more


class Boundary(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        a = torch.relu(x)
        rows = a.size(0)
        more = rows * 2
        b = torch.sin(a)
        return torch.cat([b, b]).reshape(more, -1)


def named(*words: str) -> Callable[[Any, Any], bool]:
    """Supports the nodes whose name contains one of the words."""
    return lambda submodules, node: any(word in node.name for word in words)


X, Y, IMAGE = torch.rand(3, 4), torch.rand(6, 2), torch.rand(1, 3, 64, 64)

CASES: dict[str, tuple[Any, tuple[torch.Tensor, ...], Any]] = {
    "diamond": (Diamond(), (X,), named("sin", "cos")),
    "diamond-half": (Diamond(), (X,), named("sin", "add")),
    "diamond-all": (Diamond(), (X,), named("")),
    "diamond-none": (Diamond(), (X,), named("nothing")),
    "mixed-tensors": (Mixed(), (X, Y), named("sin", "cos", "linear", "relu", "sigmoid")),
    "mixed-sizes": (Mixed(), (X, Y), named("size", "mul", "linear", "chunk", "getitem", "relu", "tanh", "sin")),
    "mixed-all": (Mixed(), (X, Y), named("")),
    "boundary": (Boundary(), (X,), named("relu", "size", "mul", "reshape")),
    "resnet": (torchvision.models.resnet18().eval(), (IMAGE,), named("conv", "relu", "bn")),
    "shufflenet": (torchvision.models.shufflenet_v2_x0_5().eval(), (IMAGE,), named("branch", "view", "transpose")),
}

SETTINGS: list[dict[str, Any]] = [
    {},
    {"min_acc_module_size": 2},
    {"min_acc_module_size": 4},
    {"skip_fusion": True},
    {"allow_non_tensor": True},
    {"allow_non_tensor": True, "move_non_tensor_nodes_on_boundary": True},
]


def splitter(index: int, case: str, settings: dict[str, Any], **options: Any) -> Any:
    trace, module, support = BOTH[index]
    model, inputs, supported = CASES[case]
    return module._SplitterBase(
        trace(model), inputs, support.create_op_support(supported), module._SplitterSettingBase(**settings), **options
    )


PAIRS = [(case, settings) for case in CASES for settings in SETTINGS[: 2 if "net" in case else None]]


@pytest.mark.parametrize(("case", "settings"), PAIRS, ids=str)
def test_split(case: str, settings: dict[str, Any]) -> None:
    model, inputs, _ = CASES[case]
    results: list[Any] = []
    for index in range(2):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                made = splitter(index, case, settings)
                results.append((codes_of(made()), made.get_node_submodule_map(), made.acc_nodes))
        except (ours.FxNetSplitterInternalError, theirs.FxNetSplitterInternalError) as error:
            results.append(str(error))
    if isinstance(results[0], str):
        assert results[0] == results[1]
        return
    assert results[0][0] == results[1][0]
    assert results[0][1] == results[1][1]
    assert {node.name for node in results[0][2]} == {node.name for node in results[1][2]}
    torch.testing.assert_close(splitter(0, case, settings)()(*inputs), model(*inputs), rtol=0, atol=0)


@pytest.mark.parametrize("case", ["diamond-half", "mixed-sizes", "resnet"])
def test_results_with_inputs(case: str) -> None:
    results: list[Any] = []
    for index in range(2):
        with contextlib.redirect_stdout(io.StringIO()):
            results.append(splitter(index, case, {}, return_tuple=True).generate_split_results())
    mine, reference = results
    assert codes_of(mine.split_module) == codes_of(reference.split_module)
    assert mine.non_acc_submodule_prefix == reference.non_acc_submodule_prefix
    torch.testing.assert_close(mine.submodule_inputs, reference.submodule_inputs)


def test_too_many_parts() -> None:
    with pytest.raises(ValueError, match="max_acc_splits"):
        splitter(0, "diamond-half", {"max_acc_splits": 1}).generate_split_results()


def test_tagged_nodes_are_refused() -> None:
    made = splitter(0, "diamond", {})
    made()
    with pytest.raises(ours.FxNetSplitterInternalError, match="already tagged"):
        made()


def test_extending_a_part() -> None:
    tags: list[dict[str, str]] = []
    for index in range(2):
        made = splitter(index, "mixed-sizes", {})
        subgraphs = made.put_nodes_into_subgraphs()
        made.tag(subgraphs)
        for tag in made.tags:
            if "acc" in tag:
                made.extend_acc_subgraph(tag)
        tags.append({node.name: node.tag for node in made.module.graph.nodes if hasattr(node, "tag")})
    assert tags[0] == tags[1]


def test_previews(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = splitter(0, "mixed-tensors", {})
    support = made.node_support_preview()
    assert "torch.sin: ((torch.float32,), {})" in support
    assert support.index("torch.sin:") < support.index("Unsupported") < support.index("torch.tanh")
    expected = splitter(1, "mixed-tensors", {}).node_support_preview()
    assert sorted(support.splitlines()) == sorted(expected.splitlines())
    preview = made.split_preview()
    assert "_run_on_acc_0: 1 node(s)" in preview
    assert "Total input size in bytes is 48, total output size in bytes is 48," in preview
    assert preview.count("Lowering and running succeeded!") == sum("acc" in tag for tag in made.tags)
    printed = capsys.readouterr().out
    assert support in printed
    assert preview in printed
    assert not any(hasattr(node, "tag") for node in made.module.graph.nodes)


def test_preview_of_a_part_that_fails() -> None:
    class Backend(ours._SplitterBase):
        def _lower_model_to_backend(self, mod: Any, inputs: Any) -> Any:
            raise RuntimeError("can't")

        def _find_culprit(self, mod: Any, inputs: Any) -> str:
            return f"culprit in {len(mod.graph.nodes)} nodes"

    support = our_support.create_op_support(named("sin"))
    made = Backend(symbolic_trace(Diamond()), [X], support, ours._SplitterSettingBase())
    preview = made.split_preview()
    assert "error occurred during lowering" in preview
    assert "culprit in 3 nodes" in preview


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_event_files(mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[dict[str, str]] = []
    for index in range(2):
        folder = tmp_path / str(index)
        folder.mkdir()
        monkeypatch.setenv("FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES", "mul,cos")
        _, module, _ = BOTH[index]
        trace = BOTH[index][0]
        tracker = module.NodeEventTracker(mode, str(folder / "events"))
        nodes = {node.name: node for node in trace(Mixed()).graph.nodes}
        tracker.add(nodes["linear"], "first")
        tracker.add(nodes["mul"], "second", nodes["linear"])
        tracker.add(nodes["cos"], "third", nodes["mul"])
        tracker.add(nodes["cos"], "fourth")
        tracker.dump()
        written.append({path.name: path.read_text() for path in folder.iterdir()})
        assert len(tracker.to_dict()["cos"]) == 2
    assert written[0] == written[1]
    assert len(written[0]) == (0, 1, 2, 2)[mode]


def test_settings_from_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["program", "--min_acc_module_size", "5", "--skip-fusion", "--other", "3"])
    for module in (ours, theirs):
        settings = module._SplitterSettingBase(min_acc_module_size=2, allow_non_tensor=True)
        assert (settings.min_acc_module_size, settings.skip_fusion, settings.allow_non_tensor) == (5, True, True)
