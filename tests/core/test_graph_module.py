"""Modules made of graphs: running, editing, copying, storing."""

from __future__ import annotations

import copy
import gc
import inspect
import io
import linecache
import math
import operator
import pickle
import sys
import traceback
import warnings
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.fx

import fxcore
from fxcore.graph_module import _del_attr, _get_attr, _has_attr
from fxcore.wrap import _wrapped_fns_to_patch

from .oracle import assert_same_failure, attempt

PACKAGES: list[Any] = [fxcore, torch.fx]
both = pytest.mark.parametrize("fx", PACKAGES, ids=["fxcore", "torch.fx"])


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.unused = torch.nn.Linear(3, 3)
        self.scale = torch.nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x: Any) -> Any:
        return self.linear(x) * self.scale


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.Sequential(Block(), Block())
        self.act = torch.nn.ReLU()
        self.spare = torch.nn.Linear(2, 2)
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x: Any) -> Any:
        return self.act(self.blocks(x)) + self.shift + torch.tensor([1.0, 2.0, 3.0])


def root_of(x: Any) -> Any:
    return math.sqrt(x)


fxcore.wrap("root_of")
INPUT = torch.arange(6.0).reshape(2, 3)


def traced(fx: Any = fxcore) -> Any:
    torch.manual_seed(0)
    return fx.symbolic_trace(Net())


def hand_made(fx: Any) -> Any:
    graph = fx.Graph()
    x = graph.placeholder("x")
    deep = graph.call_module("a.b.layer", (x,))
    attribute = graph.get_attr("a.weight")
    graph.output(graph.call_function(operator.add, (deep, attribute)))
    return graph


def test_text_and_state_are_torch_fxs() -> None:
    ours, theirs = map(traced, PACKAGES)
    assert ours.code == theirs.code
    assert str(ours) == str(theirs)
    assert ours.print_readable(print_output=False) == theirs.print_readable(print_output=False)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert torch.equal(ours(INPUT), theirs(INPUT))
    assert ours.training == theirs.training
    assert type(ours).__name__ == type(theirs).__name__


def test_nested_graph_modules_are_shown_and_recompiled() -> None:
    def shown(fx: Any) -> Any:
        inner = fx.symbolic_trace(Block())
        graph = fx.Graph()
        graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
        outer = fx.GraphModule({"inner": inner}, graph, class_name="Outer")
        relu = next(n for n in inner.graph.nodes if n.name == "mul")
        relu.target = operator.add
        outer.recompile()
        return outer.print_readable(print_output=False), outer.inner.code

    assert shown(fxcore) == shown(torch.fx)


@both
def test_made_of_a_dict(fx: Any) -> None:
    values: dict[str, Any] = {"a.b.layer": torch.nn.Linear(3, 3), "a.weight": torch.ones(3)}
    module = fx.GraphModule(values, hand_made(fx), class_name="Made")
    assert type(module).__name__ == "Made"
    assert list(module.state_dict()) == ["a.weight", "a.b.layer.weight", "a.b.layer.bias"]
    assert torch.equal(module(INPUT), values["a.b.layer"](INPUT) + 1)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 2), (2, 0, 1, 3)], ids=str)
def test_overlapping_paths_in_any_order(order: tuple[int, ...]) -> None:
    net = Net()

    def taken(fx: Any) -> Any:
        graph = fx.Graph()
        paths = ["blocks.0.scale", "blocks.0", "blocks.0.linear.weight", "blocks"]
        graph.output([graph.get_attr(paths[index]) for index in order])
        module = fx.GraphModule(net, graph)
        shared = [name for name, child in module.named_modules() if child is net.get_submodule(name)]
        return shared, list(module.state_dict())

    assert taken(fxcore) == taken(torch.fx)


def test_missing_attributes_fail_alike() -> None:
    def failure(fx: Any, root: Any) -> Any:
        return attempt(lambda: fx.GraphModule(root, hand_made(fx)))

    roots: list[Any] = [{}, torch.nn.Module(), 3]
    for root in roots:
        assert_same_failure(*(failure(fx, root) for fx in PACKAGES))


@both
def test_edits_count_from_recompile_on(fx: Any) -> None:
    module = traced(fx)
    before = module(INPUT)
    act = next(n for n in module.graph.nodes if n.target == "act")
    act.replace_all_uses_with(act.args[0])
    module.graph.erase_node(act)
    assert torch.equal(module(INPUT), before)
    code = module.recompile()
    assert code.src == module.code
    assert "act" not in module.code
    assert not torch.equal(module(INPUT), before)


