"""fxcore and torch.fx agree on random programs, and on graphs under random edits.

``FX_RANDOM_CASES`` sets how many cases each test draws; by default the whole file draws 1,000, other ones in every run.
"""

from __future__ import annotations

import copy
import functools
import importlib
import operator
import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.fx
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from torch import nn

import fxcore
from fxcore import interop

from .oracle import assert_same_failure, assert_same_graph, assert_same_values, attempt
from .programs import build, inputs, sources
from .versions import TORCH

CASES = int(os.environ.get("FX_RANDOM_CASES", "250"))
many = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
some = settings(many, max_examples=CASES // 4)
few = settings(many, max_examples=CASES // 40)


@many
@given(sources())
def test_same_verdict_code_and_output(source: str) -> None:
    note(source)
    ours = attempt(lambda: fxcore.symbolic_trace(build(source)))
    theirs = attempt(lambda: torch.fx.symbolic_trace(build(source)))
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert_same_failure(ours, theirs)
        return
    assert_same_graph(ours, theirs)
    assert_same_values(attempt(lambda: ours(*inputs())), attempt(lambda: theirs(*inputs())))


class Editor:
    """Applies the same edits to a graph of either tracer, from a list of drawn numbers."""

    def __init__(self, package: Any, module: nn.Module) -> None:
        self.package = package
        self.traced = package.symbolic_trace(module)

    @property
    def graph(self) -> Any:
        return self.traced.graph

    def tensors(self) -> list[Any]:
        """The nodes whose values are sure to be tensors: calls, but not of methods that tell sizes."""
        return [n for n in self.graph.nodes if n.op in ("call_module", "placeholder")]

    def insert(self, number: int) -> None:
        nodes = self.tensors()
        node = nodes[number % len(nodes)]
        with self.graph.inserting_after(node):
            new = self.graph.call_function(torch.relu, (node,))
        node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)

    def insert_before(self, number: int) -> None:
        nodes = self.tensors()
        last = list(self.graph.nodes)[-1]
        with self.graph.inserting_before(last):
            new = self.graph.call_method("neg", (nodes[number % len(nodes)],))
            self.graph.create_node("call_function", operator.add, (new, 1), name="dead")

    def erase(self, number: int) -> None:
        unused = [n for n in self.graph.nodes if not n.users and n.op not in ("output", "placeholder")]
        if unused:
            self.graph.erase_node(unused[number % len(unused)])

    def swap(self, number: int) -> None:
        nodes = self.tensors()
        node = nodes[number % len(nodes)]
        user = next(iter(node.users), None)
        if user is not None:
            user.replace_input_with(node, nodes[0])

    def move(self, number: int) -> None:
        nodes = [n for n in self.graph.nodes if n.op == "get_attr"]
        if nodes:
            first = next(n for n in self.graph.nodes if n.op != "placeholder")
            first.prepend(nodes[number % len(nodes)])

    def eliminate(self, number: int) -> None:
        self.graph.eliminate_dead_code()

    def duplicate(self, number: int) -> None:
        self.traced = copy.deepcopy(self.traced)

    def copy_graph(self, number: int) -> None:
        new = self.package.Graph()
        new.output(new.graph_copy(self.graph, {}))
        self.traced = self.package.GraphModule(self.traced, new)

    def rewrite(self, number: int) -> None:
        if TORCH < (2, 8):  # torch.fx refuses to replace what nobody uses
            self.graph.eliminate_dead_code()
        self.traced.recompile()
        self.package.replace_pattern(self.traced, lambda x: torch.relu(x), lambda x: torch.sigmoid(x))

    def rename(self, number: int) -> None:
        nodes = list(self.graph.nodes)
        nodes[number % len(nodes)]._rename("renamed")

    def split(self, number: int) -> None:
        split_module = sys.modules[f"{self.package.__name__}.passes.split_module"].split_module
        index = {node: i for i, node in enumerate(self.graph.nodes)}
        self.traced.recompile()
        half = number % len(index)
        self.traced = split_module(self.traced, None, lambda node: int(index[node] > half))


EDITS = [
    "insert",
    "insert_before",
    "erase",
    "swap",
    "move",
    "eliminate",
    "duplicate",
    "copy_graph",
    "rewrite",
    "rename",
]


@many
@given(sources(failing=False), st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 50)), min_size=1, max_size=6))
def test_same_graph_under_edits(source: str, edits: list[tuple[str, int]]) -> None:
    note(source)
    theirs = attempt(lambda: Editor(torch.fx, build(source)))
    assume(not isinstance(theirs, Exception))
    ours = Editor(fxcore, build(source))
    for name, number in edits:
        for editor in (ours, theirs):
            getattr(editor, name)(number)
        ours.traced.recompile()
        theirs.traced.recompile()
        assert_same_graph(ours.traced, theirs.traced)
    assert_same_failure(attempt(ours.graph.lint), attempt(theirs.graph.lint))
    assert_same_values(attempt(lambda: ours.traced(*inputs())), attempt(lambda: theirs.traced(*inputs())))


@some
@given(sources(failing=False), st.integers(0, 30))
def test_same_split(source: str, number: int) -> None:
    import torch.fx.passes.split_module

    import fxcore.passes.split_module

    note(source)
    theirs = attempt(lambda: Editor(torch.fx, build(source)))
    assume(not isinstance(theirs, Exception))
    ours = Editor(fxcore, build(source))
    failures = [attempt(functools.partial(editor.split, number)) for editor in (ours, theirs)]
    if any(failures):
        assert_same_failure(*failures)
        return
    assert_same_graph(ours.traced, theirs.traced)
    for name, child in theirs.traced.named_children():
        if isinstance(child, torch.fx.GraphModule):
            assert_same_graph(getattr(ours.traced, name), child)
    assert_same_values(attempt(lambda: ours.traced(*inputs())), attempt(lambda: theirs.traced(*inputs())))


@some
@given(sources(failing=False))
def test_round_trips_change_nothing(source: str) -> None:
    note(source)
    traced = attempt(lambda: fxcore.symbolic_trace(build(source)))
    assume(not isinstance(traced, Exception))
    there = interop.to_torch(traced)
    assert_same_graph(traced, there)
    for same in (interop.from_torch(there), copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        assert_same_graph(same, traced)
        assert_same_values(attempt(functools.partial(same, *inputs())), attempt(lambda: traced(*inputs())))


@few
@given(sources(failing=False))
def test_to_folder_keeps_outputs(source: str) -> None:
    note(source)
    traced = attempt(lambda: fxcore.symbolic_trace(build(source)))
    assume(not isinstance(traced, Exception))
    with tempfile.TemporaryDirectory() as folder:
        name = f"written_{Path(folder).name}"
        attempt(lambda: traced.to_folder(Path(folder) / name, "Written"))
        sys.path.insert(0, folder)
        try:
            written = importlib.import_module(name).Written()
        finally:
            sys.path.remove(folder)
            for module in [key for key in sys.modules if key.split(".")[0] == name]:
                del sys.modules[module]
    assert_same_values(attempt(lambda: written(*inputs())), attempt(lambda: traced(*inputs())))
