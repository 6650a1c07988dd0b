"""net_min_base against torch.fx: the same culprits, found with the same number of runs."""

import contextlib
import io
from typing import Any

import pytest
import torch
import torch.fx
import torch.fx.passes.net_min_base as theirs

import fxcore.passes.net_min_base as ours
from fxcore._symbolic_trace import symbolic_trace

BOTH: list[tuple[Any, Any]] = [(symbolic_trace, ours), (torch.fx.symbolic_trace, theirs)]


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        a = torch.sin(self.linear(x))
        b = torch.relu(a) + y
        c = torch.cos(b)
        d = torch.tanh(c * a)
        e = torch.sigmoid(d)
        return e + torch.exp(d)


def wrong_at(*names: str, fails: bool = False) -> Any:
    """Runs a submodule; the second way is off by one, or raises, at the named nodes."""

    def run(mod: Any, inputs: Any) -> Any:
        interpreter_class: Any = torch.fx.Interpreter
        if not isinstance(mod, torch.fx.GraphModule):
            from fxcore.interpreter import Interpreter as interpreter_class

        class Wrong(interpreter_class):  # type: ignore[misc]
            def run_node(self, n: Any) -> Any:
                value = super().run_node(n)
                if n.name not in names or n.op == "placeholder":
                    return value
                if fails:
                    raise RuntimeError("can't run this")
                return value + 1

        return Wrong(mod).run(*inputs)

    return run


def compare(a: Any, b: Any, names: list[str]) -> tuple[float, bool]:
    pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]
    difference = max((float((left - right).abs().max()) for left, right in pairs), default=0.0)
    return difference, difference < 1e-6


def minimizer(index: int, run: Any, settings: dict[str, Any], **options: Any) -> Any:
    trace, module = BOTH[index]

    class Minimizer(module._MinimizerBase):  # type: ignore[misc, name-defined]
        def run_a(self, mod: Any, inputs: Any, report_idx: int = -1) -> Any:
            return mod(*inputs)

        def run_b(self, mod: Any, inputs: Any, report_idx: int = -1) -> Any:
            return run(mod, inputs)

    torch.manual_seed(0)
    sample = (torch.rand(2, 4), torch.rand(2, 4))
    return Minimizer(trace(Model()), sample, compare, module._MinimizerSettingBase(**settings), **options)


def search(index: int, run: Any, settings: dict[str, Any], options: dict[str, Any], **arguments: Any) -> Any:
    made = minimizer(index, run, settings, **options)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        culprits = made.minimize(**arguments)
        made.print_reports()
    assert printed.getvalue()
    return {node.name for node in culprits}, made.results, made.iteration


METHODS: list[tuple[str, dict[str, Any]]] = [
    ("sequential", {}),
    ("binary", {}),
    ("accumulate", {}),
    ("block", {}),
    ("block", {"find_last_node": True}),
    ("block", {"find_last_node": False}),
    ("sequential", {"start": "relu", "end": "tanh"}),
    ("binary", {"start": "relu"}),
    ("block", {"end": "tanh"}),
    ("skip", {"skip_nodes": ["add", "add_1"]}),
    ("defined", {"start": "nowhere"}),
]


RUNS = [(wrong_at("cos"), False), (wrong_at("tanh", fails=True), False), (wrong_at("exp"), True), (wrong_at(), False)]


@pytest.mark.parametrize(("run", "accumulate_error"), RUNS)
@pytest.mark.parametrize(("method", "arguments"), METHODS)
def test_one_culprit(method: str, arguments: dict[str, Any], run: Any, accumulate_error: bool) -> None:
    settings = {"traverse_method": method, "accumulate_error": accumulate_error}
    if method == "skip":  # torch.fx gives the culprits of the last stretch only
        arguments = {"skip_nodes": ["linear", "sin", "relu", "add"]}
    mine, reference = (search(index, run, settings, {}, **arguments) for index in range(2))
    assert mine == reference


def test_several_culprits() -> None:
    run = wrong_at("sin", "cos", "exp")
    settings = {"traverse_method": "sequential", "find_all": True}
    mine, reference = (search(index, run, settings, {}) for index in range(2))
    assert mine == reference
    assert mine[0] == {"sin", "cos", "exp"}
    binary = search(0, run, {"traverse_method": "binary", "find_all": True}, {})
    assert binary[0] == {"sin", "cos", "exp"}
    skipping = search(0, run, {"traverse_method": "skip"}, {}, skip_nodes=["relu", "add"])
    assert skipping[0] >= {"sin", "cos", "exp"}
    assert search(0, run, {"traverse_method": "accumulate", "find_all": True}, {})[0] == set()


def test_all_at_once() -> None:
    found = search(0, wrong_at("cos"), {"traverse_method": "defined"}, {}, start="add", end="cos")
    assert found[0] == {"add", "cos"}


@pytest.mark.parametrize("method", ["sequential", "binary", "block", "defined", "skip"])
def test_excluded_nodes(method: str) -> None:
    def exclude(nodes: list[Any], start: int, end: int) -> None:
        nodes[:] = [node for node in nodes if node.name != "cos"] or nodes[:1] * (method == "block")

    run = wrong_at("cos")
    settings = {"traverse_method": method, "find_all": True}
    arguments: dict[str, Any] = {"skip_nodes": []} if method == "skip" else {}
    options = {"exclusion_fn": exclude}
    if method == "sequential":
        mine, reference = (search(index, run, settings, options, **arguments) for index in range(2))
        assert mine == reference
        assert mine[0] == set()
    else:
        with pytest.raises(AssertionError):  # without cos the stretch isn't one piece any more
            search(0, run, settings, options, **arguments)


@pytest.mark.parametrize("return_intermediate", [False, True])
@pytest.mark.parametrize("all_outputs", [False, True])
def test_running_a_stretch(return_intermediate: bool, all_outputs: bool) -> None:
    settings = {"return_intermediate": return_intermediate, "all_outputs": all_outputs}
    outcomes: list[Any] = []
    for index in range(2):
        exported: list[str] = []
        made = minimizer(
            index, wrong_at("cos"), settings, module_exporter=lambda i, m, name, kept=exported: kept.append(name)
        )
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            made.run_nodes("relu", "tanh")
            made.run_nodes("exp", None)
        outcomes.append((exported, made.results, "mismatch" in printed.getvalue()))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][2]


def test_bad_use() -> None:
    for index in range(2):
        with contextlib.redirect_stdout(io.StringIO()):
            with pytest.raises(RuntimeError, match="Unknown traverse method"):
                minimizer(index, None, {"traverse_method": "guess"}).minimize()
            with pytest.raises(RuntimeError, match="skip_nodes"):
                minimizer(index, None, {"traverse_method": "skip"}).minimize()
    with pytest.raises(ours.FxNetMinimizerBadModuleError):
        minimizer(0, None, {})._build_submodule(set())
    base = ours._MinimizerBase(symbolic_trace(torch.nn.ReLU()), (torch.rand(2),), compare, ours._MinimizerSettingBase())
    for run in (base.run_a, base.run_b):
        with pytest.raises(RuntimeError, match="not implemented"):
            run(base.module, (torch.rand(2),))
    assert str(ours._MinimizerSettingBase()) == str(theirs._MinimizerSettingBase())