@both
def test_graph_can_be_assigned(fx: Any) -> None:
    module = traced(fx)
    graph = fx.Graph()
    graph.output(graph.call_function(torch.neg, (graph.placeholder("x"),)))
    module.graph = graph
    assert torch.equal(module(INPUT), -INPUT)
    assert graph.owning_module is module
    with pytest.raises(AssertionError):
        module.graph = None


@both
def test_forward_is_a_function_with_source(fx: Any) -> None:
    module = traced(fx)
    assert list(inspect.signature(module.forward).parameters) == ["x"]
    assert inspect.getsource(module.forward).strip() == module.code.strip()
    assert module.forward.__func__ is type(module).forward


def test_compiled_when_first_called() -> None:
    module = traced()
    assert not inspect.isfunction(vars(type(module))["forward"])
    module(INPUT)
    assert inspect.isfunction(vars(type(module))["forward"])


@both
def test_submodules(fx: Any) -> None:
    module = traced(fx)
    assert module.add_submodule("new.deep.layer", torch.nn.ReLU())
    assert isinstance(module.new.deep.layer, torch.nn.ReLU)
    assert not module.add_submodule("blocks.0.scale.layer", torch.nn.ReLU())
    assert module.delete_submodule("new.deep.layer")
    assert not module.delete_submodule("new.deep.layer")
    assert not module.delete_submodule("nothing.deep")
    assert not module.delete_submodule("blocks.0.scale")


def test_unused_submodules_are_deleted_alike() -> None:
    def left(fx: Any) -> list[str]:
        module = traced(fx)
        module.add_submodule("extra.layer", torch.nn.Sequential(torch.nn.ReLU()))
        with module.graph.inserting_before(list(module.graph.nodes)[-1]):
            module.graph.call_module("extra.layer", (1,))
            module.graph.create_node("call_module", "missing.layer")
        module.delete_all_unused_submodules()
        return [name for name, _ in module.named_modules()]

    assert left(fxcore) == left(torch.fx)


@both
def test_copies(fx: Any) -> None:
    module = traced(fx)
    module.meta["note"] = [1]
    shallow, deep = copy.copy(module), copy.deepcopy(module)
    for new in (shallow, deep):
        assert torch.equal(new(INPUT), module(INPUT))
        assert new.code == module.code
        assert new.meta == {"note": [1]}
    assert shallow.act is module.act
    assert deep.act is not module.act
    assert deep.graph is not module.graph
    assert deep.meta["note"] is not module.meta["note"]
    assert torch.equal(copy.copy(deep)(INPUT), module(INPUT))


def test_constants_follow_their_module() -> None:
    """A module made of another's graph has what that other one holds now, not what it held when it was traced."""
    module = traced().double()
    again = fxcore.GraphModule(module, module.graph)
    assert {value.dtype for value in again.state_dict().values()} == {torch.float64}
    assert copy.deepcopy(module)._tensor_constant0.dtype == torch.float64


def store(module: Any) -> Any:
    buffer = io.BytesIO()
    torch.save(module, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=False)


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), store], ids=["pickle", "torch.save"])
def test_a_stored_graph_module_is_loaded_with_its_code_and_attributes(again: Any) -> None:
    module = traced().eval()
    module.note = "kept"
    new = again(module)
    assert new.code == module.code
    assert new.note == "kept"
    assert not new.training
    assert torch.equal(new(INPUT), module(INPUT))
    assert list(new.state_dict()) == list(module.state_dict())


def test_stored_with_wrapped_functions() -> None:
    module = fxcore.symbolic_trace(lambda x: root_of(x) + 1)
    new = pickle.loads(pickle.dumps(module))
    assert new.code == module.code
    assert new(4.0) == 3.0
    assert fxcore.symbolic_trace(new).code == module.code


def test_written_to_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = traced()
    with pytest.warns(UserWarning, match="saved as pickles"):
        module.to_folder(tmp_path / "written_net", "WrittenNet")
    (tmp_path / "written_net").rename(tmp_path / "moved_net")
    monkeypatch.syspath_prepend(str(tmp_path))
    from moved_net import WrittenNet  # type: ignore[import-not-found]

    assert torch.equal(WrittenNet()(INPUT), module(INPUT))
    fxcore.symbolic_trace(lambda x: root_of(x)).to_folder(tmp_path / "written_function")
    from written_function import FxModule  # type: ignore[import-not-found]

    assert FxModule()(4.0) == 2.0
    assert "root_of" in fxcore.symbolic_trace(FxModule()).code


def test_errors_name_both_lines() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x @ torch.ones(7, 7)

    module = fxcore.symbolic_trace(forward)
    with pytest.raises(RuntimeError) as caught:
        module(INPUT)
    shown = "".join(traceback.format_exception(caught.value))
    assert "matmul = x @ _tensor_constant0" in shown
    if sys.version_info >= (3, 11):
        note = "\n".join(caught.value.__notes__)
        assert "generated forward: matmul" in note
        assert f'File "{__file__}", line {forward.__code__.co_firstlineno + 1}: return x @ torch.ones(7, 7)' in note


def test_errors_of_nested_modules_name_each_level() -> None:
    graph = fxcore.Graph()
    graph.output(graph.call_module("inner", (graph.placeholder("x"),)))
    outer = fxcore.GraphModule({"inner": traced()}, graph)
    with pytest.raises(RuntimeError) as caught:
        outer(torch.ones(2, 7))
    if sys.version_info >= (3, 11):
        inner_note, outer_note = caught.value.__notes__
        assert "blocks_0_linear = " in inner_note
        assert "inner = self.inner(x)" in outer_note


def test_nothing_is_left_behind() -> None:
    def run() -> weakref.ref[Any]:
        module = fxcore.symbolic_trace(lambda x: root_of(x) + 1)
        module(4.0)
        return weakref.ref(module)

    gc.collect()
    wrapped, cached = dict(_wrapped_fns_to_patch), set(linecache.cache)
    modules = [run() for _ in range(3)]
    gc.collect()
    assert [module() for module in modules] == [None] * 3
    assert set(linecache.cache) == cached
    assert _wrapped_fns_to_patch == wrapped


def test_own_subclasses_keep_their_class() -> None:
    class Counting(fxcore.GraphModule):
        calls = 0

        def __call__(self, *args: Any) -> Any:
            type(self).calls += 1
            return super().__call__(*args)

    module = Counting(Net(), fxcore.Tracer().trace(Net()))
    assert type(module).__mro__[1] is Counting
    module(INPUT)
    assert type(module).calls == 1
    again = copy.deepcopy(module)
    assert type(again).__mro__[1] is Counting


def test_hooks_hear_of_edits() -> None:
    def heard(fx: Any) -> list[Any]:
        module = traced(fx)
        events: list[Any] = []
        module._register_create_node_hook(lambda node: events.append(("create", node.name)))
        module._register_erase_node_hook(lambda node: events.append(("erase", node.name)))
        module._register_deepcopy_hook(lambda new: events.append(("deepcopy", type(new).__name__)))
        act = next(n for n in module.graph.nodes if n.target == "act")
        with module._set_replace_hook(lambda old, new, user: events.append((old.name, new, user.name))):
            with module.graph.inserting_before(act):
                new = module.graph.call_function(torch.sigmoid, (act.args[0],))
            act.replace_all_uses_with(new)
            module.graph.erase_node(act)
            new.replace_input_with(new.args[0], next(iter(module.graph.nodes)))
        copy.deepcopy(module)
        return events

    assert heard(fxcore) == heard(torch.fx)


def test_dead_code_in_graph_modules_that_are_read() -> None:
    def cleaned(fx: Any) -> Any:
        inner = fx.symbolic_trace(Block())
        with inner.graph.inserting_before(list(inner.graph.nodes)[-1]):
            inner.graph.call_function(torch.neg, (1,))
        inner.recompile()
        graph = fx.Graph()
        graph.output((graph.get_attr("inner"), graph.placeholder("x")))
        outer = fx.GraphModule({"inner": inner}, graph)
        return outer.graph.eliminate_dead_code(), outer.inner.code

    assert cleaned(fxcore) == cleaned(torch.fx)


def test_attribute_paths() -> None:
    net = Net()
    assert _get_attr(net, "blocks.0.scale") is net.blocks[0].scale
    assert _has_attr(net, "blocks.1.linear.weight")
    assert not _has_attr(net, "blocks.7.linear")
    _del_attr(net, "blocks.0.linear")
    assert not _has_attr(net, "blocks.0.linear")
    with pytest.raises(AssertionError):
        _get_attr(net, "blocks.7.linear")
    with pytest.raises(AttributeError):
        _get_attr(net, "blocks.0.linear")


def test_torch_script_accepts_it() -> None:
    module = fxcore.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.equal(torch.jit.script(module)(INPUT), module(INPUT))
